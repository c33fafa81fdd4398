"""Whole searches by losses without bounds: NumPy and compiled loops, number for number."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from problems import make
from rls.comparing import OTHERS, design_of, examples, search, weights_of
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.leave_one_out.whole_losses import LossSearch
from sparsepath.tuning import TUNING

KINDS = ("tall", "wide", "collinear", "scaled", "ties", "constant")
LOSSES = [name for name in OTHERS if CLASSES[name].carried is not None]


def found(case, loss, size, compiled, by_rows=False):
    design = design_of(case.X, weights_of(case), standardize=True)
    allowed = np.ones(design.n_features, dtype=bool)
    model = LossSearch(design, case.Y, case.alpha, size, allowed, CLASSES[loss], by_rows)
    model._compiled = compiled and len(model._features) > 1
    return model.run(0)


@pytest.mark.parametrize("loss", LOSSES)
@given(
    kind=st.sampled_from(KINDS),
    m=st.integers(8, 40),
    n=st.integers(1, 20),
    targets=st.sampled_from([1, 1, 2, 3]),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
@examples(12)
def test_the_compiled_sweep_is_that_of_numpy_to_the_last_bit(
    loss, kind, m, n, targets, weighted, seed
):
    coded = CLASSES[loss].coded
    targets = 3 if coded and targets > 1 else targets
    case = make(kind, m=m, n=n, T=targets, weighted=weighted, seed=seed, classification=coded)
    size = min(n, 6, m // 3)
    plain, compiled = found(case, loss, size, False), found(case, loss, size, True)
    assert plain[1] == compiled[1]
    for name in ("subset", "errors", "errors_se", "coef", "intercept", "vanished"):
        assert_array_equal(getattr(plain[0], name), getattr(compiled[0], name), err_msg=name)
    rows = found(case, loss, size, True, by_rows=True)[0]
    assert_array_equal(rows.subset, plain[0].subset)
    assert_allclose(rows.errors, plain[0].errors, rtol=1e-9, atol=1e-13)


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


def test_small_searches_do_not_load_a_compiler():
    code = (
        "import sys, numpy as np\nfrom sparsepath import SparseRLSClassifier\n"
        "X = np.random.default_rng(0).standard_normal((60, 8))\n"
        "SparseRLSClassifier(3, loss='zero_one', validation=None).fit(X, X[:, 0] > 0)\n"
        "print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_a_count_that_comes_down_to_zero_ends_a_whole_search_as_it_ends_one_by_steps():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 8))
    Y = np.sign(rng.standard_normal((50, 1)))
    X[:, [2, 5]] += 2 * Y
    for wanted in (0, 4):
        whole, steps = (
            search(design_of(X), Y, 0.1, 8, loss="zero_one", form=form, wanted=wanted)
            for form in ("auto", "fused")
        )
        assert [m.feature for m in whole.moves] == [m.feature for m in steps.moves]
        assert wanted <= len(whole.moves) < 8
        assert whole.stopped == steps.stopped == "no mistakes left"
        assert whole.steps[max(whole.steps)].error == 0
