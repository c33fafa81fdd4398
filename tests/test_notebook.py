"""What notebooks show of a path and of a comparison."""

import re
import sys
import types
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from sparsepath import LarsSelector, SparseRLSRegressor, compare

BAD = ["<script>alert(1)</script>", "a & b", '"quoted"', "plain"]


def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    return X, X @ [3, 2, 1, 0] + rng.standard_normal(50)


def read(html):
    """As XML, which it is too; so that nothing is left open."""
    assert "<script" not in html
    assert "http" not in html, "nothing is fetched"
    assert not re.search(r"#(?:000|fff)|black|white", html), "light and dark alike"
    return ET.fromstring(html)


def test_a_path():
    import pandas as pd

    X, y = problem()
    path = SparseRLSRegressor(validation=3).fit(pd.DataFrame(X, columns=BAD), y).path_
    root = read(path._repr_html_())
    rows = [[cell.text or "" for cell in row] for row in root.iter("tr")]
    assert rows[0] == ["size", "error", "enters"]
    assert [row[0] for row in rows[1:]] == list(map(str, path.sizes))
    assert [row[2] for row in rows[2:]] == [BAD[i] for i in path.subset(4)]
    assert float(rows[3][1]) == float(f"{path.honest_error(2):.5g}")
    assert len(list(root.iter("polyline"))) == 2


def test_a_long_path_is_shortened():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 40))
    path = SparseRLSRegressor(30, validation=None).fit(X, X[:, 0]).path_
    rows = list(read(path._repr_html_()).iter("tr"))
    assert len(rows) <= 17
    assert len(path._repr_html_()) < 8000


def test_a_comparison():
    import pandas as pd

    X, y = problem()
    found = compare(
        {"<b>": SparseRLSRegressor(), "lars": LarsSelector()},
        pd.DataFrame(X, columns=BAD),
        y,
        validation=3,
    )
    root = read(found._repr_html_())
    names = [row[0].text for row in root.iter("tr")][1:]
    assert names == [one.name for one in found.contestants]
    assert len(list(root.iter("polyline"))) == 2
    assert repr(found).startswith("<Comparison by RMSE on new data: ")


class Shell:
    """What a notebook's kernel has of IPython; ``cell`` runs a cell and returns what it shows."""

    kernel = object()

    def __init__(self):
        self.events, self.callbacks, self.shown = self, [], []

    def register(self, event, function):
        assert event == "post_execute"
        self.callbacks.append(function)

    def unregister(self, event, function):
        self.callbacks.remove(function)

    def cell(self, run, *, value=True):
        self.shown = []
        found = run()
        if value and hasattr(found, "_ipython_display_"):
            found._ipython_display_()
        for function in self.callbacks[:]:
            function()
        return [sorted(each) for each in self.shown]

    def display(self, data, raw):
        assert raw
        assert data["image/png"].startswith(b"\x89PNG")
        self.shown.append(data)


@pytest.fixture
def shell(monkeypatch):
    shell = Shell()
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.version_info = (8, 24, 0, "")  # from which matplotlib needs no help
    ipython.get_ipython, display.display = lambda: shell, shell.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shell


def test_a_cell_shows_a_figure_once(shell):
    X, y = problem()
    path = SparseRLSRegressor(validation=None).fit(X, y).path_
    once = [["image/png", "text/plain"]]
    assert shell.cell(path.plot) == once
    assert shell.cell(path.plot, value=False) == once  # path.plot();
    assert shell.cell(path.plot_curve) == once  # the value is an Axes, which shows as text
    kept = []
    assert shell.cell(lambda: kept.append(path.plot())) == once
    assert shell.cell(lambda: kept[0]) == once  # again, when it is the value of a later cell
    assert shell.cell(lambda: None) == []
    assert len(shell.cell(lambda: (path.plot(), path.plot_path()), value=False)) == 2
    assert shell.callbacks == []
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_without_a_kernel_there_are_plain_figures(shell, monkeypatch):
    X, y = problem()
    path = SparseRLSRegressor(validation=None).fit(X, y).path_
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not hasattr(path.plot(), "_ipython_display_")
