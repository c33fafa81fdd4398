"""The README keeps its promises on a plain installation, and wherever it is shown."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"

# As if these were not installed.
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def python(program, names):
    code = WITHOUT.format(names=set(names)) + program
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_the_examples_need_no_data_frames():
    program = f"""
import doctest
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
print(doctest.testfile({str(README)!r}, module_relative=False, optionflags=flags))
assert not {{"pandas", "polars"}} & set(sys.modules)
"""
    done = python(program, ["pandas", "polars"])
    assert done.returncode == 0, done.stderr
    assert re.search(r"TestResults\(failed=0, attempted=[1-9]", done.stdout), done.stdout


@pytest.mark.parametrize(
    ("missing", "make"),
    [([], "pandas"), (["pandas"], "polars"), (["pandas", "polars"], "pyarrow")],
)
def test_a_table_is_of_a_make_that_is_installed(missing, make):
    for name in {"pandas", "polars"}.difference(missing):
        pytest.importorskip(name)
    program = """
from sparsepath import PathComparison, SelectionPath, Step
from sparsepath.rls.surface import Surface
path = SelectionPath([Step((), 2.0), Step((0,), 1.0)], n_features=1)
for frame in (path, Surface({1.0: path}), PathComparison({"a": path}, {"a": path})):
    table = frame.to_frame()
    print(type(table).__module__.partition(".")[0], *table["error"].to_pylist()
          if hasattr(table["error"], "to_pylist") else list(table["error"]))
"""
    done = python(program, missing)
    assert done.stdout.splitlines() == [f"{make} 2.0 1.0"] * 3, done.stderr


def test_links_are_not_to_files_beside_it():
    """On the page of a package index there is nothing beside it."""
    assert [
        link
        for link in re.findall(r"\]\(([^)]*)\)", README.read_text("utf-8"))
        if not link.startswith("https://")
    ] == []


def test_pages_that_it_names_are_there():
    named = re.findall(r"`((?:docs/|CONTRIBUTING)[^`]*)`", README.read_text("utf-8"))
    assert len(named) > 5
    assert [page for page in named if not (README.parent / page.replace("...", "")).exists()] == []


def test_links_between_pages_lead_somewhere():
    docs = README.parent / "docs"
    for page in docs.rglob("*.md"):
        for link in re.findall(r"\w\]\(([^)#\s]+\.\w+)[^)]*\)", page.read_text("utf-8")):
            assert link.startswith("https://") or (page.parent / link).exists(), (page.name, link)
    index = (docs / "index.md").read_text("utf-8")
    for page in docs.rglob("*.md"):
        assert page.name == "index.md" or str(page.relative_to(docs)).replace("\\", "/") in index
