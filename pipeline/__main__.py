"""`python -m pipeline`, and the command `queue-runner`: a Ctrl-C while either imports the rest ends it, too."""

import signal
import sys
from types import FrameType

INTERRUPTED = 130  # 128 + SIGINT, as in shells


def main() -> int:
    """Run the command line and return its exit status; see `pipeline.command.cli.main`."""
    struck: list[int] = []

    def strike(number: int, frame: FrameType | None) -> None:
        struck.append(number)
        raise KeyboardInterrupt

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, strike)
    try:
        from pipeline.command import cli  # here, because C modules swallow KeyboardInterrupt during import
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return INTERRUPTED if struck else cli.main()


if __name__ == "__main__":
    sys.exit(main())
