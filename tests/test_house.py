"""The order of the house: imports point down, importing is light, public names are documented."""

import ast
import functools
import graphlib
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sparsepath
from docstrings import documented

SOURCE = Path(sparsepath.__file__).parent

# Imports point down this list only (a line may hold rooms that do not know each other).
LAYERS = [
    ["__main__"],
    ["cli"],
    ["report"],
    ["methods", "baselines"],
    ["rls", "grafting", "rbf", "kernel_machines", "elm", "information", "lars"],
    ["base"],
    ["assessment"],
    ["path"],
    ["models"],
    ["data"],
    ["tables"],
    ["system"],
    ["errors"],
    ["_core"],  # compiled
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(module):
    """The room of a dotted name below the package; the package itself is its own."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "sparsepath"


def dotted(file):
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def nodes(file):
    """Everything that a file writes."""
    return list(ast.walk(ast.parse(file.read_text("utf-8"))))


def imported(file, names=()):
    """The modules of the package that a file imports, anywhere in it, with line numbers.

    Of ``from room import module`` the module, if it is one of the names.
    """
    for node in nodes(file):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "sparsepath":
                    yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            if node.module == "sparsepath":
                for alias in node.names:
                    yield f"sparsepath.{alias.name}", node.lineno
            elif (node.module or "").split(".")[0] == "sparsepath":
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    yield whole if whole in names else node.module, node.lineno


def test_every_room_has_its_place():
    rooms = {room_of(dotted(file)) for file in MODULES} - {"sparsepath"}
    assert rooms <= set(LEVEL), f"not in the list of layers: {sorted(rooms - set(LEVEL))}"


@pytest.mark.parametrize("file", MODULES, ids=dotted)
def test_imports_point_down(file):
    here = room_of(dotted(file))
    if here == "sparsepath":
        return
    for module, line in imported(file):
        there = room_of(module)
        if there not in LEVEL:  # a public name of the package, from the package itself
            assert here == "cli", f"{file.name}:{line} imports {module} from above"
            continue
        assert there == here or LEVEL[there] > LEVEL[here], f"{file.name}:{line} imports {module}"


def test_modules_import_one_by_one():
    for file in MODULES:
        if file.stem != "__main__":
            importlib.import_module(dotted(file))


def test_slow_twins_know_nothing_of_the_package():
    for file in (Path(__file__).parent / "slow_twins").glob("*.py"):
        if not file.stem.startswith("test_"):
            assert "sparsepath" not in file.read_text("utf-8"), file.name


def test_there_is_no_attic():
    for file in MODULES:
        assert not {"utils", "helpers", "misc", "common"} & set(file.with_suffix("").parts[-2:])


# What is done in one place only: the modules that may write it.
ONCE = {
    r"except \(?[^:]*KeyboardInterrupt|raise KeyboardInterrupt": (
        "base.",
        "system.interrupts",
        "cli",
        "__main__",
    ),
    r"(?m)^(?!\s*(>>>|\.\.\.|class )).*\bSelectionPath\(": ("base.run",),
    r"sklearn\.callback import": ("base.callbacks",),
    r"warnings\.warn\(": ("errors",),  # at the user's line
}


@pytest.mark.parametrize("pattern", ONCE)
def test_the_life_of_a_fit_is_written_once(pattern):
    for file in MODULES:
        if re.search(pattern, file.read_text("utf-8")):
            name = dotted(file).removeprefix("sparsepath.")
            assert name.startswith(ONCE[pattern]), file


def test_names_of_classes_are_unique():
    homes = {}
    for file in MODULES:
        for node in nodes(file):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, set()).add(dotted(file))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_import_leads_back():
    """No cycle between modules, counting imports within functions and for type checkers.

    A room's own ``__init__`` only gathers names for those outside, and is left out.
    """
    names = {dotted(file) for file in MODULES}
    for file in MODULES:
        own = {
            ".".join(parts[:i]) for parts in [dotted(file).split(".")] for i in range(len(parts))
        }
        if file.name != "__init__.py":
            assert not own & {module for module, _ in imported(file, names)}, file
    known = {
        dotted(file): {module for module, _ in imported(file, names)}
        for file in MODULES
        if file.name != "__init__.py"
    }
    order = graphlib.TopologicalSorter(
        {name: wanted & set(known) for name, wanted in known.items()}
    )
    order.prepare()  # raises CycleError, which names the modules


def test_sources_are_named_by_author_and_year():
    root = SOURCE.parents[1]
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "changes").glob("*.md")]
    for page in [*MODULES, *pages]:
        assert not re.search(r"(?i)papers? 00\d", page.read_text("utf-8")), page


def modules_after(program):
    """The top-level modules that a fresh interpreter has loaded after the program."""
    tell = "\nimport sys\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", program + tell], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


HEAVY = {"matplotlib", "dask", "pandas", "polars", "sklearn", "pyarrow"}


@pytest.mark.parametrize(
    "program",
    [
        "import sparsepath",
        "from sparsepath import SelectionPath, Step, InputError",
        "import sparsepath; dir(sparsepath); sparsepath.__version__",
        "import sparsepath.cli",
        "import sparsepath.methods",
    ],
)
def test_importing_is_light(program):
    assert not HEAVY & modules_after(program)


FIT = """
import numpy as np
from sparsepath import ELMFSRegressor, LarsSelector, MutualInfoSelector
from sparsepath import SparseRLSClassifier, SparseRLSRegressor
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 5))
for options in ({}, {"search": "floating"}, {"cv": 3}, {"alpha": "loo"}):
    SparseRLSRegressor(3, **options).fit(X, X[:, 0] + X[:, 1] ** 2).predict(X)
    SparseRLSClassifier(3, **options).fit(X, X[:, 0] > 0).predict(X)
