"""Malformed shards: each causes a single error naming shard and member, using little memory."""

import gzip
import io
import json
import struct
import sys
import tarfile
import zipfile

import pytest
from helpers import raises
from tracing import memory_below

import pipeline

MIB = 1 << 20


def member(name, data=b"", **fields):
    """Return a member with its header, as tarfile writes it; header fields may differ."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)


def pax(keywords, kind=tarfile.XHDTYPE):
    """Return a pax header with these values for the next member."""
    records = b""
    for key, value in keywords.items():
        text = b" %b=%b\n" % (key.encode(), value)
        length = next(n for n in range(1000) if n == len(text) + len(str(n)))
        records += b"%d" % length + text
    return member("pax", records, type=kind)


END = bytes(1024)
GOOD = member("0.cls", b"7")


@pytest.fixture
def shard(tmp_path):
    return tmp_path / "a.tar"


def read(path, columns=("cls",), **options):
    source = pipeline.webdataset(path, list(columns), **options)
    return list(pipeline.batch(source, 1))


def values(path, name, **options):
    return [batch[name].item() for batch in read(path, [name], **options)]


HOSTILE = {
    "a size of 60 GB": (
        member("b.bin", b"x", size=60 << 30),
        pipeline.ResourceExhaustedError,
        "'b.bin' has more than the limit of 1,073,741,824 bytes; max_record_bytes= sets another limit",
    ),
    "a pax size of 60 GB": (
        pax({"size": b"%d" % (60 << 30)}) + member("b.bin", b"x"),
        pipeline.ResourceExhaustedError,
        "'b.bin' has more than the limit of 1,073,741,824 bytes; max_record_bytes= sets another limit",
    ),
    "a size below the limit that is not there": (
        member("b.bin", b"x", size=1 << 29),
        pipeline.DataLossError,
        "'b.bin' should have 536,870,912 bytes: the archive is cut short",
    ),
    "a pax header of 60 GB": (
        member("pax", b"", type=tarfile.XHDTYPE, size=60 << 30),
        pipeline.ResourceExhaustedError,
        "'pax': a header claims 64,424,509,440 bytes, more than 1,048,576",
    ),
    "a long name of 60 GB": (
        member("name", b"", type=tarfile.GNUTYPE_LONGNAME, size=60 << 30),
        pipeline.ResourceExhaustedError,
        "'name': a header claims 64,424,509,440 bytes, more than 1,048,576",
    ),
    "a pax size that is no number": (
        pax({"size": b"-5"}) + member("b.bin", b"x"),
        pipeline.DataLossError,
        "the archive is damaged: the size of 'b.bin' is b'-5'",
    ),
    "a pax size of 5,000 digits": (
        pax({"size": b"9" * 900}) + member("b.bin", b"x"),
        pipeline.DataLossError,
        "the archive is damaged: the size of 'b.bin' is b'9999",
    ),
    "a pax header of something else": (
        member("pax", b"99999999999 path=a\n", type=tarfile.XHDTYPE) + GOOD,
        pipeline.DataLossError,
        "the archive is damaged: 'pax' is not a pax header",
    ),
    "a negative size": (
        member("b.bin", b"", size=-512),
        pipeline.DataLossError,
        "the archive is damaged: 'b.bin' has -512 bytes",
    ),
    "3,000 long names": (
        member("name", b"long\0", type=tarfile.GNUTYPE_LONGNAME) * 3000 + GOOD,
        pipeline.DataLossError,
        "the archive is damaged: at byte 1,024 there are more than 100 headers before a file",
    ),
    "a header without a file": (
        member("name", b"long\0", type=tarfile.GNUTYPE_LONGNAME),
        pipeline.DataLossError,
        "the archive is damaged: at byte 1,024 there are headers without a file",
    ),
    "an old sparse file": (
        member("b.bin", b"", type=tarfile.GNUTYPE_SPARSE, size=0),
        pipeline.InvalidArgumentError,
        "'b.bin' is stored as a sparse file: write the archive without the option --sparse",
    ),
    "a device": (
        member("b.bin", type=tarfile.CHRTYPE),
        pipeline.InvalidArgumentError,
        "'b.bin' is a device or a pipe: write the archive without it",
    ),
    "a pipe": (
        member("b.bin", type=tarfile.FIFOTYPE),
        pipeline.InvalidArgumentError,
        "'b.bin' is a device or a pipe: write the archive without it",
    ),
    "a pax sparse file": (
        pax({"GNU.sparse.major": b"1", "GNU.sparse.minor": b"0", "GNU.sparse.name": b"c.bin"}) + member("b.bin"),
        pipeline.InvalidArgumentError,
        "'c.bin' is stored as a sparse file: write the archive without the option --sparse",
    ),
}


@pytest.mark.parametrize(("content", "kind", "why"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_archives(shard, content, kind, why, on_error, deterministic):
    shard.write_bytes(GOOD + END)
    read(shard, ["cls"])  # does the remaining imports, because they take memory too
    shard.write_bytes(GOOD + content + END)
    source = pipeline.webdataset(shard, ["cls"])
    with memory_below(16 * MIB):
        with pipeline.batch(source, 1, on_error=on_error, deterministic=deterministic) as batches:
            with raises(kind, f"webdataset: {shard}: {why}"):
                list(batches)


def test_what_belongs_to_no_sample_has_the_limit_too(shard):
    shard.write_bytes(GOOD + member("readme", b"", size=60 << 30))
    with raises(pipeline.ResourceExhaustedError, f"webdataset: {shard}: 'readme' has more than the limit"):
        read(shard)


def test_max_record_bytes(shard):
    shard.write_bytes(member("0.txt", b"abcd") + member("1.txt", b"abc") + member("1.cls", b"5") + END)
    assert [row.tolist() for row in values_of(shard, "txt", max_record_bytes=4)] == [["abcd"], ["abc"]]
    for limit, what in ((3, "'0.txt' has"), (0, "'0.txt' has")):
        with raises(pipeline.ResourceExhaustedError, f"webdataset: {shard}: {what} more than the limit of {limit}"):
            read(shard, ["txt"], max_record_bytes=limit)
    shard.write_bytes(member("1.txt", b"abc") + member("1.cls", b"55") + END)
    with raises(pipeline.ResourceExhaustedError, f"webdataset: {shard}: with '1.cls', sample '1' has more than the"):
        read(shard, ["txt"], max_record_bytes=4)
    assert len(read(shard, ["txt"], max_record_bytes=None)) == 1
    with raises(ValueError, "max_record_bytes must be >= 0 not -1"):
        pipeline.webdataset(shard, max_record_bytes=-1)


def values_of(path, name, **options):
    return [batch[name] for batch in read(path, [name], **options)]


@pytest.mark.parametrize("ending", ["tar.gz", "tar.xz", "tar.bz2"])
def test_compressed_bombs(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    big = 64 * MIB
    with tarfile.open(path, f"w:{ending[4:]}") as archive:
        info = tarfile.TarInfo("b.bin")
        info.size = big
        archive.addfile(info, io.BytesIO(bytes(big)))
    assert path.stat().st_size < MIB
    with memory_below(16 * MIB):
        with raises(
            pipeline.ResourceExhaustedError, f"webdataset: {path}: 'b.bin' has more than the limit of 1,048,576"
        ):
            read(path, max_record_bytes=MIB)


def test_zeros_without_end(tmp_path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(GOOD + bytes(64 * MIB), 1))
    with raises(pipeline.ResourceExhaustedError, f"webdataset: {path}: the end of the archive at byte 1,024 has more"):
        read(path, max_record_bytes=MIB)


def npy(head, data=b"", version=1):
    text = head.encode().ljust(117) + b"\n"
    size = struct.pack("<H", len(text)) if version == 1 else struct.pack("<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def npz(**contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def descr(kind, shape):
    return f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}"


BAD_VALUES = {
    "npy": [
        *(npy(descr("|S0", (10**12,)), version=version) for version in (1, 2, 3)),
        npy(descr("|V0", (10**12,))),
        npy(descr("<f8", (10**12,))),
        npy(descr("<f8", (10**9,)), version=2),
        npy(descr("<f8", (-1,))),
        npy(descr("<f8", (2**62, 2**62))),
        npy("[" * 117),
    ],
    "npz": [
        npz(a=npy(descr("|S0", (10**12,)))),
        npz(a=npy(descr("<f8", (10**12,)), version=2)),
        npz(a=bytes(8 * MIB)),
        b"PK\3\4 no archive",
    ],
    "json": [
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"n": ' + b"9" * 5000 + b"}",
        b"\xff\xfe",
    ],
    "cls": [b"9" * 5000, b"", b"\xff"],
    "json.gz": [b"no gzip", gzip.compress(b"{}")[:-4], gzip.compress(bytes(8 * MIB)), gzip.compress(b"\xff{}")],
}


@pytest.mark.parametrize(("name", "number"), [(name, i) for name in BAD_VALUES for i in range(len(BAD_VALUES[name]))])
def test_values(shard, name, number):
    """One error with shard, key and name; if skipped, the other samples remain."""
    good = {
        "npy": npy(descr("<f8", (2,)), bytes(16)),
        "npz": npz(a=npy(descr("<f8", (2,)), bytes(16))),
        "json": b"[1]",
        "cls": b"1",
        "json.gz": gzip.compress(b"[1]"),
    }[name]
    kind = pipeline.DataLossError if (name, number) == ("json.gz", 3) else pipeline.InvalidArgumentError
    bad = BAD_VALUES[name][number]
    shard.write_bytes(member(f"good.{name}", good) + member(f"bad.{name}", bad) + END)
    with memory_below(32 * MIB):
        for options in ({}, {"deterministic": True}):
            source = pipeline.webdataset(shard, [name, "__key__"], max_record_bytes=MIB)
            with raises(kind, f"webdataset: {shard}: sample 'bad': {name!r}"):
                list(pipeline.batch(source, 1, **options))
            with raises(kind, f"webdataset: {shard}: sample 'bad': {name!r}"):
                list(pipeline.batch(source, 2, **options))
            with pipeline.batch(source, 1, on_error="skip", **options) as batches:
                assert [batch["__key__"].item() for batch in batches] == ["good"]
            assert batches.num_errors == 1


def test_names_are_the_bytes_that_they_are(shard):
    names = ["é", "\udce9", "\udced\udca0\udc80", "a" * 150 + "\udcff"]  # UTF-8, latin-1, a surrogate, a long one
    shard.write_bytes(
        b"".join(member(f"{name}.cls", b"1") for name in names[:2])
        + pax({"path": names[2].encode(errors="surrogateescape") + b".cls"})
        + member("x", b"1")
        + member("long", names[3].encode(errors="surrogateescape") + b".cls\0", type=tarfile.GNUTYPE_LONGNAME)
        + member("x", b"1")
        + END
    )
    keys = values(shard, "__key__")
    assert keys == names
    shard.write_bytes(member("\udce9.cls", b"none") + END)
    with raises(pipeline.InvalidArgumentError, f"webdataset: {shard}: sample '\\udce9': 'cls' cannot be decoded: "):
        read(shard)
    with pytest.raises(pipeline.InvalidArgumentError) as caught:
        list(pipeline.webdataset(shard, ["cls"]).map(lambda example: example))
    json.dumps(str(caught.value)).encode()  # it can be printed anywhere


def test_global_headers_and_kinds_of_members(shard):
    """Extra members by GNU tar, bsdtar and git archive are ignored."""
    shard.write_bytes(
        pax({"comment": b"of git"}, tarfile.XGLTYPE)
        + member("folder", type=tarfile.DIRTYPE)
        + pax({"linkpath": b"x" * 200})
        + member("latest", type=tarfile.SYMTYPE, linkname="0.cls")
        + member("first", type=tarfile.LNKTYPE, linkname="0.cls", size=60)
        + member("label", b"volume", type=b"V")
        + pax({"path": b"folder/0.cls", "mtime": b"1.5"})
        + member("short", b"7")
        + member("1.cls", b"8", type=tarfile.CONTTYPE)
        + END
    )
    batches = read(shard, ["__key__", "cls"])
    assert [(batch["__key__"].item(), batch["cls"].item()) for batch in batches] == [("folder/0", 7), ("1", 8)]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("index", [False, True])
def test_a_link_in_the_place_of_a_file(shard, kind, index):
    """GNU tar writes a file's second name as a link, and `webdataset` would silently drop its sample."""
    shard.write_bytes(member("0.cls", b"7") + member("1.cls", type=kind, linkname="0.cls", size=60) + END)
    text = (
        f"webdataset: {shard}: '1.cls' is a link to '0.cls', and its sample would be lost: write the archive with tar -"
    )
    with raises(pipeline.InvalidArgumentError, text):
        list(pipeline.webdataset(shard, **({"index": True, "index_folder": shard.parent} if index else {})))


