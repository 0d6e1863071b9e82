"""Calls functions, methods and attributes in the compiled modules with values no user would pass.

Each call may return anything and raise anything; it may not end the process, and it may not hang. The program writes
each call before making it, so the last line shows the failing one:

    PYTHONPATH=. python tests/fuzz/odd_calls.py FIRST_SEED LAST_SEED CALLS

It makes CALLS calls per seed, from FIRST_SEED up to LAST_SEED - 1.
"""

import faulthandler
import gc
import importlib
import inspect
import random
import resource
import signal
import sys
import threading
import warnings

import numpy as np

MODULES = [
    "_batch",
    "_chain",
    "_colour",
    "_csv",
    "_block",
    "_calls",
    "_lines",
    "_meter",
    "_queue",
    "_random",
    "_rows",
    "_resize",
    "_steps",
]
SPECIAL = {"__enter__", "__exit__", "__len__", "__getitem__", "__next__", "__call__", "__init__", "__class_getitem__"}
WAIT = 0.02  # seconds that a call may wait for another thread, before a signal ends it
HANG = 20  # seconds after which a call counts as hanging
MEMORY = 3 << 30
ALIVE = 30  # objects kept for later calls
MOST = 6  # arguments


class Impatient(BaseException):
    """Ends a waiting call."""


class Odd:
    """An object with false claims about itself."""

    def __init__(self, rng):
        self.answer = lambda *_: rng.choice([None, -1, 0, 1, 3, 1 << 62, "x", 1.5, [], ()])

    def __len__(self):
        return self.answer()

    def __index__(self):
        return self.answer()

    def __call__(self, *_):
        return self.answer()

    def __iter__(self):
        return iter([self.answer(), self.answer()])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.answer


def plain(rng):
    """Return values with common types, at their limits and beyond."""
    whole = [None, True, 0, 1, 2, -1, 7, 100, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63), (1 << 64) - 1, 1 << 99]
    others = [0.0, -1.5, float("nan"), 1j, "", "enqueue", b"", b"a,1\n", b'"a\r\n', b'"', b",", object(), int, Odd, ...]
    lists = [(), (None,), (1,), (1, 2), ((), []), (-1, None), [], [None], [1, 2], [b"a", b"1,2"], {}, {"x": 1}, set()]
    calls = [Odd(rng), len, lambda *_: None, lambda *_: (), lambda *_: 1, lambda *_: [], lambda *_: np.arange(3)]
    kept = [range(3), iter([1, 2]), iter([(1,), None]), slice(None), slice(1, 9, -1), threading.Lock()]
    types = [np.dtype(np.int64), np.dtype(np.float32), np.dtype(object), np.dtype("S0"), np.dtype("S3"), None]
    shapes = [(), (4,), (-1,), (None, 2), None, (1 << 40, 1 << 40), (0,)]
    described = [[(rng.choice(types), rng.randrange(-1, 5), rng.choice(shapes))] * rng.randrange(4) for _ in range(8)]
    return [*whole, *others, *lists, *calls, *kept, *described]


def arrays():
    """Return arrays with odd shapes, dtypes, orders and flags, and lists of them."""
    whole, fixed = np.arange(12), np.arange(3)
    fixed.flags.writeable = False
    apart = np.frombuffer(bytearray(33), np.int8)[1:].view(np.int64)
    views = [whole[::2], whole[::-1], whole.reshape(3, 4), whole.reshape(3, 4).T, whole[:0], np.broadcast_to(7, 99)]
    kinds = [whole.astype(kind) for kind in (">i8", "u8", "i4", "f8", "f4", "S0", "U2", "O", "M8[s]")]
    records = np.zeros(3, [("a", np.int8), ("b", object)])
    shapes = [np.zeros(shape) for shape in [(), (0, 4), (3, 0), (2, 3, 1, 1, 2), (1,) * 64, (4000,), (2, 4000)]]
    places = [np.array([2, 0, 1]), np.array([0, 0, 9]), np.array([-1, 1 << 62]), np.ma.array([1, 2]), np.matrix([[1]])]
    one_by_one = [whole, fixed, apart, *views, *kinds, records, *shapes, *places]
    lists = [[whole, whole], [whole, fixed], [whole, np.zeros(4)], (whole, 5), [np.zeros((2, 4000))] * 2, (fixed,)]
    return one_by_one + lists


