"""Check commit subjects since the last release: imperative, at most 72 characters, then a blank line."""

import re
import subprocess
import sys

# The last commit before the rule.
SINCE = "44f6822d0ee7cbe7fff66083c001d2bcf5a0b821"
LONGEST = 72

# First words that describe a finished change or a state, not the commit's action.
_NOT_IMPERATIVE = re.compile(
    r"(?i)^(?:added|fixed|changed|removed|made|adds|fixes|changes|removes|makes|the|a|an|no|now|wip)\b"
)


def git(*arguments):
    """Return git's output; None if it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def faults(message):
    """Yield the faults in a commit's message."""
    subject, _, rest = message.strip("\n").partition("\n")
    if len(subject) > LONGEST:
        yield f"{len(subject)} characters, at most {LONGEST}"
    if _NOT_IMPERATIVE.match(subject):
        yield "not imperative: begin with a verb, such as Fix or Add"
    if rest and not rest.startswith("\n"):
        yield "no blank line after the subject"


def main():
    """Check the commits; print their faults."""
    since = (git("describe", "--tags", "--abbrev=0") or SINCE).strip()
    log = git("log", "--no-merges", "--format=%h%x00%B%x01", f"{since}..HEAD")
    if log is None:
        print(f"commits are not checked: {since} is not in this clone")
        return 0
    wrong = 0
    for entry in filter(None, map(str.strip, log.split("\x01"))):
        name, _, message = entry.partition("\x00")
        for fault in faults(message):
            wrong += 1
            print(f"{name} {message.splitlines()[0]!r}: {fault}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
