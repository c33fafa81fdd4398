"""Folds searched by what is left of their test rows: against refits, and against other forms."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import (
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from problems import Case, make, problems
from rls.comparing import check_forward, design_of, examples, judge_of, search, weights_of
from slow_twins import rls
from sparsepath.rls.models import folds_of
from sparsepath.rls.paths import sums_for
from sparsepath.rls.splits import blocks, whole
from sparsepath.rls.task import Task

FIELDS = ("subset", "errors", "errors_se", "coef", "intercept", "vanished")
SPLITTERS = {
    "three": KFold(3),
    "six": KFold(6, shuffle=True, random_state=1),
    "groups": LeaveOneGroupOut(),  # of few rows and of many
}


def splits_of(name, m):
    groups = np.minimum(np.arange(m) // 2, 4) if name == "groups" else None
    return list(SPLITTERS[name].split(np.zeros((m, 1)), groups=groups))


@contextmanager
def blocks_alone(compiled=True):
    """Every search over folds in this form, a few columns at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "seconds", lambda m, n, F: 0.0)
        patch.setattr(blocks, "WIDEST", 5)
        patch.setattr(blocks, "NARROWEST", 5)
        patch.setattr(blocks, "is_small", lambda design: not compiled)
        patch.setattr(blocks.BLOCKS_PRICE, "is_paid", lambda: compiled)
        yield


@st.composite
def fold_problems(draw, **options):
    case = draw(problems(**options))
    splits = splits_of(draw(st.sampled_from(sorted(SPLITTERS))), len(case.X))
    w = weights_of(case)
    if any(w[part].sum() == 0 for pair in splits for part in pair):
        case = Case(case.X, case.Y, case.alpha, None, case.name)
    return case, splits, draw(st.booleans())


def check(problem, most=7, layout="one", **options):
    """A search as far as every training part has room for, against refits."""
    case, splits, pooled = problem
    w = weights_of(case)
    least = min(np.count_nonzero(w[train]) for train, _ in splits)
    size = max(1, min(most, case.X.shape[1], least - 2))
    asked = {"splits": splits, "pooled": pooled}
    with blocks_alone():
        design = design_of(case.X, w, layout, **options)
        assert blocks.folds_for(design, splits) is not None
        trail = search(design, case.Y, case.alpha, size, **asked)
    error = rls.kfold_error(splits, pooled)
    check_forward(trail, judge_of(case, error=error, **options), size)


@examples(60)
@given(fold_problems(max_m=24, max_n=12), st.sampled_from(["one", "uneven"]))
def test_against_refits(problem, layout):
    check(problem, layout=layout)


@examples(15)
@given(fold_problems(kinds=["tall", "wide", "targets", "sparse"], max_m=20, max_n=9))
def test_without_intercept(problem):
    check(problem, fit_intercept=False)


@examples(15)
@given(fold_problems(kinds=["tall", "duplicate", "targets", "ties"], alphas=[0.0], max_m=20))
def test_by_ordinary_least_squares(problem):
    check(problem)


def found(case, splits, size, compiled, pooled=False):
    design = design_of(case.X, weights_of(case), standardize=True)
    folds = blocks.Folds.of(design, splits)
    if folds is None:
        return None
    allowed = np.ones(design.n_features, dtype=bool)
    given = (design, case.Y, case.alpha, folds, pooled, size, allowed)
    return blocks.whole_search(*given, compiled=compiled)


