"""The README keeps its promises on a plain installation, and wherever it is shown."""

import inspect
import pydoc
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


def links(text):
    return re.findall(r"[^\"]\]\(([^)#\s]+)[^)]*\)", text)


@pytest.mark.parametrize("repository", ["", "https://example.org/of/sparsepath"])
def test_on_the_page_of_a_package_index_there_is_nothing_beside_it(repository):
    from tools.readme import text

    shown = text(README.read_text("utf-8"), repository, "0.1.0")
    assert all(link.startswith("https://") for link in links(shown))
    assert bool(links(shown)) == bool(repository)
    assert "Which one?" in shown


def test_links_lead_somewhere():
    pages = [*README.parent.glob("*.md"), *README.parent.glob("docs/**/*.md")]
    for page in pages:
        for link in links(page.read_text("utf-8")):
            made = link.startswith("https://") or re.search("api/|gallery/", link)  # by Sphinx
            assert made or (page.parent / link).exists(), (page.name, link)


def test_every_name_is_on_the_page_of_the_api():
    import sparsepath

    page = README.parent.joinpath("docs", "api", "index.rst").read_text("utf-8").split()
    assert set(sparsepath.__all__) <= set(page)


def test_docstrings_are_written_out():
    """Help, editors and static tools see every parameter, its type and its default."""
    import sparsepath
    from sparsepath.system.docstrings import entries

    for name in sparsepath.__all__:
        value = getattr(sparsepath, name)
        text = pydoc.plain(pydoc.render_doc(value))
        own = text.split("inherited from sklearn")[0]
        assert not re.search("as (for|of) (the )?(``|:|estimator)", own, re.IGNORECASE), name
        if not hasattr(value, "fit"):
            continue
        known = entries(value.__doc__)
        for parameter, found in inspect.signature(value).parameters.items():
            kind, words = known[parameter]
            assert kind, (name, parameter, "has no type")
            assert words, (name, parameter, "has no text")
            if "default=" in kind and kind.count(",") < 3 and isinstance(found.default, int):
                assert repr(found.default) in kind, (name, parameter, kind)
