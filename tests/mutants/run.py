"""Mutation testing: changes one operator, number or condition of the core at a time, and runs the tests of its file.

    make mutants MUTANTS=200 SEED=7

A change that no test notices survives. It gets a test, or a line in `equivalent.py`, or the code goes. Cosmic Ray makes
the mutants. They run in a copy of the tree, one at a time; `tests_of.py` names the tests of each file.
"""

import argparse
import ast
import contextlib
import difflib
import functools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from mutants import equivalent, tests_of

ROOT = Path(__file__).parents[2]
COPY = ROOT / "build" / "mutants"
MOST_SECONDS = 900  # of one mutant; a test that hangs ends sooner
FOR_TYPES = {"overload", "override", "abstractmethod", "final"}


BINARY = (
    "Add_Sub Sub_Add Mul_Div Div_Mul Mul_FloorDiv FloorDiv_Mul Mod_FloorDiv Pow_Mul LShift_RShift RShift_LShift "
    "BitAnd_BitOr BitOr_BitAnd BitXor_BitAnd"
)
COMPARISONS = "Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt"
UNARY = "Delete_USub Delete_Not Delete_Invert"


class Mutant(NamedTuple):
    """A file with one change."""

    path: str  # from the root
    line: int
    before: str  # the changed lines, stripped
    after: str
    source: str

    @property
    def diff(self):
        return f"{self.path}:{self.line}\n    - {self.before}\n    + {self.after}"


class Code(ast.NodeTransformer):
    """Drop code that does not run: annotations, and decorators and blocks for type checkers."""

    def visit_AnnAssign(self, node):
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arguments(self, node):
        """Positional and keyword arguments alike: the list of public names has the difference."""
        node.args, node.posonlyargs = [*node.posonlyargs, *node.args, *node.kwonlyargs], []
        node.defaults, node.kwonlyargs, node.kw_defaults = [*node.defaults, *node.kw_defaults], [], []
        return self.generic_visit(node)

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        node.returns = None
        node.decorator_list = [
            each for each in node.decorator_list if ast.unparse(each).split(".")[-1] not in FOR_TYPES
        ]
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_If(self, node):
        return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)


@functools.lru_cache(2)
def code(source):
    """Return a source's executable part, as text."""
    return ast.dump(Code().visit(ast.parse(source)))


@functools.cache
def operators():
    """Return Cosmic Ray's mutations by name.

    Operators become their opposite or nearest neighbour. Others, such as ** for +, fail anywhere, and `is` for == makes
    no difference for small numbers.
    """
    kinds = {"Binary": BINARY, "Comparison": COMPARISONS, "Unary": UNARY}
    replaced = {f"Replace{kind}Operator_{each}" for kind, pairs in kinds.items() for each in pairs.split()}
    classes = {name: get_operator(name) for name in sorted(operator_names())}
    return {
        name: each()
        for name, each in classes.items()
        if not each.arguments() and (("Operator_" not in name) or name.partition("/")[2] in replaced)
    }


def places(path):
    """Return a file's mutable places: a list of (operator, occurrence) for each."""
    nodes = list(ast_nodes(get_ast((ROOT / path).read_text())))
    found = defaultdict(list)
    for name, operator in operators().items():
        positions = (each for node in nodes for each in operator.mutation_positions(node))
        for occurrence, (start, _) in enumerate(positions):
            found[start].append((name, occurrence))
    return [found[start] for start in sorted(found)]


def mutant(path, name, occurrence):
    """Return one mutant of a file; None if it would run as before, or not at all."""
    before = (ROOT / path).read_text()
    after = mutate_code(before, operators()[name], occurrence)
    try:
        if code(after) == code(before):
            return None
    except SyntaxError:  # such as / for the * before keyword arguments
        return None
    old, new = before.splitlines(), after.splitlines()
    blocks = [each for each in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if each[0] != "equal"]
    first, last = blocks[0], blocks[-1]
    return Mutant(path, first[1] + 1, text(old[first[1] : last[2]]), text(new[first[3] : last[4]]), after)


def text(lines):
    """Join lines into one, without the spaces left by mutations."""
    return re.sub(r"([(\[]) ", r"\1", " ".join(" ".join(lines).split()))


def sample(paths, count, seed):
    """Draw mutants: places first, with equal chances, then one of the mutations of the place."""
    rng = random.Random(seed)
    everywhere = [(path, place) for path in paths for place in places(path)]
    rng.shuffle(everywhere)
    drawn = []
    for path, place in everywhere:
        if len(drawn) == count:
            break
        each = mutant(path, *rng.choice(place))
        if each is not None:
            drawn.append(each)
    return drawn


def copied():
    """Copy the tree for the mutants, including its compiled modules."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    compiled = [path.relative_to(ROOT).as_posix() for path in (ROOT / "pipeline").glob("*.so")]
    shutil.rmtree(COPY, ignore_errors=True)
    for name in [*listed.stdout.splitlines(), *compiled]:
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def tested(python, tests):
    """Run tests in the copy; return whether all passed, and a line that tells which failed."""
    command = [python, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-p", "no:benchmark", "--no-header", "--tb=no"]
    command += ["-m", "not slow", "-o", "faulthandler_timeout=60", *(f"tests/{each}" for each in tests)]
    environment = os.environ | {"PYTHONPATH": str(COPY), "CHAINS": "15"}
    process = subprocess.Popen(
        command,
        cwd=COPY,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        output = "timed out"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "Timeout"))]
    return process.returncode == 0, (failed or output.strip().splitlines() or [""])[-1][:120]


def judged(number, each, python):
    """Return a mutant's fate, and the reason."""
    why = equivalent.EQUIVALENT.get((each.path, each.before, each.after))
    if why is not None:
        return "equivalent", why
    file = COPY / each.path
    file.write_text(each.source)
    os.utime(file, (number, number))  # or Python could load another mutant's bytecode with the same time and length
    try:
        survived, told = tested(python, tests_of.tests_of(each.path))
    finally:
        shutil.copy2(ROOT / each.path, file)
    return ("survived", "") if survived else ("killed", told)


def main():
    """Run a sample of mutants; the exit status is 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("mutants", type=int, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the tests")
    parser.add_argument("--only", default="", help="part of the paths of the files to change")
    parser.add_argument("--trusted", action="store_true", help="do not run the tests without a change first")
    options = parser.parse_args()
    paths = [path for path in tests_of.files(ROOT) if options.only in path]
    drawn = sample(paths, options.mutants, options.seed)
    copied()
    needed = list(dict.fromkeys(test for each in drawn for test in tests_of.tests_of(each.path)))
    if not options.trusted:
        passed, told = tested(options.python, needed)
        if not passed:
            sys.exit(f"without any change the tests fail: {told}")
    outcomes = Counter()
    survivors = []
    for number, each in enumerate(drawn, 1):
        outcome, told = judged(number, each, options.python)
        outcomes[outcome] += 1
        survivors += [each] if outcome == "survived" else []
        print(f"{number}/{len(drawn)} {outcome}: {each.diff}\n    {told}", flush=True)
    print(f"\n{dict(outcomes)}; seed {options.seed}")
    print("\n\n".join(["", *(each.diff for each in survivors)]))
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
