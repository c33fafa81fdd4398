"""Whole searches by the order of scores over splits: whoever chooses, all is the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from problems import Case, make
from rls.comparing import Judge, check_forward, design_of, examples, search, weights_of
from slow_twins import rls
from sparsepath.rls.pairs import whole
from sparsepath.rls.pairs.queries import DisagreementModel
from sparsepath.rls.pairs.whole import ORDER_PRICE
from sparsepath.rls.splits.sums import SplitSums

FIELDS = ("subset", "errors", "errors_se", "coef", "intercept", "vanished")
SPLITTERS = {
    "folds": StratifiedKFold(2),
    "drawn": StratifiedShuffleSplit(4, test_size=0.4, random_state=0),
}


def found(case, splits, size, compiled, pooled=False, wanted=0):
    design = design_of(case.X, standardize=True)
    sums = SplitSums(design, case.Y, splits, once=True)
    one = np.zeros(len(case.X), dtype=np.intp)
    model = DisagreementModel(design, case.Y, case.alpha, pooled, sums, one)
    assert whole.is_short(model)
    allowed = np.ones(case.X.shape[1], dtype=bool)
    return whole.whole_search(model, size, allowed, wanted, compiled=compiled)


@given(
    kind=st.sampled_from(["tall", "wide", "collinear", "duplicate", "scaled", "ties", "constant"]),
    m=st.integers(12, 60),
    n=st.integers(1, 70),
    how=st.sampled_from(sorted(SPLITTERS)),
    pooled=st.booleans(),
    wanted=st.sampled_from([0, 6]),
    seed=st.integers(0, 99),
)
@examples(50)
def test_the_compiled_loop_is_the_steps(kind, m, n, how, pooled, wanted, seed):
    case = make(kind, m=m, n=n, seed=seed, classification=True)
    splits, size = list(SPLITTERS[how].split(case.X, case.Y[:, 0])), min(n, 6)
    (steps, one, clean), (loop, other, also) = (
        found(case, splits, size, compiled, pooled, wanted) for compiled in (False, True)
    )
    assert (one, clean) == (other, also)
    for name in FIELDS:
        assert_array_equal(getattr(steps, name), getattr(loop, name), err_msg=name)
    # No number knows which sizes come later.
    for k in range(min(len(steps.subset), 3)):
        short, _, _ = found(case, splits, k, True, pooled, wanted)
        for name in ("errors", "errors_se", "intercept"):
            assert_array_equal(getattr(short, name), getattr(loop, name)[: k + 1])
        assert_array_equal(short.coef, loop.coef[: k + 1, :k])
    if one:
        design = design_of(case.X, standardize=True)
        asked = {"splits": splits, "pooled": pooled, "loss": "auc", "wanted": wanted}
        by_steps = search(design, case.Y, case.alpha, size, form="bounds", **asked)
        assert clean == (by_steps.stopped == "no mistakes left")
        assert tuple(steps.subset) == by_steps.steps[len(steps.subset)].subset
        for k, step in by_steps.steps.items():
            assert_allclose(steps.errors[k], step.error, rtol=1e-12, atol=1e-15)
            assert_allclose(steps.errors_se[k], step.error_se, rtol=1e-9, atol=1e-12)
            assert_allclose(steps.coef[k, :k], step.coef, rtol=1e-6, atol=1e-9)
            assert_allclose(steps.intercept[k], step.intercept, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("paid", [False, True])
@pytest.mark.parametrize("kind", ["tall", "wide", "ties", "duplicate"])
def test_it_is_the_twin(monkeypatch, kind, paid):
    monkeypatch.setattr(ORDER_PRICE, "is_paid", lambda ahead=0.0: paid)
    for seed in range(3):
        case = make(kind, m=30, n=11, seed=seed, classification=True)
        splits = list(StratifiedKFold(2).split(case.X, case.Y[:, 0]))
        trail = search(design_of(case.X), case.Y, case.alpha, 5, splits=splits, loss="auc")
        error = rls.auc_kfold_error(splits)
        check_forward(trail, Judge(case.X, case.Y, case.alpha, "auc", error=error), 5)


def test_other_weights_and_more_rows_go_by_steps():
    case = make("tall", m=40, n=6, seed=1, classification=True, weighted=True)
    splits = list(StratifiedKFold(2).split(case.X, case.Y[:, 0]))
    trails = [
        search(
            design_of(case.X, weights_of(case)), case.Y, 1.0, 4, splits=splits, loss="auc", form=f
        )
        for f in ("auto", "bounds")
    ]
    assert [m.error for m in trails[0].moves] == [m.error for m in trails[1].moves]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    Y = np.sign(X[:, [0]] + rng.standard_normal((600, 1)))
    splits = list(StratifiedKFold(2).split(X, Y[:, 0]))
    auto, steps = (
        search(design_of(X), Y, 1.0, 3, splits=splits, loss="auc", form=f)
        for f in ("auto", "bounds")
    )
    assert [m.error for m in auto.moves] == [m.error for m in steps.moves]


def test_it_goes_on_step_by_step_where_sums_tell_too_little():
    case = make("tall", m=40, n=8, seed=3, classification=True)
    X = np.column_stack([case.X, case.X[:, 2] * (1 + 1e-9), case.X[:, 5] + 1e-7 * case.X[:, 0]])
    splits = list(StratifiedKFold(4).split(X, case.Y[:, 0]))
    asked = {"splits": splits, "loss": "auc", "wanted": 8}
    trail, steps = (
        search(design_of(X), case.Y, 1e-9, 8, form=form, **asked) for form in ("auto", "bounds")
    )
    assert [m.feature for m in trail.moves] == [m.feature for m in steps.moves]
    for k, step in steps.steps.items():
        assert_allclose(trail.steps[k].error, step.error, rtol=1e-9)
    many = Case(X, case.Y, 1e-9, None, "nearly collinear")
    path, complete, _ = found(many, splits, 8, True, wanted=8)
    assert not complete
    assert len(path.subset) < 8
