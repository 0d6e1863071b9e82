"""zip: tuples with one element per dataset, until the shortest ends."""

import numpy as np
from dataset_contract import check, stream

import pipeline

A, B = pipeline.dataset(range(5)), stream("abc")


def test_zip():
    check(pipeline.zip(A, B), list(zip(range(5), "abc", strict=False)))
    check(pipeline.zip([B, A, A]), list(zip("abc", range(5), range(5), strict=False)))
    check(pipeline.zip(A), [(x,) for x in range(5)])
    check(pipeline.zip(A.repeat(), B.repeat(2)), list(zip([0, 1, 2, 3, 4, 0], "abcabc", strict=True)))


def test_images_with_their_labels_are_shuffled_together():
    images, labels = pipeline.arrays(np.arange(20).reshape(10, 2)), pipeline.arrays(np.arange(10))
    data = pipeline.zip(images, labels).shuffle(seed=1).batch(4)
    check(data, list(data))
    for x, y in data:
        assert (x[:, 0] == 2 * y).all()
    assert len(data) == 3
    assert data[1][1].tolist() == list(data)[1][1].tolist()


def test_dicts_stay_as_they_are():
    check(pipeline.zip(pipeline.dataset([{"a": 1}]), A), [({"a": 1}, 0)])
