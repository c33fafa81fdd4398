"""Searches on parts of the rows, side by side, are those of plain fits to these rows."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from sparsepath import ELMFSClassifier, ELMFSRegressor
from sparsepath.assessment.repetitions import Repetition
from sparsepath.data.synthetic import xor_like
from sparsepath.elm import repeated
from sparsepath.errors import PathWarning

SMALL = {"n_restarts": 3, "n_neurons": 12, "random_state": 0}


def repetitions(n, order=None):
    parts = np.arange(n) % 3
    return [Repetition(np.flatnonzero(parts != k), order) for k in range(3)]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_repetition_is_a_fit_to_its_rows(n_threads, shuffled):
    problem = xor_like(90, 5, random_state=0)
    order = np.random.default_rng(0).permutation(90) if shuffled else None
    model = ELMFSRegressor(3, n_threads=n_threads, **SMALL)
    frame = pd.DataFrame(problem.X)
    found = list(model._search_many(frame, pd.Series(problem.y), {}, repetitions(90, order)))
    y = problem.y if order is None else problem.y[order]
    test = np.arange(7)
    for one, searched in zip(repetitions(90), found, strict=True):
        plain = clone(model).set_params(validation=None).fit(frame.iloc[one.rows], y[one.rows])
        path, outputs = plain.path_, searched.outputs(test)
        assert dict(searched.subsets) == dict(zip(path.sizes, path.subsets, strict=True))
        assert list(searched.errors.values()) == path.errors.tolist()
        for size in path.sizes:
            expected = plain.at_size(size).predict(frame.iloc[test])
            np.testing.assert_array_equal(outputs[size][:, 0], expected)


def test_classes_have_their_scores():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = ELMFSClassifier(2, n_threads=2, **SMALL)
    found = list(model._search_many(X, names, {}, repetitions(150)))
    for one, searched in zip(repetitions(150), found, strict=True):
        plain = clone(model).set_params(validation=None).fit(X[one.rows], names[one.rows])
        expected = plain.at_size(2).decision_function(X[:5])
        np.testing.assert_array_equal(searched.outputs(np.arange(5))[2], expected)
    two = Repetition(np.flatnonzero(y < 2))  # a class is missing: left to a plain fit
    assert list(model._search_many(X, names, {}, [two])) == [None]


def test_what_is_no_search_is_left_to_a_plain_fit():
    problem = xor_like(60, 3, random_state=0)
    y = problem.y.copy()
    y[:40] = 1.0
    model = ELMFSRegressor(2, **SMALL)
    assert list(model._search_many(problem.X, y, {}, [Repetition(np.arange(40))])) == [None]
    assert model._search_many(problem.X, y, {"more": 1}, repetitions(60)) is None


def test_no_larger_sizes_than_the_path_of_all_rows_has():
    problem = xor_like(90, 6, random_state=0)
    one = Repetition(np.arange(60), likely=(0, 3))
    (found,) = ELMFSRegressor(**SMALL)._search_many(problem.X, problem.y, {}, [one])
    assert sorted(found.subsets) == [0, 1, 2]


def test_what_is_not_waited_for_is_ended(monkeypatch):
    problem, begun, ends = xor_like(300, 8, random_state=0), [], []
    real = repeated._searched

    def searched(*given):
        begun.append(1)
        found = real(*given)
        ends.append(found)
        return found

    monkeypatch.setattr(repeated, "_searched", searched)
    model = ELMFSRegressor(8, n_threads=2, random_state=0)
    many = [one for one in repetitions(300) for _ in range(4)]
    found = model._search_many(problem.X, problem.y, {}, many)
    next(found)
    found.close()
    assert len(begun) == len(ends) < len(many)
    assert None in ends  # under way, and ended at its next step


@pytest.mark.validated
@pytest.mark.skipif(os.name == "nt", reason="no signals to oneself")
def test_ctrl_c_within_the_validation_is_heard(monkeypatch):
    problem, at = xor_like(400, 10, random_state=0), []
    real = repeated._searched

    def searched(*given):
        if not at:
            at.append(1)
            os.kill(os.getpid(), signal.SIGINT)
        return real(*given)

    monkeypatch.setattr(repeated, "_searched", searched)
    with pytest.warns(PathWarning, match="validation was interrupted"):
        model = ELMFSRegressor(5, random_state=0, n_threads=2).fit(problem.X, problem.y)
    assert model.path_.complete
    assert model.honest_ is None


def test_validation_does_not_depend_on_threads():
    problem = xor_like(120, 5, random_state=1)
    paths = [
        ELMFSRegressor(3, n_threads=n, validation=5, **SMALL).fit(problem.X, problem.y).path_
        for n in (1, 2, 3)
    ]
    for path in paths[1:]:
        assert path == paths[0]
        np.testing.assert_array_equal(
            [path.honest_error(k) for k in path.sizes],
            [paths[0].honest_error(k) for k in paths[0].sizes],
        )
