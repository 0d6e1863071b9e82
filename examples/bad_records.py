"""Read a file with damaged lines: stop at the first one, or skip them and report each.

python examples/bad_records.py
"""

import os
import pathlib
import tempfile

import numpy as np

import pipeline

DIGITS = pathlib.Path(__file__).parent / "data" / "digits.csv"


def damage(folder):
    """Write the digits to a file with damage in every 300th line."""
    lines = DIGITS.read_text().splitlines()
    for number in range(100, len(lines), 300):
        lines[number] = lines[number].replace(",", ",?", 1) if number % 200 else lines[number] + ",7"
    path = folder / "damaged.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def count(path, **options):
    """Return the number of examples, and the skipped records; errors from the loop are raised."""
    batches = pipeline.text(path).map(parse, **options).batch(64)
    with iter(batches) as iterator:
        return sum(len(labels) for _, labels in iterator), iterator.errors


def parse(line):
    *pixels, label = pipeline.decode_csv(line, [np.float32] * 64 + [np.int32])
    return np.stack(pixels), label


def main():
    with tempfile.TemporaryDirectory() as made:
        path = damage(pathlib.Path(made))
        try:
            count(path)
        except pipeline.errors.InvalidArgumentError as error:
            print("stopped:", str(error).splitlines()[0])
        examples, errors = count(path, on_error="skip", max_errors=20)
        print(f"{examples} examples; left out:")
        for error in errors:
            where = getattr(error, "__notes__", ["?"])[0]  # Python 3.10 has no notes
            print(f"  {os.path.basename(where)}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()
