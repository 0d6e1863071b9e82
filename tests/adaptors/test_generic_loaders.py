"""Loaders in annotations, such as `DataLoader[int]`, like torch's and torchdata's."""

import pytest

import pipeline

pytest.importorskip("torch", reason="needs PyTorch")


def test_loaders_are_generic():
    from pipeline.torch import DataLoader, StatefulDataLoader

    loader: StatefulDataLoader[int] = StatefulDataLoader[int]([1, 2, 3], batch_size=2)
    assert [batch.tolist() for batch in loader] == [[1, 2], [3]]
    other = DataLoader[int](pipeline.dataset([1, 2, 3]).batch(2))
    assert [batch.tolist() for batch in other] == [[1, 2], [3]]
