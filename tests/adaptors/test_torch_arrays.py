"""PyTorch tensors as examples, including those NumPy does not accept from PyTorch."""

import ml_dtypes
import numpy as np
import pytest

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

ROWS = torch.arange(12.0).reshape(4, 3)


def only(batches):
    [batch] = batches
    return batch


def replayed(rows):
    with pipeline.replay(1) as buffer:
        buffer.add(rows[0])
        return np.stack([next(iter(buffer))] * 4)


READ = {
    "dataset": lambda rows: only(pipeline.dataset(rows).batch(4)),
    "arrays": lambda rows: only(pipeline.arrays({"x": rows}).batch(4))["x"],
    "map": lambda rows: only(pipeline.dataset(range(4)).map(lambda i: rows[i]).batch(4)),
    "dict": lambda rows: only(pipeline.dataset(range(4)).map(lambda i: {"x": rows[i]}).batch(4))["x"],
    "tuple": lambda rows: only(pipeline.dataset(range(4)).map(lambda i: (i, rows[i])).batch(4))[1],
    "padded": lambda rows: only(pipeline.dataset(range(4)).map(lambda i: rows[i]).batch(4, pad=0)),
    "threads": lambda rows: only(pipeline.dataset(range(4)).map(lambda i: rows[i], workers=2).batch(4)),
    "stack": pipeline.stack,
}


@pytest.fixture(params=READ)
def read(request):
    return READ[request.param]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_of_ml_dtypes(read, name):
    rows = ROWS.to(getattr(torch, name))
    batch = read(rows)
    assert batch.dtype == getattr(ml_dtypes, name)
    assert batch.astype(np.float32).tolist() == rows.float().tolist()


def test_a_loader_gives_tensors_of_bfloat16():
    loader = pipeline.torch.DataLoader(pipeline.dataset(range(4)).map(lambda i: {"x": ROWS[i].bfloat16()}).batch(4))
    assert only(loader)["x"].equal(ROWS.bfloat16())


def test_a_replay_buffer_and_a_queue_take_them():
    rows = ROWS.bfloat16().requires_grad_()
    assert replayed(rows).dtype == ml_dtypes.bfloat16
    queue = pipeline.FIFOQueue(1, [np.float32], [[3]])
    queue.enqueue([rows[1]])
    assert queue.dequeue().tolist() == [3, 4, 5]


def test_gradients_are_left_behind(read):
    assert read(ROWS.clone().requires_grad_()).tolist() == ROWS.tolist()
    assert read(torch.nn.Parameter(ROWS)).tolist() == ROWS.tolist()


def test_views_that_are_computed(read):
    rows = torch.complex(ROWS, ROWS).conj()
    assert read(rows).tolist() == rows.resolve_conj().tolist()
    assert read(rows.imag).tolist() == (-ROWS).tolist()


def quantized(rows):
    return torch.quantize_per_tensor(rows, 0.1, 0, torch.qint8)


OTHERS = {
    r"layout torch.sparse_coo is not an array: write tensor.to_dense\(\)": torch.Tensor.to_sparse,
    r"write tensor.dequantize\(\), or tensor.int_repr\(\)": quantized,
    r"on the device meta is not an array of NumPy: it has no values": lambda rows: rows.to("meta"),
}


def packed(name):
    return lambda rows: torch.zeros(4, 2, dtype=torch.uint8).view(getattr(torch, name))


OTHERS |= {
    r"torch.complex32 is not an array .*: write tensor.to\(torch.complex64\)": lambda rows: rows.to(torch.complex32),
    r"torch.bits16 is not an array .*: write tensor.view\(torch.int16\)": lambda rows: torch.zeros(
        4, 2, dtype=torch.int16
    ).view(torch.bits16),
} | {
    rf"torch.{name} is not an array .*: write tensor.view\(torch.uint8\)": packed(name)
    for name in ("quint8", "quint4x2", "bits8", "uint4", "int2", "float4_e2m1fn_x2")
    if hasattr(torch, name)
}


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning", "ignore:ComplexHalf support:UserWarning")
@pytest.mark.parametrize("text", OTHERS)
def test_others_are_an_error_that_says_what_to_write(read, text):
    with pytest.raises(TypeError, match=text):
        read(OTHERS[text](ROWS))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_is_not_an_array():
    with pytest.raises(TypeError, match=r"rows of several shapes: write tensor.unbind\(\)"):
        pipeline.dataset(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
