"""Compile pyx/_*.pyx into extension modules of the `pipeline` package."""

import os

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODULES = [
    "_batch",
    "_block",
    "_calls",
    "_csv",
    "_lines",
    "_meter",
    "_queue",
    "_ragged",
    "_random",
    "_replay",
    "_rows",
    "_steps",
]
IMAGES = ["_chain", "_colour", "_crops", "_resize"]
# Products and sums are rounded separately on every processor; a loop may divide by zero if the result is unused.
EXACT = ["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"]
JOBS = os.cpu_count() or 1
LINES = "PIPELINE_LINES" in os.environ  # pyx line numbers for debuggers and sanitizers
BOUNDS = "PIPELINE_BOUNDS" in os.environ  # check every memoryview and span index; see `make bounds`
TRACE = "PIPELINE_TRACE" in os.environ  # line coverage: its plugin needs the C++ next to the .pyx
MACROS = [
    ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_1_22_API_VERSION"),  # for its allocators, otherwise hidden in NumPy 2.0
    ("PIPELINE_NUMPY", f'"{numpy.__version__}"'),  # for pipeline.show_config()
]
if BOUNDS:
    MACROS += [("PIPELINE_BOUNDS", "1")]
if TRACE:
    MACROS += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")]

EXTENSIONS = [
    Extension(
        f"pipeline.{name}",
        [f"pyx/{name}.pyx"],
        language="c++",
        include_dirs=[numpy.get_include(), "pyx"],
        define_macros=MACROS,
        depends=["pyx/antialias.h", "pyx/region.h"] if name == "_crops" else [],
        extra_compile_args=["-std=c++17", "-g" if LINES else "-g0", *(EXACT if name in IMAGES else [])],
    )
    for name in MODULES + IMAGES
]


class Build(build_ext):
    """Writes the C++ only to compile it: an sdist and the metadata do without, and take a minute less."""

    def run(self):
        made = cythonize(
            self.extensions,
            # NumPy's declarations are part of the C++: code generated with one version may not compile with another.
            build_dir=None if TRACE else f"build/numpy-{numpy.__version__}",
            nthreads=JOBS,
            emit_linenums=LINES,
            compiler_directives={
                "language_level": 3,
                "boundscheck": BOUNDS or TRACE,
                "wraparound": False,
                "initializedcheck": BOUNDS,
                "cdivision": True,
                "freethreading_compatible": True,
                "autotestdict": False,
                "auto_pickle": False,
                "linetrace": TRACE,
            },
        )
        sources = {each.name: each.sources for each in made}
        for each in self.extensions:
            each.sources = sources[each.name]
        super().run()


setup(ext_modules=EXTENSIONS, cmdclass={"build_ext": Build}, options={"build_ext": {"parallel": JOBS}})
