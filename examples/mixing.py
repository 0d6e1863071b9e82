"""Mix three sets of texts by weight, and change the weights half way.

    python examples/mixing.py

Small sets repeat as often as they are drawn. The seed and a draw's index determine its set, so a resumed run continues
with the same draws.
"""

import pipeline

SIZES = {"web": 5000, "books": 400, "code": 90}


def texts(name):
    """Return a set of texts; in your program, `pipeline.jsonl(...)` or `pipeline.parquet(...)`."""
    return pipeline.dataset([(name, number) for number in range(SIZES[name])]).shuffle(seed=1).repeat()


def mixed(weights, seed):
    return pipeline.mix([texts(name) for name in SIZES], weights, seed=seed)


def main():
    first = mixed([0.7, 0.2, 0.1], seed=1).take(3000)
    then = mixed([0.3, 0.3, 0.4], seed=2).take(3000)
    for title, part in {"first": first, "then": then}.items():
        drawn = [name for name, _ in part]
        print(f"{title}:", ", ".join(f"{drawn.count(name) / len(drawn):.1%} {name}" for name in SIZES))

    everything = first.concatenate(then).batch(100)
    with iter(everything) as batches:
        for _ in range(37):
            next(batches)
        state = batches.state_dict()
        expected = list(batches)
    with iter(everything) as batches:
        batches.load_state_dict(state)
        rest = list(batches)
    same = all((a[1] == b[1]).all() for a, b in zip(rest, expected, strict=True))
    print(f"resumed at batch 37: {len(rest)} batches more, the same: {same}")


if __name__ == "__main__":
    main()
