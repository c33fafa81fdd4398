"""Wherever errors are shown it is said of which kind they are: no criterion is one on new data."""

import json
import re

import numpy as np
import pytest

from sparsepath import GraftingRegressor, LarsSelector, SparseRLSRegressor
from sparsepath.report import page, summary, told

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 30))
y = X[:, 0] + 2 * rng.standard_normal(60)
MAKERS = {"rls": SparseRLSRegressor, "lars": LarsSelector, "grafting": GraftingRegressor}
WARNINGS = (
    "not an estimate of the error on new data",
    "expect a larger error on new data",
    "not an error on new data",
)
KINDS = ("selection error", "training error")


def drawn(figure):
    """All words of a picture."""
    words = []
    for ax in figure.axes:
        legend = ax.get_legend()
        words += [ax.get_ylabel(), ax.get_xlabel(), ax.get_title()]
        words += [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return " ".join(words).replace("\n", " ")


def shown(path):
    size = path.choose("min")
    return {
        "repr": repr(path),
        "curve": drawn(path.plot_curve().figure),
        "both": drawn(path.plot()),
        "answer": " ".join(told(path, size)),
    }


def claims(text):
    for warning in WARNINGS:
        text = text.replace(warning, "")
    return re.findall(r"new data|honest|left out \(|never saw", text)


@pytest.mark.parametrize("name", MAKERS)
def test_without_validation_nothing_is_said_to_hold_on_new_data(name):
    path = MAKERS[name](validation=None).fit(X, y).path_
    texts = shown(path)
    for where, text in texts.items():
        assert claims(text) == [], where
        assert path.criterion in text, where
    for where in ("repr", "curve", "both"):
        assert any(kind in texts[where] for kind in KINDS), where
    frame = path.to_frame()
    assert set(frame["error_kind"]) <= {"selection", "training"}
    assert not [column for column in frame.columns if "honest" in column]
    made = summary(path, title="t", answer=[], chosen=1)
    assert made["honest"] is None
    assert made["error_kind"] == path.error_kind
    assert path.to_dict()["error_kind"] == path.error_kind
    static = page(made).split("</style>", 1)[1].split("<script", 1)[0]
    assert claims(re.sub(r"<[^>]*>", " ", static)) == []


@pytest.mark.parametrize("name", MAKERS)
def test_with_validation_the_honest_error_leads_and_the_criterion_is_named(name):
    model = MAKERS[name](validation=5).fit(X, y)
    path = model.path_
    texts = shown(path)
    least = path.choose("min")
    assert f"honest error (5-fold) {path.honest_error(least):.6g} at size {least}" in texts["repr"]
    for where in ("curve", "both"):
        assert "error on samples left out (5-fold)" in texts[where]
        assert f"{path.criterion} of the search" in texts[where]
    answer = texts["answer"]
    assert f"Error on new data {path.honest_error(least):.4g}" in answer
    assert answer.index("on new data") < answer.index(path.criterion)
    assert "on new data (90 % interval" in model.honest_.sentence()
    frame = path.to_frame()
    assert {"error", "error_kind", "honest_error", "honest_error_se"} <= set(frame.columns)
    assert set(frame["error_kind"]) <= {"selection", "training"}
    made = json.loads(json.dumps(summary(path, title="t", answer=[], chosen=1)))
    assert made["honest"] == pytest.approx(path.honest_errors.tolist())
    assert made["validation"] == "5-fold"
