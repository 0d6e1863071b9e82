"""The command line: `python -m pipeline feed FILE...` and `python -m pipeline check PROGRAM.py...`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pipeline.command.check import check
from pipeline.command.check import report as check_report
from pipeline.command.feed import Feed, Settings
from pipeline.command.formats import HELP, record_bytes
from pipeline.errors import OpError
from pipeline.monitor.verdict import QueueUse, Report

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
BROKEN_PIPE = 141  # 128 + SIGPIPE

# Seconds between two looks at the terminal.
_REFRESH = 0.1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status: 0, 1 for bad input, 2 for bad arguments, 130 for Ctrl-C.

    `check` gives 0 if the drop-in has all names of the programs, 1 if it lacks some, 2 for what is no program.
    """
    try:
        parser = _parser()
        arguments = parser.parse_args(argv)
        if arguments.command == "check":
            return _check(arguments.programs)
        report = run(_settings(parser, arguments))
        print(json.dumps(report.to_dict()) if arguments.json else report.to_text(), flush=True)
        return INTERRUPTED if report.interrupted else 0
    except BrokenPipeError:
        # Whoever read our output is gone; at exit Python would try to write to it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except ImportError as error:
        print(f"pipeline feed: {error}", file=sys.stderr)
        return 1
    except OpError as error:
        print(f"pipeline feed: {error.message.splitlines()[0].replace('; ', ': ', 1)}", file=sys.stderr)
        return 1


def run(settings: Settings) -> Report:
    """Feed the files through the pipeline until they end, or Ctrl-C does it.

    Raises:
        OpError: A file cannot be read or has a malformed line; the message names it.
    """
    feed = Feed(settings)
    batches = feed.batches()
    taken = examples = files_held = pool_held = 0
    first = 0.0
    interrupted = False
    start = now = time.perf_counter()
    with _progress(settings) as show:
        try:
            for components in batches:
                now = time.perf_counter()
                first = first or now - start
                taken += 1
                examples += len(components[0] if isinstance(components, list) else components)
                files_held += feed.files.size()
                pool_held += batches.queue.size() if batches.queue is not None else 0
                show(feed.bytes_read, examples)
        except KeyboardInterrupt:
            interrupted = True
            # A thread may hang in a read that nobody will end: it is a daemon, and what counts now is the report.
            batches.coord.request_stop()
    seconds = (time.perf_counter() if interrupted else now) - start
    pool = batches.queue if batches.queue is not None else feed.files
    uses = (
        QueueUse("files", feed.files.stats(), files_held / max(1, taken), 1, settings.threads),
        QueueUse("examples", pool.stats(), pool_held / max(1, taken), settings.threads, 1),
    )
    columns = Counter("bytes" if dtype.hasobject else dtype.name for dtype in feed.types)
    return Report(
        examples, taken, feed.bytes_read, seconds, first, *uses, dict(columns), interrupted, settings._asdict()
    )


def _check(programs: Sequence[str]) -> int:
    """Report which names of TensorFlow's the programs use; return the exit status."""
    status = 0
    for program in programs:
        try:
            with open(program, "rb") as file:
                checked = check(file.read(), program)
        except SyntaxError as error:
            where = f"{program}:{error.lineno}" if error.lineno else program
            print(f"pipeline check: {where}: {error.msg}", file=sys.stderr)
            status = 2
        except (OSError, ValueError) as error:
            text = error.strerror if isinstance(error, OSError) else error
            print(f"pipeline check: {program}: {text}", file=sys.stderr)
            status = 2
        else:
            print(check_report(program, checked), flush=True)
            status = max(status, 1 if checked.missing else 0)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline", description="Input pipelines of queues and threads.")
    commands = parser.add_subparsers(dest="command", required=True)
    feed = commands.add_parser(
        "feed",
        help="read text or CSV files into batches and report the rates",
        description="Read files through file queue, reader threads, shuffle queue and batches; "
        "report examples/s, bytes/s, how full each queue was, which side waited, and what to turn.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = feed.add_argument
    add("files", nargs="+", metavar="FILE", help="file; of CSV, the first line decides the types of the columns")
    add("--format", default="csv", metavar="FORMAT", help=HELP)
    add("--batch-size", type=int, default=128, metavar="N", help="examples in a batch")
    add("--shuffle", action=argparse.BooleanOptionalAction, default=True, help="shuffle files and examples")
    add(
        "--capacity",
        type=int,
        metavar="N",
        help="examples that the queue holds; as many as 32 batches, and the minimum",
    )
    add("--min-after-dequeue", type=int, default=1024, metavar="N", help="examples that stay in the pool to draw from")
    add("--epochs", type=int, default=1, metavar="N", help="how often each file is read; 0 is without end")
    add("--threads", type=int, default=2, metavar="N", help="threads that read and decode")
    add("--seed", type=int, metavar="N", help="seed of the shuffles")
    add("--skip-header-lines", type=int, default=0, metavar="N", help="lines to leave out at the start of each file")
    add("--json", action="store_true", help="print the report as one JSON object")
    checking = commands.add_parser(
        "check",
        help="list the tf names of a program that the drop-in has and lacks",
        description="Find the names of TensorFlow's in programs, without running them; say which of them "
        "`pipeline.compat.v1` lacks, where they are, and which lines to change.",
    )
    checking.add_argument("programs", nargs="+", metavar="PROGRAM", help="file with a Python program")
    return parser


def _settings(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Settings:
    """The arguments, checked; leaves the program with status 2 if they make no sense."""
    for name, least in (
        ("batch_size", 1),
        ("threads", 1),
        ("epochs", 0),
        ("min_after_dequeue", 0),
        ("skip_header_lines", 0),
    ):
        if getattr(arguments, name) < least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}, got {getattr(arguments, name)}")
    try:
        record_bytes(arguments.format)
    except ValueError as error:
        parser.error(str(error))
    minimum = arguments.min_after_dequeue if arguments.shuffle else 0
    capacity = arguments.capacity
    if capacity is None:
        capacity = minimum + 32 * arguments.batch_size
    if capacity <= minimum:
        parser.error(f"--capacity must be bigger than --min-after-dequeue, {minimum}; got {capacity}")
    return Settings(
        arguments.files,
        arguments.batch_size,
        arguments.shuffle,
        capacity,
        minimum,
        arguments.epochs or None,
        arguments.threads,
        arguments.seed,
        arguments.skip_header_lines,
        arguments.format,
    )


@contextlib.contextmanager
def _progress(settings: Settings) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows bytes read and examples taken: on a terminal a progress bar, elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda done, examples: None
        return
    total = None
    if settings.epochs is not None:
        with contextlib.suppress(OSError):
            total = settings.epochs * sum(map(os.path.getsize, settings.files))
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        yield from _line(total)
        return
    with tqdm(total=total, unit="B", unit_scale=True, file=sys.stderr, mininterval=_REFRESH) as bar:

        def show(done: int, examples: int) -> None:
            bar.update(done - bar.n)

        yield show


def _line(total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Progress as one line that is written over again and again, and wiped at the end."""
    due = 0.0

    def show(done: int, examples: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _REFRESH
            share = f" {done / total:4.0%}" if total else ""
            sys.stderr.write(f"\rfeed:{share} {done / 1e6:,.1f} MB, {examples:,} examples\x1b[K")
            sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
