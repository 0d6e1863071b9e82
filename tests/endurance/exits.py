"""Ends programs many times over: `make exits`.

Programs end while daemon threads are blocked in every blocking call. Each must end with status 0, print nothing, and
take less than a second from its main thread's end. A tenth as many runs of `feed` get a SIGINT at a random moment; each
must end with its report and status 130. And Ctrl-C interrupts loops over batches at every moment at which Python checks
for it.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from endurance.interrupts import LOOPS, strike

CALLS = pathlib.Path(__file__).with_name("blocked_calls.py")
DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"
FEED = """
import faulthandler, signal, sys
from pipeline.command import cli

faulthandler.register(signal.SIGUSR1, chain=True)  # then the signal ends the process

parser = cli._parser
cli._parser = lambda *args: (print("begins", flush=True), parser(*args))[1]
sys.exit(cli.main())
"""
LIMIT = 60.0


def end_blocked(where):
    """End a program with threads blocked in all calls; return its status, output, and seconds."""
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, str(CALLS), "exit", where, str(writing)],
            pass_fds=[writing],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        over = time.monotonic()
    finally:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            last = pipe.read()
    return done.returncode, done.stdout + done.stderr, over - float(last) if last else None


def interrupt_feed(seed):
    """Send SIGINT to an endless `feed` at a random moment; return status, stdout and stderr.

    If it continues, it prints its threads' stacks, and ends.
    """
    command = [sys.executable, "-c", FEED, "feed", str(DIGITS), "--epochs", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            time.sleep(random.Random(seed).uniform(0, 0.1))  # the moment is random, so nothing is awaited
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR1)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=LIMIT)
            process.kill()
            out, errors = process.communicate()
            errors += f"went on for {LIMIT:g} s after SIGINT"
        finally:
            process.kill()
    return process.returncode, out, errors


def main():
    count = int(sys.argv[1])
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    failed, slowest = 0, {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for where in ("native", "drop-in"):
            for status, said, seconds in pool.map(end_blocked, [where] * (count // 2)):
                slowest[where] = max(slowest.get(where, 0.0), seconds or 0.0)
                if (status, said) != (0, "") or seconds is None or seconds >= 1:
                    failed += 1
                    print(f"{where}: status {status}, {seconds} s\n{said}")
        first = random.randrange(2**32)
        for seed, (status, out, errors) in enumerate(
            pool.map(interrupt_feed, range(first, first + count // 10)), first
        ):
            if status != 130 or ("interrupted" not in out and out) or errors:
                failed += 1
                print(f"feed, seed {seed}: status {status}\n{out}{errors}")
    times = ", ".join(f"{where} {seconds:.3f} s" for where, seconds in slowest.items())
    print(f"{count} exits, slowest: {times}; {count // 10} interrupted runs of feed; {failed} failed")
    for make in LOOPS if sys.version_info >= (3, 11) else []:
        strikes = [strike(make, closed) for closed in (True, False)]  # fails if a thread stays behind
        print(f"{make.__name__}: interrupted at {strikes[0]} moments within `with`, at {strikes[1]} without")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
