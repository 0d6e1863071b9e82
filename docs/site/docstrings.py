"""Our docstrings as reStructuredText. Napoleon handles Google's sections; this module handles the rest.

- `name` is a link if it is a public name, else code; ``` and indented blocks after a paragraph are code
- the text in "Returns:" and "Raises:" is no type, even with colons in it
- "Thread safety:" begins a separate paragraph
"""

import inspect
import re
from pathlib import Path

import pipeline

# Public names as docstrings write them, with the names of their pages.
NAMES = {name: f"pipeline.{name}" for name in pipeline.__all__}
for module in ("errors", "image", "proto", "testing", "types"):
    for name in getattr(pipeline, module).__all__:
        NAMES |= dict.fromkeys((name, f"{module}.{name}"), f"pipeline.{module}.{name}")
NAMES |= {name: name for name in NAMES.values()}
NAMES |= {f"cluster.{name}": f"pipeline.cluster.{name}" for name in pipeline.cluster.__all__}
NAMES |= {f"torch.{name}": f"pipeline.torch.{name}" for name in ("DataLoader", "IterableDataset", "dataset", "shard")}
NAMES |= {f"torch.{name}": f"pipeline.torch.{name}" for name in ("StatefulDataLoader", "StatefulDistributedSampler")}
NAMES |= {name: f"pipeline.{name}" for name in ("torch.to_tensors", "jax.DataLoader", "keras.PyDataset")}
# Related names, listed below "See Also" unless the docstring has this section. By default they are those in the same
# docs/api list. Exceptions: a line without a colon lists names that refer to each other, one with a colon the
# references from a single name.
RELATED = """
arrays arrow dataset
huggingface grain tf_data torch.dataset
processes threads cluster.workers
mix zip interleave
write_tokens: tokens
save_state load_state example_rng set_random_seed
testing.check_resume testing.check_source testing.CheckFailed testing.Checked
report monitor trace draw MetricsCollector
FixedLenFeature FixedLenSequenceFeature VarLenFeature parse_example
decode_csv decode_raw parse_example parse_single_example
image.decode_image image.decode_jpeg image.decode_png image.decode_gif image.decode_bmp
image.encode_jpeg image.encode_png
proto.Example proto.Features proto.Feature proto.BytesList proto.FloatList proto.Int64List
proto.SequenceExample proto.FeatureLists proto.FeatureList
jax.DataLoader: torch.DataLoader keras.PyDataset
torch.StatefulDataLoader: torch.DataLoader torch.StatefulDistributedSampler
torch.StatefulDistributedSampler: torch.StatefulDataLoader
keras.PyDataset: torch.DataLoader jax.DataLoader
types.DatasetIterator: Dataset save_state load_state
Dataset: dataset mix zip interleave types.DatasetIterator
replay: types.ReplayBuffer
types.ReplayBuffer: replay
types.QueueBase: FIFOQueue RandomShuffleQueue types.QueueStats
types.QueueStats: FIFOQueue types.QueueBase
types.ReaderBase: TextLineReader TFRecordReader
types.Drawing: draw
types.LooperThread: Coordinator QueueRunner
types.SparseTensorValue: VarLenFeature parse_example
types.TFRecordOptions: types.TFRecordCompressionType TFRecordWriter tfrecord
types.TFRecordCompressionType: types.TFRecordOptions
TFRecordWriter: tfrecord TFRecordReader proto.Example
show_config: report
errors.OpError: errors.InvalidArgumentError errors.OutOfRangeError
errors.OutOfRangeError: errors.CancelledError errors.DeadlineExceededError
errors.CancelledError: errors.OutOfRangeError errors.AbortedError
errors.DeadlineExceededError: errors.UnavailableError errors.AbortedError
errors.InvalidArgumentError: errors.StateMismatchError errors.FailedPreconditionError
errors.FailedPreconditionError: errors.InvalidArgumentError errors.StateMismatchError
errors.StateMismatchError: errors.FailedPreconditionError save_state
errors.DataLossError: errors.NotFoundError errors.ResourceExhaustedError
errors.ResourceExhaustedError: errors.DataLossError
errors.NotFoundError: errors.PermissionDeniedError errors.DataLossError
errors.PermissionDeniedError: errors.NotFoundError
errors.AbortedError: errors.UnavailableError errors.CancelledError
errors.AlreadyExistsError: errors.NotFoundError
errors.UnavailableError: errors.AbortedError
errors.UnimplementedError: errors.FailedPreconditionError
"""