def test_archives_of_every_format_of_tarfile(tmp_path):
    rows = {f"{'folder/' * i}é{i}": b"%d" % i for i in range(0, 60, 7)}
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        path = tmp_path / f"{form}.tar"
        with tarfile.open(path, "w", format=form) as archive:
            for name, data in rows.items():
                if form == tarfile.USTAR_FORMAT and len(name) > 250:
                    continue
                info = tarfile.TarInfo(f"{name}.txt")
                info.size, info.mtime = len(data), 1.5
                archive.addfile(info, io.BytesIO(data))
            names = archive.getnames()
        got = [(batch["__key__"].item(), batch["txt"].item().encode()) for batch in read(path, ["__key__", "txt"])]
        assert got == [(name[:-4], rows[name[:-4]]) for name in names]


def test_more_decoders(shard):
    """WebDataset's decoders, in the same table, except for pickles and texts."""
    cbor2, msgpack = pytest.importorskip("cbor2"), pytest.importorskip("msgpack")
    value = {"n": 3, "words": ["a", "é\0"], "box": [1.5, 2.5]}
    shard.write_bytes(
        member("0.jsn", json.dumps(value).encode())
        + member("0.cbor", cbor2.dumps(value))
        + member("0.mp", msgpack.packb(value))
        + member("0.msg.gz", gzip.compress(msgpack.packb(value)))
        + member("0.json.gz.gz", gzip.compress(gzip.compress(json.dumps(value).encode())))
        + member("0.txt.gz", gzip.compress(b"text") + gzip.compress(b" of two"))
        + member("0.gz", gzip.compress(b"alone"))
        + END
    )
    [batch] = read(shard, ["jsn", "cbor", "mp", "msg.gz", "json.gz.gz", "txt.gz", "gz"])
    for name in ("jsn", "cbor", "mp", "msg.gz", "json.gz.gz"):
        got = {key: column[0].tolist() for key, column in batch[name].items()}
        assert got == {"n": 3, "words": ["a", "é\0"], "box": [1.5, 2.5]}
    assert (batch["txt.gz"].item(), batch["gz"].item()) == ("text of two", b"alone")
    [batch] = read(shard, ["txt.gz", "mp"], decoders={"gz": len, "mp": bytes})
    assert (batch["txt.gz"].item(), batch["mp"].item()) == (51, msgpack.packb(value))


