"""The command line: arguments, progress and exit status for `python -m pipeline feed` and `check`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import io
import itertools
import json
import logging
import os
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from pipeline import __version__
from pipeline.command.check import check
from pipeline.command.check import report as check_report
from pipeline.command.completion import PROGRAM, SHELLS, completion
from pipeline.command.feed import FilePipeline, Settings
from pipeline.command.formats import HELP, files_of, format_of, nothing_in, record_bytes
from pipeline.command.report import FeedReport
from pipeline.command.saving import EVERY, Saving
from pipeline.errors import CancelledError, OpError
from pipeline.reports.report import Report as Run
from pipeline.reports.sampler import Sampler
from pipeline.reports.show import Show
from pipeline.runners.coordinator import Coordinator

INTERRUPTED = 130  # 128 + SIGINT, as in shells
BROKEN_PIPE = 141  # 128 + SIGPIPE

# Advice about arguments of sources and of `batch`, and what to do instead: feed has no such options.
_OPTIONS = (
    ("; see lenient=", ": fix the line, or use `pipeline.csv(..., lenient=True)` in a program"),
    ("; make them equal, or use batch(n, pad=0)", ", and --deterministic needs equal shapes"),
)
_ARGUMENT = re.compile(r"\b(columns|comment|decoders|defaults|dtypes|encoding|max_record_bytes|names)=")
_MOST = 2**31 - 1  # for any number among the options, as for a capacity
_MOST_THREADS = 1024  # starting this many takes 0.4 s, and no machine gains from more
_LONGEST = 16 << 20  # maximum bytes in a program

_MIN_AFTER_DEQUEUE = 1024
_FEED = """\
Read files into batches, as pipeline.csv and the other sources do: a buffer
shuffles, and a thread prepares batches ahead. Report examples/s, bytes/s,
what limits them, and which option to change."""
_EXAMPLES = (
    "train.csv --epochs 10",
    "photos/ --threads 8",
    "'logs/*.jsonl.gz' --batch-size 1024 --no-shuffle",
    "data.parquet --epochs 0 --watch",
)
_COLD = 0.1  # part of the files read from storage from which on they may be waited for
_REFRESH = 0.1  # seconds between two updates of the terminal


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 for bad input or none, 2 for bad arguments, 130 for Ctrl-C.

    `check` returns 0 if the drop-in has every name that the programs use, 1 if it lacks some, and 2 if a file is not a
    Python program.
    """
    try:
        _prepare_output()
        if sys.stdout is None:
            print("pipeline: the standard output is closed", file=sys.stderr)
            return 1
        parser = _parser(_called())
        arguments = parser.parse_args(argv)
        if arguments.command == "check":
            return _check(arguments.programs)
        if arguments.command == "completion":
            print(completion(_parser(PROGRAM), arguments.shell))
            return 0
        logging.basicConfig(format="%(message)s")  # prints warnings to standard error
        report = run(_settings(parser, arguments), _saving(parser, arguments), arguments.watch)
        print(json.dumps(report.to_dict()) if arguments.json else report.to_text(), flush=True)
        return INTERRUPTED if report.interrupted else 0
    except BrokenPipeError:  # the reader has closed our output
        _drop_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except ImportError as error:
        print(f"pipeline {arguments.command}: {error}", file=sys.stderr)
        return 1
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        print(f"pipeline feed: {error}: the system allows no more; use a smaller --threads", file=sys.stderr)
        return 1
    except OpError as error:
        print(f"pipeline feed: {_in_words(error.message.splitlines()[0])}", file=sys.stderr)
        return 1
    except OSError as error:  # our output failed, such as on a full disk; input files raise OpErrors
        print(f"pipeline: the standard output cannot be written: {error.strerror}", file=sys.stderr)
        _drop_output()
        return 1


def _in_words(message: str) -> str:
    """Return a source's error message in the command's words."""
    text = message.removeprefix("feed: ")
    if ": " not in text.partition("; ")[0]:  # as in TensorFlow: the file, and what the system returned
        text = text.replace("; ", ": ", 1)
    for theirs, ours in _OPTIONS:
        text = text.replace(theirs, ours)
    found, function = _ARGUMENT.search(text), text.partition(":")[0]
    if found is None or f"pipeline.{function}(" in text or not function.isidentifier():
        return text
    return f"{text} (in a program, {found[0]} is an argument of pipeline.{function})"