@given(
    kind=st.sampled_from(["tall", "wide", "collinear", "duplicate", "scaled", "ties", "constant"]),
    m=st.integers(14, 40),
    n=st.integers(1, 24),
    how=st.sampled_from(sorted(SPLITTERS)),
    targets=st.sampled_from([1, 1, 3]),
    pooled=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
@examples(60)
def test_the_loop_is_the_steps(kind, m, n, how, targets, pooled, weighted, seed):
    case = make(kind, m=m, n=n, T=targets, weighted=weighted, seed=seed)
    splits, size = splits_of(how, m), min(n, 9)
    asked = (case, splits, size)
    if found(*asked, True, pooled) is None:  # a fold that weighs nothing
        return
    (steps, one), (loop, other) = (found(*asked, which, pooled) for which in (False, True))
    assert one == other
    for name in FIELDS:
        assert_array_equal(getattr(steps, name), getattr(loop, name), err_msg=name)
    # No number knows which sizes come later.
    for k in range(min(len(steps.subset), 3)):
        short, _ = found(case, splits, k, True, pooled)
        assert_array_equal(short.subset, loop.subset[:k])
        assert_array_equal(short.errors, loop.errors[: k + 1])
        assert_array_equal(short.errors_se, loop.errors_se[: k + 1])
        assert_array_equal(short.coef, loop.coef[: k + 1, :k])
        assert_array_equal(short.intercept, loop.intercept[: k + 1])


def test_many_columns_and_steps_against_sums_of_products():
    case = make("wide", m=60, n=700, alpha=0.3, weighted=True, seed=2)
    splits = list(KFold(9, shuffle=True, random_state=0).split(case.X))
    design = design_of(case.X, case.sw)
    task = Task(size=25, candidates=tuple(range(700)), splits=splits)
    assert folds_of(design, task) is not None
    quick = search(design, case.Y, case.alpha, 25, splits=splits)
    steps = search(design, case.Y, case.alpha, 25, splits=splits, form="bounds")
    assert [m.feature for m in quick.moves] == [m.feature for m in steps.moves]
    for k, step in steps.steps.items():
        assert_allclose(quick.steps[k].error, step.error, rtol=1e-9)
        assert_allclose(quick.steps[k].error_se, step.error_se, rtol=1e-8)
        assert_allclose(quick.steps[k].coef, step.coef, rtol=1e-7, atol=1e-10)


def doubtful(which):
    """Problems where a training part tells too little of some column, and the penalty."""
    case = make("tall", m=42, n=8, seed=3)
    X = case.X
    if which == "copies":
        X = np.column_stack([X, X[:, 2] * (1 + 1e-9), X[:, 5] + 1e-7 * X[:, 0]])
    elif which == "one fold":  # a column that lives in a single fold, or nearly so
        alone = np.zeros((42, 2))
        alone[:7, 0], alone[:, 1] = 1.0 + np.arange(7), 1e-5 * X[:, 0]
        alone[:7, 1] += X[:7, 1]
        X = np.column_stack([X, alone])
    else:
        X = X * np.logspace(0, -9, 8)
    return Case(X, case.Y + 5 * X[:, -1:] / np.abs(X[:, -1]).max(), 1e-9, None, which)


@pytest.mark.parametrize("which", ["copies", "one fold", "scales"])
def test_it_goes_on_step_by_step_where_sums_tell_too_little(which):
    case, splits = doubtful(which), list(KFold(6).split(np.zeros((42, 1))))
    asked = (case.Y, case.alpha)
    with blocks_alone():
        trail = search(design_of(case.X), *asked, 8, splits=splits)
        short = search(design_of(case.X), *asked, 2, splits=splits)
    with blocks_alone(compiled=False):
        plain = search(design_of(case.X), *asked, 8, splits=splits)
    steps = search(design_of(case.X), *asked, 8, splits=splits, form="bounds")
    assert [m.feature for m in trail.moves] == [m.feature for m in steps.moves]
    assert trail.stopped == steps.stopped
    for k, step in steps.steps.items():
        assert_allclose(trail.steps[k].error, step.error, rtol=1e-6)
        assert trail.steps[k].error == plain.steps[k].error
    for k, step in short.steps.items():
        assert step.error == trail.steps[k].error
    if which == "copies":
        _, complete = found(case, splits, 8, True)
        assert not complete


def test_it_goes_on_step_by_step_after_many_steps(monkeypatch):
    case = make("tall", m=40, n=9, seed=5)
    splits = splits_of("six", 40)
    with blocks_alone():
        expected = search(design_of(case.X), case.Y, 0.1, 7, splits=splits)
        monkeypatch.setattr(whole, "MOST_STEPS", 3)
        trail = search(design_of(case.X), case.Y, 0.1, 7, splits=splits)
    assert trail.stopped == expected.stopped == "max_features"
    assert [m.feature for m in trail.moves] == [m.feature for m in expected.moves]
    assert_allclose(trail.errors, expected.errors, rtol=1e-9)


def test_a_search_goes_on_from_a_file(tmp_path):
    case = make("wide", m=30, n=40, seed=1)
    splits, file = splits_of("six", 30), tmp_path / "moves"
    with blocks_alone():
        expected = search(design_of(case.X), case.Y, 0.1, 6, splits=splits)
        stop = {"watch": lambda trail: trail.size == 3, "checkpoint": file}
        search(design_of(case.X), case.Y, 0.1, 6, splits=splits, **stop)
        trail = search(design_of(case.X), case.Y, 0.1, 6, splits=splits, checkpoint=file)
    assert [m.feature for m in trail.moves] == [m.feature for m in expected.moves]
    assert trail.errors == expected.errors


@pytest.mark.parametrize(
    "splitter",
    [
        RepeatedKFold(n_splits=4, n_repeats=2, random_state=0),
        ShuffleSplit(5, test_size=0.2, random_state=0),
        TimeSeriesSplit(4),
    ],
    ids=["repeated", "drawn", "time"],
)
def test_other_splits_are_not_folds(splitter):
    design = design_of(np.random.default_rng(0).standard_normal((40, 500)))
    splits = list(splitter.split(np.zeros((40, 1))))
    assert blocks.folds_for(design, splits) is None


def test_which_splits_are_folds():
    X = np.random.default_rng(0).standard_normal((12, 300))
    folds = list(KFold(4).split(X))
    assert blocks.Folds.of(design_of(X), folds) is not None
    masks = [tuple(np.isin(np.arange(12), part) for part in pair) for pair in folds]
    assert_array_equal(blocks.Folds.of(design_of(X), masks).order, np.arange(12))
    assert blocks.Folds.of(design_of(X), folds[:-1]) is None
    fewer = [(folds[0][0][1:], folds[0][1]), *folds[1:]]
    assert blocks.Folds.of(design_of(X), fewer) is None
    twice = [(np.r_[folds[0][0][1:], folds[0][0][1]], folds[0][1]), *folds[1:]]
    assert blocks.Folds.of(design_of(X), twice) is None
    w = np.ones(12)
    w[folds[1][1]] = 0.0
    assert blocks.Folds.of(design_of(X, w), folds) is None


def test_sums_of_products_are_made_only_where_they_are_asked_for():
    X = np.random.default_rng(0).standard_normal((40, 500))
    design, Y = design_of(X), X[:, :1]
    task = Task(size=3, candidates=tuple(range(500)), splits=list(KFold(8).split(X)))
    assert sums_for(design, Y, task, [1.0]) is None
    assert sums_for(design, Y, task, [1.0, 0.0]) is not None  # some column may not vary
    backward = Task(size=3, candidates=task.candidates, splits=task.splits, search="backward")
    assert sums_for(design, Y, backward, [1.0]) is not None
