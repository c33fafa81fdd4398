"""Whole searches over splits: whoever chooses, the choices and numbers are the same."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit

from problems import make
from rls.comparing import check_forward, design_of, examples, judge_of, search, weights_of
from slow_twins import rls
from sparsepath.rls.splits import sums as split_sums
from sparsepath.rls.splits import whole
from sparsepath.rls.splits.model import FoldModel
from sparsepath.rls.splits.sums import SplitSums
from sparsepath.tuning import TUNING

FIELDS = ("subset", "errors", "errors_se", "coef", "intercept", "vanished")
SPLITTERS = {
    "folds": KFold(5),
    "drawn": ShuffleSplit(4, test_size=0.3, train_size=0.5, random_state=0),
    "time": TimeSeriesSplit(3),
    "groups": LeaveOneGroupOut(),
}


def splits_of(name, m):
    groups = np.arange(m) % 6 if name == "groups" else None
    return list(SPLITTERS[name].split(np.zeros((m, 1)), groups=groups))


def model_of(case, splits, *, pooled=False):
    design = design_of(case.X, weights_of(case), standardize=True)
    sums = SplitSums(design, case.Y, splits, once=True)
    return FoldModel(design, case.Y, case.alpha, splits, pooled, sums)


def found(case, splits, size, compiled, **options):
    model = model_of(case, splits, **options)
    allowed = np.ones(case.X.shape[1], dtype=bool)
    return whole.whole_search(model, size, allowed, compiled=compiled)


@given(
    kind=st.sampled_from(["tall", "wide", "collinear", "duplicate", "scaled", "ties", "constant"]),
    m=st.integers(12, 40),
    n=st.integers(1, 24),
    how=st.sampled_from(sorted(SPLITTERS)),
    targets=st.sampled_from([1, 1, 3]),
    rows=st.booleans(),
    pooled=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
@examples(60)
def test_the_compiled_loop_is_the_steps(kind, m, n, how, targets, rows, pooled, weighted, seed):
    case = make(kind, m=m, n=n, T=targets, weighted=weighted, seed=seed)
    splits, size = splits_of(how, m), min(n, 6)
    with pytest.MonkeyPatch.context() as patch:
        if rows:
            patch.setattr(split_sums, "ASKED_FOR", -100)
        (steps, one), (loop, other) = (
            found(case, splits, size, compiled, pooled=pooled) for compiled in (False, True)
        )
        assert one == other
        for name in FIELDS:
            assert_array_equal(getattr(steps, name), getattr(loop, name), err_msg=name)
        # No number knows which sizes come later.
        for k in range(min(len(steps.subset), 3)):
            short, _ = found(case, splits, k, True, pooled=pooled)
            assert_array_equal(short.subset, loop.subset[:k])
            assert_array_equal(short.errors, loop.errors[: k + 1])
            assert_array_equal(short.errors_se, loop.errors_se[: k + 1])
            assert_array_equal(short.coef, loop.coef[: k + 1, :k])
            assert_array_equal(short.intercept, loop.intercept[: k + 1])
        if one:
            design = design_of(case.X, weights_of(case), standardize=True)
            asked = {"splits": splits, "pooled": pooled}
            by_steps = search(design, case.Y, case.alpha, size, form="bounds", **asked)
            assert tuple(steps.subset) == by_steps.steps[len(steps.subset)].subset
            for k, step in by_steps.steps.items():
                assert_allclose(steps.errors[k], step.error, rtol=1e-7)
                assert_allclose(steps.errors_se[k], step.error_se, rtol=1e-6, atol=1e-12)
                assert_allclose(steps.coef[k, :k], step.coef, rtol=1e-6, atol=1e-9)
                assert_allclose(steps.intercept[k], step.intercept, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(("kind", "targets"), [("tall", 1), ("tall", 3), ("wide", 1)])
def test_the_loop_is_the_twin(monkeypatch, kind, targets, rows):
    monkeypatch.setattr(TUNING, "compiled_search_from", 1)
    if rows:
        monkeypatch.setattr(split_sums, "ASKED_FOR", -100)
    case = make(kind, m=30, n=11, T=targets, weighted=True, seed=4)
    splits = splits_of("folds", 30)
    design = design_of(case.X, case.sw)
    trail = search(design, case.Y, case.alpha, 6, splits=splits)
    check_forward(trail, judge_of(case, error=rls.kfold_error(splits)), 6)


def test_it_goes_on_step_by_step_where_sums_tell_too_little():
    case = make("tall", m=40, n=8, seed=3)
    X = np.column_stack([case.X, case.X[:, 2] * (1 + 1e-9), case.X[:, 5] + 1e-7 * case.X[:, 0]])
    splits = splits_of("folds", 40)
    trail = search(design_of(X), case.Y, 1e-9, 8, splits=splits)
    steps = search(design_of(X), case.Y, 1e-9, 8, splits=splits, form="bounds")
    assert [m.feature for m in trail.moves] == [m.feature for m in steps.moves]
    for k, step in steps.steps.items():
        assert_allclose(trail.steps[k].error, step.error, rtol=1e-6)
    short = search(design_of(X), case.Y, 1e-9, 2, splits=splits)
    for k in range(3):
        assert short.steps[k].error == trail.steps[k].error
    model = FoldModel(design_of(X), case.Y, 1e-9, splits)
    found, complete = whole.whole_search(model, 8, np.ones(10, dtype=bool))
    assert not complete
    assert len(found.subset) < 8


def test_it_goes_on_step_by_step_after_many_steps(monkeypatch):
    case = make("tall", m=40, n=9, seed=5)
    splits = splits_of("folds", 40)
    expected = search(design_of(case.X), case.Y, 0.1, 7, splits=splits)
    monkeypatch.setattr(whole, "MOST_STEPS", 3)
    trail = search(design_of(case.X), case.Y, 0.1, 7, splits=splits)
    assert trail.stopped == expected.stopped == "max_features"
    assert [m.feature for m in trail.moves] == [m.feature for m in expected.moves]
    assert_allclose(trail.errors, expected.errors, rtol=1e-9)


def test_small_searches_do_not_load_a_compiler():
    code = (
        "import sys, numpy as np\nfrom sparsepath import SparseRLSRegressor\n"
        "X = np.random.default_rng(0).standard_normal((60, 8))\n"
        "SparseRLSRegressor(3, cv=5, validation=None).fit(X, X[:, 0])\n"
        "print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