X = rng.standard_normal((300, 30))
for search in ("forward", "floating", "backward", "swap"):
    SparseRLSRegressor(5, search=search).fit(X, X[:, 0] + rng.standard_normal(300))
"""


def test_rooms_and_fits_of_small_problems_wait_for_no_compiler():
    loaded = modules_after(FIT)
    assert "sklearn" in loaded
    assert not {"matplotlib", "dask"} & loaded


def test_public_names_resolve():
    assert len(set(sparsepath.__all__)) == len(sparsepath.__all__)
    for name in sparsepath.__all__:
        value = getattr(sparsepath, name)
        assert value.__module__.split(".")[0] == "sparsepath", name
        assert value.__doc__, name
        assert name in dir(sparsepath)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sparsepath.nothing  # noqa: B018


def test_names_of_rooms_resolve():
    for file in MODULES:
        if file.name == "__init__.py" and file.parent != SOURCE:
            room = importlib.import_module(dotted(file))
            for name in getattr(room, "__all__", ()):
                assert getattr(room, name) is not None


def test_type_checkers_see_the_same_names():
    tree = ast.parse((SOURCE / "__init__.py").read_text("utf-8"))
    for_checkers = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for statement in node.body
        for alias in statement.names
    }
    names = {*sparsepath.__all__, "open"}  # which a star import does not take
    assert for_checkers - {"Any"} == names == set(sparsepath._HOMES)


# --- documented parameters ------------------------------------------------------------------------


def given(function):
    """The parameters of a signature, without self."""
    return [
        name
        for name in inspect.signature(function).parameters
        if name not in ("self", "cls", "args", "kwargs")
    ]


CLASSES = [
    getattr(sparsepath, name)
    for name in sparsepath.__all__
    if inspect.isclass(getattr(sparsepath, name)) and hasattr(getattr(sparsepath, name), "fit")
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_estimators_document_their_parameters(cls):
    names = documented(cls.__doc__, "Parameters")
    assert len(names) == len(set(names)), "a parameter is explained twice"
    assert set(names) == set(given(cls.__init__))
    assert documented(cls.__doc__, "Attributes")
    assert "Examples\n" in inspect.cleandoc(cls.__doc__)


PUBLIC_CLASSES = [
    getattr(sparsepath, name)
    for name in sparsepath.__all__
    if inspect.isclass(getattr(sparsepath, name))
]


@pytest.mark.parametrize("cls", PUBLIC_CLASSES, ids=lambda cls: cls.__name__)
def test_methods_document_their_parameters(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        home = getattr(method, "__module__", "") or ""
        if name.startswith("_") or not home.startswith("sparsepath"):
            continue
        assert method.__doc__, f"{cls.__name__}.{name} has no docstring"
        names = documented(method.__doc__, "Parameters")
        if names or set(given(method)) - {"X"} or not hasattr(cls, "fit"):
            assert set(names) == set(given(method)), f"{cls.__name__}.{name}"


FUNCTIONS = [
    getattr(sparsepath, name)
    for name in sparsepath.__all__
    if inspect.isfunction(getattr(sparsepath, name))
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_document_their_parameters(function):
    assert set(documented(function.__doc__, "Parameters")) == set(given(function))


def test_every_package_has_a_design_page_that_lists_its_modules():
    pages = SOURCE.parent.parent / "docs" / "design"
    for package in sorted(file.parent.name for file in SOURCE.glob("*/__init__.py")):
        assert f"{{modules}} {package}\n" in (pages / f"{package}.md").read_text("utf-8"), package


def test_every_module_begins_with_one_sentence():
    for file in SOURCE.rglob("*.py"):
        text = ast.get_docstring(ast.parse(file.read_text("utf-8")))
        assert text, file
        assert text.split("\n\n")[0].endswith("."), file


def test_what_depends_on_the_machine_is_set_in_one_record():
    """No constant of a module is patched by a name that the record of tuning has for it."""
    patched = re.compile(r'setattr\(\s*(?:"sparsepath[\w.]*\.|\w+, ")([A-Z][A-Z_]+)"')
    machine = re.compile(r"FROM$|NUMBERS$|BATCH$|BYTES$|STRIP|TILE|BLOCK")
    for file in sorted(Path(__file__).parent.rglob("test_*.py")):
        for match in patched.finditer(file.read_text("utf-8")):
            name = match.group(1)
            assert not machine.search(name), f"{file.name}: {name}; use TUNING"
