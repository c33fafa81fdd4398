"""Whole searches by losses without bounds: in NumPy and in a compiled loop, number for number."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from problems import make
from rls.comparing import OTHERS, check_forward, design_of, examples, judge_of, search, weights_of
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.leave_one_out.loss_search import LOSS_PRICE, search_by_loss
from sparsepath.tuning import TUNING

KINDS = ("tall", "wide", "collinear", "scaled", "ties", "constant", "duplicate")
LOSSES = [name for name in OTHERS if CLASSES[name].carried is not None]


def found(case, loss, size, compiled):
    design = design_of(case.X, weights_of(case), standardize=True)
    allowed = np.ones(design.n_features, dtype=bool)
    problem = design, case.Y, case.alpha, size, allowed, CLASSES[loss]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LOSS_PRICE, "is_paid", lambda ahead=0.0: False)
        return search_by_loss(*problem, 0, compiled=compiled)


@pytest.mark.parametrize("loss", LOSSES)
@given(
    kind=st.sampled_from(KINDS),
    m=st.integers(16, 80),
    n=st.integers(1, 30),
    targets=st.sampled_from([1, 1, 2, 3, 4, 5, 8]),
    weighted=st.booleans(),
    alpha=st.sampled_from([None, 1e-6, 100.0]),
    seed=st.integers(0, 99),
)
@examples(25)
def test_it_does_not_show_who_chose(loss, kind, m, n, targets, weighted, alpha, seed):
    coded = CLASSES[loss].coded
    targets = max(targets, 3) if coded and targets > 1 else targets
    case = make(kind, m=m, n=n, T=targets, weighted=weighted, seed=seed, classification=coded)
    case = case if alpha is None else replace(case, alpha=alpha)
    size = min(n, 20, m // 3)
    plain, compiled = found(case, loss, size, False), found(case, loss, size, True)
    assert plain[1] == compiled[1]
    for name in ("subset", "errors", "errors_se", "coef", "intercept", "vanished"):
        assert_array_equal(getattr(plain[0], name), getattr(compiled[0], name), err_msg=name)
    # No number knows which sizes come later.
    for k in range(min(len(plain[0].subset), 3)):
        short, _ = found(case, loss, k, True)
        for name in ("errors", "errors_se"):
            assert_array_equal(getattr(short, name), getattr(plain[0], name)[: k + 1])
        assert_array_equal(short.coef, plain[0].coef[: k + 1, :k])


@pytest.mark.parametrize("loss", LOSSES)
@given(
    kind=st.sampled_from(KINDS),
    targets=st.sampled_from([1, 3]),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
@examples(8)
def test_large_data_are_searched_as_the_twins_search_them(loss, kind, targets, weighted, seed):
    coded = CLASSES[loss].coded
    case = make(kind, m=26, n=9, T=targets, weighted=weighted, seed=seed, classification=coded)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TUNING, "compiled_search_from", 0)
        trail = search(design_of(case.X, weights_of(case)), case.Y, case.alpha, 5, loss=loss)
    check_forward(trail, judge_of(case, loss), 5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("how", ["floating", "swap", "backward"])
def test_pivots_and_products_follow_additions_and_removals(monkeypatch, loss, how):
    coded = CLASSES[loss].coded
    for seed, targets in ((1, 1), (2, 3)):
        case = make("ties", m=40, n=13, T=targets, seed=seed, weighted=True, classification=coded)
        asked = {"loss": loss, "search": how}
        size = 0 if how == "backward" else 7
        expected = search(design_of(case.X, case.sw), case.Y, 0.1, size, form="blocks", **asked)
        monkeypatch.setattr(TUNING, "compiled_search_from", 1)
        got = search(design_of(case.X, case.sw), case.Y, 0.1, size, form="fused", **asked)
        monkeypatch.undo()
        moves = [[(move.action, move.feature) for move in of.moves] for of in (expected, got)]
        assert moves[0] == moves[1]
        errors = [[move.error for move in of.moves] for of in (expected, got)]
        assert_allclose(errors[0], errors[1], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("targets", [1, 3, 4])
def test_a_column_that_leaves_a_sample_no_room_is_not_chosen(targets):
    """Such a column is there for one sample alone; a penalty of nothing lets it have it."""
    for seed in range(6):
        case = make("tall", 24, 9, targets, 1e-12, seed=seed, classification=True)
        case.X[:, 3:] = np.eye(24)[:, :6]
        plain, compiled = (found(case, "zero_one", 3, how)[0] for how in (False, True))
        assert len(plain.subset) == 3
        assert plain.subset.max() < 3
        assert_array_equal(plain.subset, compiled.subset)


def test_small_searches_do_not_load_a_compiler():
    code = (
        "import sys, numpy as np\nfrom sparsepath import SparseRLSClassifier\n"
        "X = np.random.default_rng(0).standard_normal((60, 8))\n"
        "SparseRLSClassifier(3, loss='zero_one', validation=None).fit(X, X[:, 0] > 0)\n"
        "print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_a_count_that_comes_down_to_zero_ends_a_whole_search_as_it_ends_one_by_steps(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 8))
    Y = np.sign(rng.standard_normal((50, 1)))
    X[:, [2, 5]] += 2 * Y
    for wanted, large in ((0, False), (4, False), (0, True), (4, True)):
        monkeypatch.setattr(TUNING, "compiled_search_from", 0 if large else 1 << 16)
        whole, steps = (
            search(design_of(X), Y, 0.1, 8, loss="zero_one", form=form, wanted=wanted)
            for form in ("auto", "fused")
        )
        assert [m.feature for m in whole.moves] == [m.feature for m in steps.moves]
        assert wanted <= len(whole.moves) < 8
        assert whole.stopped == steps.stopped == "no mistakes left"
        assert whole.steps[max(whole.steps)].error == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_long_rows_are_judged_as_they_are_in_numpy(loss):
    """Samples by the thousand: rows are written in strips, or counted a few at a time."""
    coded = CLASSES[loss].coded
    for seed, targets in ((1, 1), (2, 3), (3, 7)):
        case = make("tall", m=2100, n=24, T=targets, seed=seed, classification=coded)
        plain, compiled = found(case, loss, 20, False), found(case, loss, 20, True)
        assert_array_equal(plain[0].subset, compiled[0].subset)
        assert_array_equal(plain[0].errors, compiled[0].errors)


@pytest.mark.parametrize("loss", [name for name in LOSSES if CLASSES[name].coded])
def test_mistakes_of_a_path_are_counted_by_the_loops_of_the_package_as_in_numpy(loss):
    for seed in range(12):
        kind, targets = KINDS[seed % len(KINDS)], (1, 3, 5)[seed % 3]
        weighted = seed % 4 > 1
        case = make(kind, 50 + seed, 12, targets, seed=seed, weighted=weighted, classification=True)
        paths = []
        for up_to in (0, 1 << 12):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(TUNING, "native_numbers_up_to", up_to)
                paths.append(found(case, loss, 9, False)[0])
        for name in ("subset", "errors", "errors_se"):
            numbers = (getattr(path, name) for path in paths)
            assert_allclose(*numbers, rtol=1e-12, atol=1e-14, err_msg=f"{name}, {case.name}")


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_rule_out_nobody_who_is_best(loss):
    """Many small problems: a bound that is too high shows in some of them only."""
    coded = CLASSES[loss].coded
    for seed in range(60):
        kind, targets = KINDS[seed % len(KINDS)], 1 if seed % 2 else 3
        case = make(kind, m=60 + seed, n=40, T=targets, seed=seed, classification=coded)
        plain, compiled = found(case, loss, 15, False), found(case, loss, 15, True)
        assert_array_equal(plain[0].subset, compiled[0].subset, err_msg=f"{kind}, {seed}")
