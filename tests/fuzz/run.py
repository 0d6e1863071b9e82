"""`make fuzz`: runs every target in targets.py for some seconds, each in its own process.

If atheris is installed, it makes the inputs, guided by line coverage. Otherwise they come from `mutated`, with seeds
counted up from the first. Inputs that fail, kill the process, or take more than 20 seconds or 2 GiB are kept in
build/fuzz, and `--input` runs one again.
"""

import argparse
import faulthandler
import importlib.util
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

HANG = 20  # seconds
MEMORY = 2 << 30
PLACE = Path("build/fuzz")


def main():
    options = arguments()
    if options.input:
        from fuzz.targets import TARGETS

        TARGETS[options.target](options.input.read_bytes())
        return 0
    if options.child:
        return child(options)
    from fuzz.targets import TARGETS

    PLACE.mkdir(parents=True, exist_ok=True)
    kind = "atheris" if importlib.util.find_spec("atheris") and not options.blind else "mutations"
    failed = []
    for name in [options.target] if options.target else TARGETS:
        command = [sys.executable, __file__, "--child", kind, "--target", name, "--seconds", str(options.seconds)]
        log = PLACE / f"{name}.log"
        with log.open("w") as file:
            done = subprocess.run([*command, "--seed", str(options.seed)], stdout=file, stderr=file, check=False)
        text = log.read_text(errors="replace").strip()
        lines = [line for line in text.splitlines() if line.startswith(("Done ", "done "))]
        print(f"{name:24} {kind}, seed {options.seed}: {lines[-1] if lines else 'failed: see ' + str(log)}", flush=True)
        if done.returncode:
            failed.append(name)
            print("\n".join(text.splitlines()[-30:]))
    print(f"failed: {', '.join(failed)}" if failed else "nothing failed")
    return bool(failed)


def child(options):
    if options.child == "mutations":
        return blind(options.target, options.seconds, options.seed)
    import atheris

    with atheris.instrument_imports(include=["pipeline"]):
        from fuzz.targets import SEEDS, TARGETS
    corpus = PLACE / "corpus" / options.target
    corpus.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(SEEDS[options.target]):
        (corpus / f"seed{i}").write_bytes(seed)
    flags = [f"-max_total_time={options.seconds}", f"-timeout={HANG}", f"-rss_limit_mb={MEMORY >> 20}"]
    flags += ["-max_len=65536", f"-artifact_prefix={PLACE / options.target}-", f"-seed={options.seed or 1}"]
    function = TARGETS[options.target]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], lambda data: function(bytes(data)))
    atheris.Fuzz()
    return 0


def blind(name, seconds, seed):
    from fuzz.mutating import mutated
    from fuzz.targets import SEEDS, TARGETS

    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    path = PLACE / f"{name}-last"
    end, count = time.monotonic() + seconds, 0
    with path.open("wb", buffering=0) as last:
        while time.monotonic() < end:
            data = mutated(SEEDS[name], seed + count)
            os.ftruncate(last.fileno(), len(data))
            os.pwrite(last.fileno(), data, 0)
            faulthandler.dump_traceback_later(HANG, exit=True)
            TARGETS[name](data)
            count += 1
    faulthandler.cancel_dump_traceback_later()
    path.unlink()
    print(f"done {count} inputs in {seconds} seconds")
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30, help="for each target")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--target")
    parser.add_argument("--blind", action="store_true", help="without atheris, even if it is installed")
    parser.add_argument("--input", type=Path, help="run --target on this file only")
    parser.add_argument("--child", choices=["atheris", "mutations"], help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