class Caller:
    """Makes the calls for a seed.

    Args:
        seed: The seed.
        tell: Called with each call's text, before the call.
    """

    def __init__(self, seed, tell):
        self.rng, self.tell = random.Random(seed), tell
        self.alive, self.functions, self.classes = [], [], []
        for name in MODULES:
            for each in vars(importlib.import_module(f"pipeline.{name}")).values():
                if getattr(each, "__module__", None) == f"pipeline.{name}" and callable(each):
                    (self.classes if inspect.isclass(each) else self.functions).append(each)

    def step(self):
        kind = self.rng.random()
        if kind < 0.15 or not self.alive:
            self.make()
        elif kind < 0.3:
            function = self.rng.choice(self.functions)
            self.attempt(function.__name__, function, self.args(function.__name__))
        else:
            self.use(self.rng.choice(self.alive))
        if len(self.alive) > ALIVE:
            del self.alive[self.rng.randrange(ALIVE)]
            gc.collect(0)

    def make(self):
        kind = self.rng.choice(self.classes)
        if self.rng.random() < 0.3:
            made = self.attempt(f"{kind.__name__}.__new__", lambda: kind.__new__(kind), [])
        else:
            made = self.attempt(kind.__name__, kind, self.usual_args(kind.__name__))
        if made is not None:
            self.alive.append(made)

    def use(self, one):
        """Call a method, or get or set an attribute."""
        names = [name for name in dir(type(one)) if not name.startswith("__") or name in SPECIAL]
        name = self.rng.choice(names)
        where = f"{type(one).__name__}.{name}"
        static = inspect.getattr_static(type(one), name)
        if callable(static) or isinstance(static, classmethod):
            self.attempt(where, lambda *args: getattr(one, name)(*args), self.args(name))
        elif self.rng.random() < 0.5:
            self.attempt(f"{where} =", lambda value: setattr(one, name, value), [self.value()])
        else:
            self.attempt(where, lambda: getattr(one, name), [])

    def attempt(self, what, function, args):
        self.tell(f"{what}({', '.join(map(shown, args))})")
        try:
            signal.setitimer(signal.ITIMER_REAL, WAIT, WAIT)
            return call(function, args)
        except (Exception, Impatient):
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def args(self, name):
        if name == "lock_delay":
            return [0.001]
        return [self.value() for _ in range(self.rng.randrange(MOST + 1))]

    def usual_args(self, name):
        """Arguments such as a class takes, mostly."""
        rng = self.rng
        usual = {
            "NumberPool": lambda: [1, 2, rng.choice([0, 1, 10]), rng.choice([0, 5])],
            "Kept": lambda: [rng.choice([0, 1, 5]), rng.choice([None, len]), np.empty],
            "Draw": lambda: [1, 2, rng.choice([0, 3])],
            "Gather": lambda: [(np.arange(9.0),), tuple, np.arange(rng.choice([0, 9])), np.arange(9)],
            "Cut": lambda: [b"a,1\nb,2\n"],
            "Table": lambda: [[np.zeros(3), np.zeros(3, object)], [np.float64(0), b"x"], b",", True, b"", True],
            "MappedMemory": lambda: [-1, rng.choice([1, 4096])],
        }.get(name)
        args = usual() if usual and rng.random() < 0.8 else self.args(name)
        if args and rng.random() < 0.2:
            args[rng.randrange(len(args))] = self.value()
        return args

    def any_of(self, name):
        return next((each for each in self.alive if type(each).__name__ == name), None)

    def value(self, deep=2):
        rng, kind = self.rng, self.rng.random()
        if kind < 0.25 and self.alive:
            return rng.choice(self.alive)
        if kind < 0.5:
            return rng.choice(arrays())
        if kind < 0.6 and deep:
            return rng.choice([tuple, list])(self.value(deep - 1) for _ in range(rng.randrange(4)))
        return self.meanwhile if kind < 0.63 else rng.choice(self.classes if kind < 0.66 else plain(rng))

    def meanwhile(self, *_, **__):
        """A callback that itself makes a call."""
        if self.alive and self.rng.random() < 0.5:
            self.use(self.rng.choice(self.alive))
        return self.value(1)


def call(function, args):
    """Interrupted by signals; has no other effect."""
    return function(*args)


def shown(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}, strides {value.strides}"
    common = isinstance(value, (int, float, str, bytes)) or value is None
    return f"{value!r:.60}" if common else type(value).__name__


def impatient(number, frame):
    while frame is not None and frame.f_code not in (call.__code__, Caller.attempt.__code__):
        frame = frame.f_back
    if frame is not None and frame.f_code is call.__code__:
        raise Impatient


def main(first, last, calls):
    warnings.simplefilter("ignore")
    faulthandler.enable()
    signal.signal(signal.SIGALRM, impatient)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for seed in range(first, last):
        caller = Caller(seed, lambda text: print(text, flush=True))
        print(f"seed {seed}")
        for _ in range(calls):
            faulthandler.dump_traceback_later(HANG, exit=True)
            caller.step()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
