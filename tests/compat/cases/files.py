"""read_file, write_file, matching_files, gfile and TFRecord files."""

import os

from compat_cases import case, table


def _made(tmp):
    """Make a directory with two files and a directory containing one."""
    with open(f"{tmp}/a.txt", "wb") as file:
        file.write(b"line1\nline2\r\nline3")
    with open(f"{tmp}/b.txt", "wb"):
        pass
    os.mkdir(f"{tmp}/sub")
    with open(f"{tmp}/sub/c.txt", "w") as file:
        file.write("x")
    return tmp


def short(names, tmp):
    return sorted(name.replace(tmp, "TMP") for name in names)


def outcome(function, *arguments, **options):
    """Return a function's result, or the name of its error."""
    try:
        result = function(*arguments, **options)
    except Exception as error:
        return type(error).__name__
    return result


def write_file_makes_directories(tf, sess, tmp):
    sess.run(tf.write_file(f"{tmp}/new/w.txt", "hi"))
    sess.run(tf.io.write_file(f"{tmp}/new/w.txt", b"a\0", name="w"))
    with open(f"{tmp}/new/w.txt", "rb") as file:
        return file.read()


@case(graph=False)
def matching_files(tf, sess, tmp):
    _made(tmp)
    patterns = [f"{tmp}/*.txt", f"{tmp}/*", f"{tmp}/z*", "/nowhere/*", f"{tmp}/?.txt", f"{tmp}/[!a].txt", f"{tmp}/*/*"]
    return [short([name.decode() for name in sess.run(tf.matching_files(one))], tmp) for one in patterns]


@case(graph=False)
def matching_files_of_many_patterns(tf, sess, tmp):
    _made(tmp)
    names = sess.run(tf.io.matching_files([f"{tmp}/sub/*", f"{tmp}/*.txt"], name="m"))
    return [name.decode().replace(tmp, "TMP") for name in names]


@case(graph=False)
def paths(tf, sess, tmp):
    _made(tmp)
    gfile = tf.gfile
    return {
        "exists": [
            gfile.Exists(tmp),
            gfile.Exists(f"{tmp}/z"),
            gfile.Exists(tmp.encode()),
            tf.io.gfile.exists(path=tmp),
        ],
        "glob": [short(gfile.Glob(f"{tmp}/{one}"), tmp) for one in ("*", "q*", "**", "[ab].txt", "*/*", "a.txt")],
        "glob list": short(gfile.Glob([f"{tmp}/a*", f"{tmp}/b*"]), tmp),
        "glob nowhere": tf.io.gfile.glob(pattern="/nowhere/*"),
        "list": sorted(gfile.ListDirectory(tmp)),
        "list missing": outcome(gfile.ListDirectory, f"{tmp}/z"),
        "list file": outcome(tf.io.gfile.listdir, f"{tmp}/a.txt"),
        "directory": [gfile.IsDirectory(tmp), gfile.IsDirectory(f"{tmp}/a.txt"), tf.io.gfile.isdir(f"{tmp}/z")],
        "join": [tf.io.gfile.join("a", "b", "c"), tf.io.gfile.join("a", "/b"), tf.io.gfile.join("a/", "b")],
    }


@case(graph=False)
def making_directories(tf, sess, tmp):
    _made(tmp)
    gfile = tf.gfile
    return [
        outcome(gfile.MakeDirs, f"{tmp}/x/y"),
        outcome(tf.io.gfile.makedirs, f"{tmp}/x/y"),
        outcome(gfile.MkDir, f"{tmp}/x2"),
        outcome(tf.io.gfile.mkdir, f"{tmp}/x2"),
        outcome(gfile.MkDir, f"{tmp}/q/q"),
        outcome(gfile.MakeDirs, f"{tmp}/a.txt/x"),
        outcome(gfile.MakeDirs, f"{tmp}/a.txt"),
        sorted(os.listdir(tmp)),
    ]