def _lists():
    """Yield the lists in docs/api."""
    for page in sorted((Path(__file__).parents[1] / "api").glob("*.md")):
        for part in page.read_text().split(".. currentmodule:: ")[1:]:
            module = part.split()[0].removeprefix("pipeline").removeprefix(".")
            yield [f"{module}.{name}" if module else name for name in re.findall(r"^   (\w+)$", part, re.MULTILINE)]


SEE: dict[str, list[str]] = {}
for _names in _lists():
    SEE |= {name: [each for each in _names if each != name] for name in _names}
for _names in map(str.split, RELATED.split("\n")):
    SEE |= {name: [each for each in _names if each != name] for name in _names if ":" not in _names[0]}
SEE |= {name: others.split() for name, others in re.findall(r"^([\w.]+): (.*)$", RELATED, re.MULTILINE)}
CODE = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)|([*|]|(?<=\w)_(?!\w))")


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")  # with the event
    app.connect("autodoc-process-docstring", convert, priority=400)  # napoleon has 500
    app.connect("autodoc-process-signature", _without_internal_constructor)
    app.connect("env-updated", _leave_out_compiled)
    return {"parallel_read_safe": True}


def convert(app, what, name, thing, options, lines):
    """Change a docstring's lines in place."""
    if what == "class" and _is_made_by_others(thing):  # readers need only "Use `...`." from the constructor
        del lines[next((i for i, line in enumerate(lines, 1) if line.startswith("Use `")), len(lines)) :]
    if what in ("class", "function") and not any(line.startswith("See Also") for line in lines):
        public = name.removeprefix("pipeline.")
        others = SEE.get(public)
        lines += ["", "See Also:", f"    {', '.join(f'`{each}`' for each in others)}"] if others else []
    own = {name.rpartition(".")[2], *_parameters(thing)}  # a page has no links to itself
    lines[:] = _sections(_words(_blocks(lines), {name: NAMES[name] for name in NAMES if name not in own}))
    if what in ("attribute", "property") and lines:
        lines[:1] = _without_type(lines[0])


def _is_made_by_others(thing):
    """Return whether a class has an internal constructor, because a function makes its objects."""
    return (inspect.getdoc(thing.__init__) or "").startswith("Use `")


def _without_internal_constructor(app, what, name, thing, options, signature, returns):
    """Leave out an internal constructor's arguments."""
    return ("", None) if what == "class" and _is_made_by_others(thing) else None


def _leave_out_compiled(app, env):
    """Drop compiled modules: the list of sources links to each requested module, but these have no page."""
    modules = getattr(env, "_viewcode_modules", {})
    for name in [name for name, entry in modules.items() if not entry]:
        del modules[name]


def _parameters(thing):
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):  # not a function, or one without a signature
        return ()


def _indent(line):
    return len(line) - len(line.lstrip())


def _blocks(lines):
    """Turn fences into directives, and end the paragraph before an indented block with two colons."""
    out, inside = [], False
    for index, line in enumerate(lines):
        if line.strip() == "```":
            inside = not inside
            out += [" " * _indent(line) + ".. code-block:: python", ""] if inside else [""]
        elif inside:
            out.append(f"    {line}" if line else line)
        else:
            after = lines[index + 1 : index + 3]
            opens = line and len(after) == 2 and not after[0] and _indent(after[1]) > _indent(line)
            if opens and line.endswith(":"):
                line += ":"
            out.append(line)
            if opens and not line.startswith((" ", "-")) and not line.endswith("::"):
                out += ["", "::"]
    return out


def _sections(lines):
    out = []
    for line in lines:
        before = out[-1] if out else ""
        if before == "Returns:" and line.strip():
            out += [f"    {part}" for part in _without_type(line.strip())]
        elif line.startswith("Thread safety: "):
            out += ["", line.replace("Thread safety:", "**Thread safety:**", 1)]
        else:
            out.append(line)
    return out


def _without_type(line):
    """Split the text in two lines: napoleon treats the text before a first-line colon as a type."""
    first, _, rest = line.partition(" ")
    return [first, rest] if rest else [line]


def _words(lines, names):

    def replace(match):
        """Return a name as code, or escape a special character."""
        text = match[1]
        if not text:
            return f"\\{match[2]}"
        name = text.removesuffix("()")
        return f":py:obj:`{text} <{names[name]}>`" if name in names else f"``{text}``"

    out, code = [], None  # indentation of the line that begins the code
    for line in lines:
        if code is not None and line.strip() and _indent(line) <= code:
            code = None
        if code is None:
            out.append(line if line.lstrip().startswith((">>>", "...")) else CODE.sub(replace, line))
            if line.endswith("::") or line.lstrip().startswith(".. code-block::"):
                code = _indent(line)
        else:
            out.append(line)
    return out
