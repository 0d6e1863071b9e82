"""Oracle in plain Python, without the package: draws in lockstep, and an order's fingerprint."""

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def word(seed, seed2, number):
    """Return word `number` from Philox4x32-10: the key is `seed`, the counter begins at `seed2 << 64`."""
    counter, mask = (seed2 << 64) + number // 4, 0xFFFFFFFF
    c = [counter >> shift & mask for shift in (0, 32, 64, 96)]
    k0, k1 = seed & mask, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k0, b & mask, a >> 32 ^ c[3] ^ k1, a & mask]
        k0, k1 = k0 + 0x9E3779B9 & mask, k1 + 0xBB67AE85 & mask
    return c[number % 4]


def play(seed, seed2, m, arrivals, draws=None):
    """Return the first draws' results (all if None), and the pool after them, slot by slot."""
    arrivals, drawn = list(arrivals), []
    pool, ring = arrivals[: m + 1], arrivals[m + 1 :]
    while pool and len(drawn) != draws:
        i = word(seed, seed2, len(drawn)) % len(pool)
        pool[i], pool[-1] = pool[-1], pool[i]
        drawn.append(pool.pop())
        pool += ring[:1]
        del ring[:1]
    return drawn, pool


def mixed(value):
    """Apply splitmix64's finalizer, with its increment."""
    value = value + STEP & MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def folded(ids, value=0):
    """Return fingerprint `value` extended by these ids.

    An element made from several pulls has their folded ids as its id.
    """
    for each in ids:
        value = value * STEP + mixed(each) & MASK
    return value