def _drop_output() -> None:
    """Discard pending output: at exit Python would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepare_output() -> None:
    """Make every text printable: file names may not fit the terminal's encoding, and stderr may be closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(settings: Settings, saving: Saving, watch: bool = False) -> FeedReport:
    """Run the files through the pipeline until they end or Ctrl-C is pressed; with `watch`, show live progress.

    Raises:
        OpError: A file cannot be read, has a malformed line or is cut short, or no file has an example; the message
            names it. Or the state cannot be loaded or saved.
    """
    coord = Coordinator()
    with _stopped_by_ctrl_c(coord) as struck:
        return _run(settings, saving, watch, coord, struck)


def _run(settings: Settings, saving: Saving, watch: bool, coord: Coordinator, struck: list[int]) -> FeedReport:
    """Do the work of `run`; from the first Ctrl-C on, `coord` stops and `struck` is not empty."""
    settings = settings._replace(files=files_of(settings.files))
    settings = settings._replace(format=settings.format or format_of(settings.files))
    source = FilePipeline(settings)
    batches = source.batches(coord)
    saving.load(batches)
    taken = examples = 0
    first = 0.0
    interrupted = False
    start, blocks = time.perf_counter(), _read_blocks()
    now = start

    local = all(map(os.path.isfile, settings.files))

    def report(made: Run) -> FeedReport:
        figures = examples, taken, source.bytes_read, now - start, first
        cached = local and _read_blocks() - blocks < _COLD * source.bytes_read
        return FeedReport(*figures, made, source.columns, interrupted, settings._asdict(), cached=cached)

    def in_words(made: Run) -> Run:
        early = not examples or (made.verdict is not None and made.verdict.kind == "short")
        return dataclasses.replace(report(made).in_words(), verdicts=()) if early else report(made).in_words()

    views = [Show(words=in_words)] if watch else []
    with Sampler(views=views) as sampler, _progress(settings) as show:
        try:
            for components in batches:
                now = time.perf_counter()
                first = first or now - start
                taken += 1
                examples += source.note(components)
                show(source.bytes_read, examples)
                saving.after(taken, batches)
        except KeyboardInterrupt:
            interrupted = True
        except CancelledError:
            if not struck:
                raise
        finally:
            # A thread may hang in a read forever. It is a daemon; print the report without waiting for it.
            coord.request_stop()
        interrupted = interrupted or bool(struck)
        now = time.perf_counter() if interrupted else now
        made = report(sampler.report(batches))
        if settings.deterministic:
            made = made._replace(fingerprint=batches.fingerprint())
    if made.nothing_to_read:
        raise nothing_in(settings.files, "example")
    saving.save(batches)
    return made


def _read_blocks() -> int:
    """Return how many bytes this process has read from storage, not from the system's memory."""
    return 512 * resource.getrusage(resource.RUSAGE_SELF).ru_inblock


def _check(programs: Sequence[str]) -> int:
    """Report the TensorFlow names that the programs use; return the exit status."""
    status = 0
    for program in itertools.chain.from_iterable(map(_programs, programs)):
        try:
            with open(program, "rb") as file:
                source = file.read(_LONGEST + 1)
            if program.endswith(".ipynb"):
                raise ValueError(f"a notebook: check what `jupyter nbconvert --to script {program}` writes")
            if len(source) > _LONGEST:
                raise ValueError(f"not a program: longer than {_LONGEST >> 20} MiB")
            checked = check(source, program)
        except SyntaxError as error:
            where = f"{program}:{error.lineno}" if error.lineno else program
            print(f"pipeline check: {where}: {error.msg}", file=sys.stderr)
            status = 2
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            nested = isinstance(error, (RecursionError, MemoryError))
            text = error.strerror if isinstance(error, OSError) else "nested too deeply" if nested else error
            print(f"pipeline check: {program}: {text}", file=sys.stderr)
            status = 2
        else:
            print(check_report(program, checked), flush=True)
            status = max(status, 1 if checked.missing else 0)
    return status