def test_shared_references_of_cbor(shard):
    """398 bytes could encode 2**60 values. The tag may be written in four ways, and in a string it is text."""
    cbor2 = pytest.importorskip("cbor2")
    value = ["a"]
    for _ in range(60):
        value = [value, value]
    bombs = [cbor2.dumps(value, value_sharing=True)]
    tags = [b"\xd8\x1d", b"\xd9\0\x1d", b"\xda\0\0\0\x1d", b"\xdb" + bytes(7) + b"\x1d"]
    bombs += [b"\x9f\x5f\x41a\xff\xd8\x1c\x81\x01" + tag + b"\0\xff" for tag in tags]
    for number, bomb in enumerate(bombs):
        shard.write_bytes(member(f"{number}.cbor", bomb) + END)
        with raises(
            pipeline.InvalidArgumentError,
            f"webdataset: {shard}: sample '{number}': 'cbor' cannot be decoded: it has shared references (CBOR tag 29)",
        ):
            read(shard, ["cbor"])
    assert read(shard, ["cbor"], decoders={"cbor": lambda data: len(cbor2.loads(data))})[0]["cbor"].item() == 3
    good = {"bytes": b"".join(tags), "text": "\x1d" * 300, "numbers": [0xD81D, 29, -30, 0.5, 2**64]}
    shard.write_bytes(member("good.cbor", cbor2.dumps(good)) + END)
    [batch] = read(shard, ["cbor"])
    assert batch["cbor"]["bytes"].item() == good["bytes"]


