"""Guess languages by their letters, from a Hugging Face dataset read by index and as a stream.

    python examples/huggingface_text.py

It creates a small dataset. Needs `pip install datasets`.
"""

import datasets
import numpy as np

import pipeline

WORDS = {
    "English": "the quick brown fox jumps over lazy dogs while rain falls on green hills",
    "Finnish": "nopea ruskea kettu hyppii laiskojen koirien yli kun sade lankeaa vihreille kukkuloille",
}


def make_dataset():
    """Create 2,000 sentences with five words each, and their language numbers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    words = [each.split() for each in WORDS.values()]
    return datasets.Dataset.from_dict({"text": [" ".join(rng.choice(words[i], 5)) for i in labels], "label": labels})


def letters(texts):
    """Count each letter in each text."""
    return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts])


def main():
    dataset = make_dataset()
    train, test = dataset.select(range(1600)), dataset.select(range(1600, 2000)).to_iterable_dataset(num_shards=4)
    sums = np.zeros((2, 26))
    source = pipeline.huggingface(train, columns=["text", "label"], shuffle=True, seed=1)
    for batch in source.batch(100).prefetch(2):  # str and int64
        np.add.at(sums, batch["label"], letters(batch["text"]))
    weights = np.log((sums + 1) / (sums + 1).sum(axis=1, keepdims=True))
    right = 0
    for batch in pipeline.huggingface(test).batch(50):
        right += ((letters(batch["text"]) @ weights.T).argmax(axis=1) == batch["label"]).sum()
    print(f"{' or '.join(WORDS)}: {right / 400:.0%} right")


if __name__ == "__main__":
    main()
