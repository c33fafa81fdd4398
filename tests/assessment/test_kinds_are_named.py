"""Wherever errors are shown it is said of which kind they are: no criterion is one on new data."""

import json
import re

import numpy as np
import pytest

from sparsepath import GraftingRegressor, LarsSelector, SparseRLSRegressor, compare
from sparsepath.assessment.out_of_sample import held_out_losses
from sparsepath.cli.compare import show as show_comparison
from sparsepath.cli.predict import Predictions
from sparsepath.cli.predict import write as write_predictions
from sparsepath.report import contest_page, page, sentences, summary

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
        "answer": " ".join(sentences(path, size)),
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


def test_a_comparison_tells_errors_on_samples_left_out_and_nothing_else(capsys):
    """Its sentence, table, picture and page name one kind; no criterion stands among them."""
    found = compare({"a": SparseRLSRegressor(3), "b": LarsSelector(3)}, X, y, validation=4)
    for one in found.contestants:
        model = SparseRLSRegressor(3) if one.name == "a" else LarsSelector(3)
        np.testing.assert_allclose(one.left_out.errors, held_out_losses(model, X, y, 4).errors)
        assert one.chosen.validation == "4-fold"
    show_comparison(found)
    printed = capsys.readouterr().out
    page_of = contest_page(found, title="t", about=[], command="")
    texts = {
        "sentence": found.sentence(),
        "table": " ".join(printed.split()),
        "picture": drawn(found.plot()),
        "page": re.sub(r"<[^>]*>", " ", page_of.split("</style>", 1)[1]),
        "frame": " ".join(found.to_frame().columns),
    }
    assert "Least RMSE on new data" in texts["sentence"]
    assert "Validation: 4-fold, the same rows left out for all methods." in texts["table"]
    assert "left out" in texts["picture"]
    for where, text in texts.items():
        assert not re.search(r"leave-one-out|criterion|selection error|training error", text), where


def test_predictions_are_judged_on_the_rows_given_and_it_is_said_what_that_is_worth(capsys):
    """``predict`` knows the error on rows of a file, which may be those of the search."""
    model = SparseRLSRegressor(3, validation=None).fit(X, y)
    error = float(np.sqrt(np.mean((y - model.predict(X)) ** 2)))
    write_predictions(
        Predictions({"predicted": model.predict(X)}, {"rmse": error}), None, False, False
    )
    told = capsys.readouterr().err
    expected = f"On 60 rows: RMSE {error:.4g} (honest if the search has not seen these rows)."
    assert told.strip() == expected
    assert "new data" not in told
