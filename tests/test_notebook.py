"""What notebooks show of a path and of a comparison."""

import re
import xml.etree.ElementTree as ET

import numpy as np

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