def _programs(given: str) -> list[str]:
    """Return the Python files in a folder, or the given name."""
    if not os.path.isdir(given):
        return [given]
    found = [
        os.path.join(folder, name) for folder, _, names in os.walk(given) for name in names if name.endswith(".py")
    ]
    return sorted(found) or [os.path.join(given, "*.py")]


def _called() -> str:
    """Return the command that started this program, for its messages."""
    return PROGRAM if os.path.basename(sys.argv[0]).startswith(PROGRAM) else "python -m pipeline"


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Feed files through an input pipeline, or check what a TensorFlow 1 program needs.",
    )
    parser.add_argument("--version", action="version", version=f"queue-runner {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    examples = "\n".join(f"  {program} feed {each}" for each in _EXAMPLES)
    _add_feed_options(
        commands.add_parser(
            "feed",
            help="read files into batches; report the speed and what limits it",
            description=_FEED,
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    checking = commands.add_parser(
        "check",
        help="list the TensorFlow names in a program that the drop-in lacks",
        description="Read Python programs without running them. List the import lines to change and each TensorFlow "
        "name that pipeline.compat.v1 lacks, with its line and what to use instead.",
    )
    checking.add_argument("programs", nargs="+", metavar="PROGRAM", help="a Python file, or a folder of them")
    completing = commands.add_parser(
        "completion",
        help="print a script that completes the options of queue-runner in a shell",
        description="Print a script with which a shell completes the commands and options of queue-runner.",
    )
    completing.add_argument("shell", choices=SHELLS, help="the shell")
    return parser


def _add_feed_options(feed: argparse.ArgumentParser) -> None:
    def number(option: str, default: int | None, text: str) -> None:
        shown = "" if default is None else f"; default: {default}"
        feed.add_argument(option, type=int, default=default, metavar="N", help=text + shown)

    feed.add_argument(
        "files", nargs="+", metavar="FILE", help="a file, URL or pattern; a folder for all files in it; - for stdin"
    )
    feed.add_argument(
        "--format", metavar="FORMAT", help=f"{HELP}; default: by the first bytes and the names of the files"
    )
    number("--batch-size", 128, "examples in a batch")
    feed.add_argument(
        "--shuffle",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="shuffle the files and the examples; on by default",
    )
    number("--capacity", None, "most examples that wait; default: 32 batches more than --min-after-dequeue")
    shuffles = "examples that stay in the buffer to draw from; more of them shuffle better; default: "
    number("--min-after-dequeue", None, f"{shuffles}{_MIN_AFTER_DEQUEUE}")
    number("--epochs", 1, "how many times to read each file; 0 means until Ctrl-C")
    number("--threads", 2, f"threads that decode images or read whole files, at most {_MOST_THREADS}")
    number("--seed", None, "seed for shuffling; default: a new order in each run")
    number("--skip-header-lines", 0, "lines to skip at each file's start")
    feed.add_argument(
        "--deterministic",
        action="store_true",
        help="the same batches whatever --threads and --capacity are; print a fingerprint of them",
    )
    feed.add_argument("--save-state", metavar="STATE", help="with --deterministic: save the position in this file")
    number("--every", None, f"batches between two saves; default: {EVERY}")
    feed.add_argument("--resume", metavar="STATE", help="with --deterministic: resume from this file")
    feed.add_argument("--watch", action="store_true", help="show what each stage does while it runs, on stderr")
    feed.add_argument("--json", action="store_true", help="print the report as a JSON object")


def _settings(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Settings:
    """Return the checked arguments; exits with status 2 if one is invalid."""
    for name, least, most in (
        ("batch_size", 1, _MOST),
        ("capacity", 1, _MOST),
        ("threads", 1, _MOST_THREADS),
        ("epochs", 0, _MOST),
        ("min_after_dequeue", 0, _MOST),
        ("skip_header_lines", 0, _MOST),
        ("every", 1, _MOST),
    ):
        _check_range(parser, f"--{name.replace('_', '-')}", getattr(arguments, name), least, most)
    _check_names(parser, arguments)
    try:
        if arguments.format is not None:
            record_bytes(arguments.format)
    except ValueError as error:
        parser.error(str(error))
    min_after_dequeue = _min_after_dequeue(arguments)
    capacity = arguments.capacity
    if capacity is None:
        capacity = min(min_after_dequeue + 32 * arguments.batch_size, _MOST)
    if capacity <= min_after_dequeue:
        parser.error(f"--capacity must be bigger than --min-after-dequeue, {min_after_dequeue}; got {capacity}")
    return Settings(
        files=arguments.files,
        batch_size=arguments.batch_size,
        shuffle=arguments.shuffle,
        capacity=capacity,
        min_after_dequeue=min_after_dequeue,
        epochs=arguments.epochs or None,
        threads=arguments.threads,
        seed=arguments.seed,
        skip_header_lines=arguments.skip_header_lines,
        format=arguments.format or "",
        deterministic=arguments.deterministic,
    )


def _min_after_dequeue(arguments: argparse.Namespace) -> int:
    """Return the option, or its default; warns about options without effect."""
    given = arguments.min_after_dequeue
    if arguments.shuffle:
        return _MIN_AFTER_DEQUEUE if given is None else int(given)
    options = {"--seed": arguments.seed, "--min-after-dequeue": given}
    idle = [option for option, value in options.items() if value is not None]
    if idle:
        does = "does" if len(idle) == 1 else "do"
        print(f"pipeline feed: {' and '.join(idle)} {does} nothing with --no-shuffle", file=sys.stderr)
    return 0


def _check_names(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Exit with status 2 if a file name is empty, for example from an unset shell variable."""
    named = ("FILE", arguments.files), ("--save-state", [arguments.save_state]), ("--resume", [arguments.resume])
    for what, names in named:
        if "" in names:
            parser.error(f"{what} must not be empty")


def _check_range(parser: argparse.ArgumentParser, option: str, given: Any, least: int, most: int) -> None:
    """Exit with status 2 if a given number is out of range."""
    if given is not None and given < least:
        parser.error(f"{option} must be at least {least}, got {given}")
    if given is not None and given > most:
        parser.error(f"{option} must be at most {most}, got {given}")


def _saving(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Saving:
    """Return how to load and save states; exits with status 2 if the arguments contradict each other."""
    for name in ("save_state", "resume"):
        if getattr(arguments, name) is not None and not arguments.deterministic:
            parser.error(f"--{name.replace('_', '-')} needs --deterministic: else the order is left to the threads")
    if arguments.every is not None and arguments.save_state is None:
        parser.error("--every needs --save-state")
    return Saving(arguments.resume, arguments.save_state, arguments.every or EVERY)


@contextlib.contextmanager
def _stopped_by_ctrl_c(coord: Coordinator) -> Iterator[list[int]]:
    """Yield a list of the Ctrl-Cs in the body. Each stops the coordinator, because the KeyboardInterrupt may get lost.

    Python drops an exception raised in a finalizer, in a weak reference's callback (its own imports have some), or
    during an attribute check in C. Programs with their own SIGINT handler keep it.
    """
    struck: list[int] = []
    outer, tell = signal.getsignal(signal.SIGINT), sys.unraisablehook

    def strike(number: int, frame: FrameType | None) -> None:
        struck.append(number)
        coord.request_stop()
        raise KeyboardInterrupt

    def hush(dropped: sys.UnraisableHookArgs) -> None:
        if not (struck and isinstance(dropped.exc_value, KeyboardInterrupt)):
            tell(dropped)

    if outer is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield struck
        return
    try:
        sys.unraisablehook = hush
        signal.signal(signal.SIGINT, strike)
        yield struck
    finally:
        signal.signal(signal.SIGINT, outer)
        sys.unraisablehook = tell


@contextlib.contextmanager
def _progress(settings: Settings) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to show bytes read and examples taken: a progress bar on a terminal, otherwise nothing."""
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
    with tqdm(total=total, unit="B", unit_scale=True, file=sys.stderr, mininterval=_REFRESH, leave=False) as bar:

        def show(done: int, examples: int) -> None:
            bar.update(done - bar.n)

        yield show


def _line(total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to show progress as one line, overwritten each time and erased at the end."""
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
