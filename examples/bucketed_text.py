"""Batch sentences of similar length to waste less on padding.

    python examples/bucketed_text.py

The sentences come from README.md, as word numbers. bucket_by_sequence_length collects them in buckets; the padding from
batch(dynamic_pad=True) is printed for comparison.
"""

import re
from pathlib import Path

import numpy as np

import pipeline

TEXT = Path(__file__).parents[1] / "README.md"


def sentences():
    """Return the sentences as arrays of word numbers, and the vocabulary size."""
    words = {}
    found = []
    text = re.sub(r"```.*?```", "", TEXT.read_text(), flags=re.DOTALL)  # without programs
    for sentence in re.split(r"(?<=[.:|])\s", text):
        numbers = [words.setdefault(word, len(words) + 1) for word in re.findall(r"\w+", sentence.lower())]
        if numbers:
            found.append(np.array(numbers, np.int32))
    return found, len(words)


def padding(batches):
    """Return the fraction of zeros in all batches; zeros pad the sentences."""
    batches = list(batches)  # int32 [16, longest in the batch] each
    return sum((batch == 0).sum() for batch in batches) / sum(batch.size for batch in batches)


def main():
    found, words = sentences()
    lengths = [len(sentence) for sentence in found]
    print(f"{len(found)} sentences of {min(lengths)} to {max(lengths)} words, {words} different ones")
    edges = sorted({int(edge) for edge in np.quantile(lengths, [0.2, 0.4, 0.6, 0.8, 0.9])})
    with (
        pipeline.batch(found, 16, dynamic_pad=True, allow_smaller_final_batch=True) as plain,
        pipeline.bucket_by_sequence_length(len, found, 16, edges, allow_smaller_final_batch=True) as pairs,
    ):
        one, four = padding(plain), padding(batch for lengths, batch in pairs)
    print(f"padding: {one:.0%} of all numbers; in buckets with the edges {edges}: {four:.0%}")


if __name__ == "__main__":
    main()