@case(graph=False)
def copying_and_renaming(tf, sess, tmp):
    _made(tmp)
    gfile = tf.gfile
    return [
        outcome(gfile.Copy, f"{tmp}/a.txt", f"{tmp}/copy.txt"),
        outcome(gfile.Copy, f"{tmp}/a.txt", f"{tmp}/copy.txt"),
        outcome(tf.io.gfile.copy, src=f"{tmp}/a.txt", dst=f"{tmp}/copy.txt", overwrite=True),
        outcome(gfile.Copy, f"{tmp}/z", f"{tmp}/z2"),
        outcome(gfile.Rename, f"{tmp}/copy.txt", f"{tmp}/new.txt"),
        outcome(gfile.Rename, f"{tmp}/a.txt", f"{tmp}/new.txt"),
        outcome(tf.io.gfile.rename, f"{tmp}/new.txt", f"{tmp}/b.txt", overwrite=True),
        outcome(gfile.Rename, f"{tmp}/z", f"{tmp}/z2"),
        sorted(os.listdir(tmp)),
    ]


@case(graph=False)
def removing(tf, sess, tmp):
    _made(tmp)
    gfile = tf.gfile
    return [
        outcome(gfile.Remove, f"{tmp}/b.txt"),
        outcome(tf.io.gfile.remove, f"{tmp}/b.txt"),
        outcome(gfile.Remove, f"{tmp}/sub"),
        outcome(gfile.DeleteRecursively, f"{tmp}/sub"),
        outcome(tf.io.gfile.rmtree, f"{tmp}/sub"),
        sorted(os.listdir(tmp)),
    ]


@case(graph=False)
def stat(tf, sess, tmp):
    _made(tmp)
    file, directory = tf.gfile.Stat(f"{tmp}/a.txt"), tf.io.gfile.stat(tmp)
    return [file.length, file.is_directory, directory.is_directory, outcome(tf.gfile.Stat, f"{tmp}/z")]


@case(graph=False)
def walk(tf, sess, tmp):
    os.mkdir(f"{_made(tmp)}/sub/deep")
    forms = [tf.gfile.Walk(tmp), tf.gfile.Walk(tmp, in_order=False), tf.io.gfile.walk(tmp, topdown=True)]
    found = [[(top.replace(tmp, "TMP"), sorted(down), sorted(names)) for top, down, names in one] for one in forms]
    return [found, list(tf.gfile.Walk(f"{tmp}/z"))]


@case(graph=False)
def reading(tf, sess, tmp):
    name = f"{_made(tmp)}/a.txt"
    open_ = tf.gfile.GFile
    file = open_(name, "rb")
    places = [file.tell(), file.read(3), file.tell()]
    file.seek(6)
    places += [file.read(3), file.tell()]
    file.seek(-2, 1)
    places += [file.read(2)]
    file.seek(-5, 2)
    places += [file.read(), file.seekable()]
    file.seek(position=1)
    places += [file.read(1)]
    file.close()
    places += [file.read(2)]
    return [
        places,
        open_(name).read(),
        open_(name, "rb").read(),
        open_(name).read(3),
        open_(name).read(-1),
        open_(name).readline(),
        open_(name).readlines(),
        list(open_(name, "rb")),
        next(open_(name)),
        [open_(name).size(), open_(name, "r").mode, tf.io.gfile.GFile(name).read(2), tf.gfile.FastGFile(name).read(2)],
        tf.gfile.Open(name, mode="r").read(1),
    ]


@case(graph=False)
def reading_wrong(tf, sess, tmp):
    name = f"{_made(tmp)}/a.txt"
    open_ = tf.gfile.GFile
    return [
        outcome(open_, name, "x"),
        outcome(open_(f"{tmp}/z").read),
        outcome(open_(f"{tmp}/z").size),
        outcome(open_(tmp).read),
        outcome(open_(name).write, "x"),
        outcome(open_(f"{tmp}/w", "w").read),
        outcome(open_(name).seek, -1),
        outcome(open_(name).seek, 0, 7),
        outcome(open_(name).seek),
        outcome(open_(f"{tmp}/z/w", "w").write, "x"),
        outcome(open_(f"{tmp}/w", "w").write, 5),
    ]


@case(graph=False)
def writing(tf, sess, tmp):
    name = f"{tmp}/w.txt"
    results = []
    for mode, part in [("w", "a"), ("wb", b"a\0"), ("w", b"b"), ("wb", "é"), ("a", "zz"), ("ab", b"y"), ("w", "")]:
        with tf.gfile.GFile(name, mode) as file:
            result = file.write(part)
            file.flush()
            place = file.tell()
        with open(name, "rb") as read:
            results.append([mode, result, place, read.read()])
    return results