def test_items_that_msgpack_claims_and_has_not(shard):
    """Each of 500 nested arrays claims an item per byte: room for 4 GB."""
    pytest.importorskip("msgpack")
    claim = b"\xdd" + struct.pack(">I", MIB)
    shard.write_bytes(member("0.mp", claim * 500 + bytes(MIB)) + END)
    with (
        memory_below(32 * MIB),
        raises(
            pipeline.InvalidArgumentError, f"webdataset: {shard}: sample '0': 'mp' cannot be decoded: it ends too early"
        ),
    ):
        read(shard, ["mp"])


@pytest.mark.parametrize(
    ("data", "why"), [(b"\x91" * 2000 + b"\x01", "it is nested too deeply"), (b"\xc1", "it is not MessagePack")]
)
def test_msgpack_that_is_no_value(shard, data, why):
    pytest.importorskip("msgpack")
    shard.write_bytes(member("0.mp", data) + END)
    with raises(pipeline.InvalidArgumentError, f"webdataset: {shard}: sample '0': 'mp' cannot be decoded: {why}"):
        read(shard, ["mp"])


@pytest.mark.parametrize(("module", "extension"), [("cbor2", "cbor"), ("msgpack", "mp")])
def test_a_library_that_is_missing(shard, monkeypatch, module, extension):
    """The samples are not at fault, so none is skipped."""
    monkeypatch.setitem(sys.modules, module, None)
    shard.write_bytes(member(f"0.{extension}", b"\1") + END)
    with raises(ImportError, f"webdataset: decoding '{extension}'"):
        read(shard, [extension])
    source = pipeline.webdataset(shard, [extension])
    with pytest.raises(ImportError, match=rf"needs {module}: pip install {module}"):
        list(pipeline.batch(source, 1, on_error="skip"))


