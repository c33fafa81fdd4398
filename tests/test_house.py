"""The rules of the house: imports point down, importing is light, every public name is there."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sparsepath

SOURCE = Path(sparsepath.__file__).parent
# From the top down: a room may import what stands below it, and itself.
ROOMS = [
    ("cli",),
    ("report",),
    ("compare",),
    ("honest",),
    ("rls", "grafting", "rbf", "elm", "information", "lars"),
    ("path",),
    ("plots",),
    ("data",),
    ("files",),
    ("errors",),
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def modules():
    return [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if path.parent != SOURCE or path.stem != "__init__"
    ]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "sparsepath":
                names = [f"sparsepath.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("sparsepath."))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    here = room_of(path)
    assert here in LEVEL, f"{here} has no place in the list of rooms"
    for there in imported(path):
        if there in LEVEL and there != here:
            assert LEVEL[there] > LEVEL[here], f"{path.name} imports {there}"


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "code", ["import sparsepath", "from sparsepath import SelectionPath", "import sparsepath.cli"]
)
def test_importing_is_light(code):
    heavy = {"matplotlib", "numba", "dask", "pandas", "sklearn", "pyarrow", "polars"}
    assert not loaded_by(code) & heavy


def test_a_common_fit_waits_for_no_compiler():
    code = (
        "import numpy as np\nfrom sparsepath import SparseRLSRegressor\n"
        "X = np.random.default_rng(0).standard_normal((200, 20))\n"
        "SparseRLSRegressor(5).fit(X, X[:, 0] + 0.1 * X[:, 1])"
    )
    assert not loaded_by(code) & {"numba", "matplotlib", "dask"}


@pytest.mark.parametrize("name", sparsepath.__all__)
def test_public_names_are_there(name):
    assert getattr(sparsepath, name).__doc__


def test_what_is_listed_is_what_is_typed():
    tree = ast.parse((SOURCE / "__init__.py").read_text("utf-8"))
    typed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sparsepath")
        for alias in node.names
    }
    assert typed == set(sparsepath.__all__) == set(sparsepath._HOMES)


@pytest.mark.parametrize("name", [n for n in sparsepath.__all__ if n[0].isupper()])
def test_estimators_document_every_parameter(name):
    thing = getattr(sparsepath, name)
    if not hasattr(thing, "get_params"):
        return
    for parameter in inspect.signature(thing).parameters:
        assert parameter in thing.__doc__, f"{name} says nothing of {parameter}"


def test_slow_twins_know_nothing_of_the_package():
    for path in (Path(__file__).parent / "slow_twins").glob("*.py"):
        if path.stem.startswith("test_"):
            continue
        assert not list(imported(path)), path.name
        assert "sparsepath" not in path.read_text("utf-8"), path.name


def test_modules_import_one_by_one():
    for path in modules():
        if path.stem in ("__main__", "__init__"):
            continue
        dotted = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        importlib.import_module(dotted)