@case(graph=False)
def writer_that_writes_nothing_makes_no_file(tf, sess, tmp):
    tf.gfile.GFile(f"{tmp}/w", "w").close()
    return os.path.exists(f"{tmp}/w")


@case(graph=False)
def records(tf, sess, tmp):
    name = f"{tmp}/r.tfrecord"
    results = []
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    for one in (None, options, tf.io.TFRecordOptions("ZLIB")):
        with tf.python_io.TFRecordWriter(name, options=one) as writer:
            for record in (b"one", b"", b"three"):
                writer.write(record)
        results.append(list(tf.python_io.tf_record_iterator(name, options=one)))
    results.append(options.get_compression_type_string(options))
    return results


@case(graph=False)
def example_round_trip(tf, sess):
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "i": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, -2])),
                "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x\0y"])),
            }
        )
    )
    example.features.feature["f"].float_list.value.extend([0.5, 1])
    read = tf.train.Example.FromString(example.SerializeToString())
    feature = read.features.feature
    return [
        read == example,
        list(feature["i"].int64_list.value),
        feature["b"].bytes_list.value[0],
        feature["f"].float_list.value[:],
        feature["i"].WhichOneof("kind"),
        feature["f"].HasField("float_list"),
        sorted(feature),
        "z" in feature,
        example.SerializeToString(deterministic=True),
    ]


@case(graph=False)
def example_text(tf, sess):
    values = {
        "f": tf.train.Feature(float_list=tf.train.FloatList(value=[0.1, 1, 1e10, 1e-9, 100000, 123456789])),
    }
    text = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a\"'\0\xff\n\\?"]))
    return [str(tf.train.Example(features=tf.train.Features(feature=values))), str(text), str(tf.train.Example())]


@case(graph=False)
def sequence_example(tf, sess):
    sequence = tf.train.SequenceExample()
    sequence.context.feature["c"].int64_list.value.append(1)
    steps = sequence.feature_lists.feature_list["x"].feature
    steps.add().int64_list.value.append(3)
    steps.append(tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"q"])))
    steps.extend([tf.train.Feature()])
    read = tf.train.SequenceExample.FromString(sequence.SerializeToString())
    return [
        sequence.SerializeToString(),
        str(sequence),
        read == sequence,
        len(read.feature_lists.feature_list["x"].feature),
        sequence.HasField("context"),
        tf.train.SequenceExample().HasField("feature_lists"),
    ]


table(
    read_file=lambda tf, tmp: tf.read_file(f"{_made(tmp)}/a.txt"),
    read_file_name=lambda tf, tmp: tf.io.read_file(tf.constant(f"{_made(tmp)}/b.txt"), name="r"),
    read_file_vector=lambda tf: tf.read_file(["a"]),
    read_file_missing=(lambda tf, tmp: tf.read_file(f"{tmp}/a.txt"), "No such file or directory"),
    read_file_directory=lambda tf, tmp: tf.read_file(tmp),
    read_file_unknown_rank=lambda tf, tmp: tf.read_file(tf.placeholder_with_default(f"{_made(tmp)}/a.txt", None)),
    read_file_unknown_rank_vector=lambda tf, tmp: tf.read_file(
        tf.placeholder_with_default([f"{_made(tmp)}/a.txt"], None)
    ),
    read_file_of_number=lambda tf: tf.read_file(5),
    write_file_vector=lambda tf: tf.write_file(["a"], "b"),
    write_file_contents_vector=lambda tf: tf.write_file("a", ["b"]),
    write_file_number=lambda tf: tf.write_file("a", 5),
    write_file_directory=lambda tf, tmp: tf.write_file(tmp, "b"),
    matching_files_shape=lambda tf: tf.matching_files("/nowhere/*"),
    matching_files_matrix=lambda tf: tf.matching_files([["a"]]),
    matching_files_unknown_rank=lambda tf: tf.matching_files(tf.placeholder_with_default([["a"]], None)),
)