VALUES = [
    [[1], [2, 3]],
    [[1, 2], [3, 4]],
    [[], []],
    [1, [2]],
    [{"role": "user", "at": [1]}],
    {"boxes": [[1, 2, 3, 4]], "names": [["a"], ["b", "c"]]},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("ending", ["json", "cbor", "mp"])
def test_lists_of_lists_and_objects_are_those_of_jsonl(shard, tmp_path, ending, value):
    dumps = {"json": lambda each: json.dumps(each).encode()}
    if ending != "json":
        dumps |= {"cbor": pytest.importorskip("cbor2").dumps, "mp": pytest.importorskip("msgpack").packb}
    shard.write_bytes(b"".join(member(f"{i}.{ending}", dumps[ending](value)) for i in range(2)) + END)
    (tmp_path / "a.jsonl").write_text(2 * (json.dumps({ending: value}) + "\n"))
    lines = pipeline.jsonl(str(tmp_path / "a.jsonl"))
    samples = pipeline.webdataset(str(shard), columns=[ending])
    assert list(map(repr, samples)) == list(map(repr, lines))
    assert types_of(next(iter(samples))) == types_of(next(iter(lines)))
    assert repr(list(samples.batch(2))) == repr(list(lines.batch(2)))


def types_of(value):
    return {name: types_of(each) for name, each in value.items()} if isinstance(value, dict) else type(value)


@pytest.mark.parametrize("value", [[1, "a"], [True, 1, "x"], [0.5, 2**60 + 1]], ids=repr)
def test_lists_that_make_no_array(shard, value):
    """They can be read; `batch` reports the problem."""
    shard.write_bytes(member("0.json", json.dumps(value).encode()) + END)
    data = pipeline.webdataset(str(shard), columns=["json"])
    assert list(data) == [{"json": value}]
    with pytest.raises((TypeError, ValueError), match=r"^batch: component 'json'.* \(.*a\.tar:0\)(\n|$)"):
        list(data.batch(1))


def test_empty_lists_beside_lists_of_lists(shard):
    shard.write_bytes(member("0.json", b"[]") + member("1.json", b"[[1], [2, 3]]") + END)
    [batch] = pipeline.webdataset(str(shard), columns=["json"]).batch(2)
    assert batch["json"].tolist() == [[], [[1], [2, 3]]]
