"""Programs with flags and tf.app.run, in separate processes; and summaries without google-crc32c."""

import logging
import subprocess
import sys

import pytest

import pipeline.compat.v1 as tf

PROGRAM = """
import sys
import pipeline.compat.v1 as tf
tf.app.flags.DEFINE_integer("steps", 2, "how many")
FLAGS = tf.app.flags.FLAGS
def main(argv):
    print(FLAGS.steps, argv[1:])
    return 3
if __name__ == "__main__":
    tf.app.run()
"""
WITHOUT_RUN = """
import pipeline.compat.v1 as tf
tf.flags.DEFINE_integer("steps", 2, "how many")
print(tf.flags.FLAGS.steps)
"""


def run(program, *args):
    pytest.importorskip("absl")
    return subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=60)


def test_run_calls_main_and_exits_with_its_result():
    done = run(PROGRAM, "--steps=5", "--unknown=1", "file")
    assert (done.returncode, done.stdout) == (3, "5 ['--unknown=1', 'file']\n")


def test_run_ends_at_a_wrong_value():
    done = run(PROGRAM, "--steps=many")
    assert done.returncode == 1
    assert "flag --steps=many" in done.stderr


def test_run_shows_the_flags():
    done = run(PROGRAM, "--help")
    assert done.returncode == 1
    assert "--steps: how many" in done.stdout


def test_flags_are_read_when_the_first_is_asked_for():
    assert run(WITHOUT_RUN, "--steps=7").stdout == "7\n"
    done = run(WITHOUT_RUN, "--stepz=7")
    assert "UnrecognizedFlagError: Unknown command line flag 'stepz'. Did you mean: steps ?" in done.stderr


@pytest.mark.parametrize("line", ["tf.app.flags.DEFINE_string('a', '', '')", "tf.flags.FLAGS", "tf.app.run(print)"])
def test_the_extra_is_named(line):
    done = run(f"import sys; sys.modules['absl'] = None; import pipeline.compat.v1 as tf; {line}")
    assert "ImportError: tf.flags and tf.app.run need absl-py: pip install absl-py" in done.stderr


def test_eager_execution_is_not_there():
    import pipeline.compat.v1 as tf
    from pipeline.command.check import hint

    with pytest.raises(AttributeError, match=r"no `tf\.enable_eager_execution`.*see docs/migrate\.md"):
        tf.enable_eager_execution()
    assert "no eager mode" in hint("enable_eager_execution")


def test_lines_are_counted_each_by_itself(caplog):
    import pipeline.compat.v1 as tf

    for i in range(5):
        tf.logging.log_every_n(tf.logging.ERROR, "every %d", 2, i)
        tf.logging.log_first_n(tf.logging.ERROR, "first %d", 2, i)
    assert [each.getMessage() for each in caplog.records if each.name == "tensorflow"] == [
        "every 0",
        "first 0",
        "first 1",
        "every 2",
        "every 4",
    ]


def test_check_sums_without_google_crc32c():
    from pipeline.files.crc32c import crc_in_python

    assert crc_in_python(b"123456789") == 0xE3069283


def test_checkpoints_are_refused(tmp_path):
    import pipeline.compat.v1 as tf

    with pytest.raises(NotImplementedError, match="Checkpoints cannot be saved"):
        tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    (tmp_path / "checkpoint").write_text("model_checkpoint_path: 'x'")
    with tf.Graph().as_default():
        tf.train.create_global_step()
        with pytest.raises(NotImplementedError, match="has a checkpoint"):
            tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path))


LOGGING = {
    "log": lambda: tf.logging.log(tf.logging.ERROR, "text"),
    "info": lambda: tf.logging.info("text"),
    "warn": lambda: tf.logging.warn("text"),
    "fatal": lambda: tf.logging.fatal("text"),
    "vlog": lambda: tf.logging.vlog(tf.logging.INFO, "text"),
    "TaskLevelStatusMessage": lambda: tf.logging.TaskLevelStatusMessage("text"),
    "log_if": lambda: tf.logging.log_if(tf.logging.INFO, "text", True),
    "log_first_n": lambda: tf.logging.log_first_n(tf.logging.INFO, "text", 1),
    "log_every_n": lambda: tf.logging.log_every_n(tf.logging.INFO, "text", 2),
}


@pytest.mark.parametrize("name", LOGGING)
def test_records_name_the_line_of_the_program(name, caplog):
    with caplog.at_level(logging.INFO, "tensorflow"):
        LOGGING[name]()
    (record,) = caplog.records
    assert (record.filename, record.lineno) == ("test_app.py", LOGGING[name].__code__.co_firstlineno)
