"""Compiled loops over rows, short and long, alone and a few at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import make
from rls.comparing import design_of, weights_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.whole import chosen_by, forward


@pytest.mark.parametrize("m", [30, 1003])
@pytest.mark.parametrize("targets", [1, 2, 3, 4, 5])
def test_products_with_several_targets(m, targets):
    from sparsepath.rls.leave_one_out.compiled_rows import products_of

    rng = np.random.default_rng(targets)
    Z, U = rng.standard_normal((23, m)), rng.standard_normal((targets, m))
    for low, high in ((0, 23), (3, 12), (5, 5)):
        out = np.full((targets, 23), np.nan)
        products_of(Z, low, high, U, 1, out)
        asked = np.zeros_like(out, dtype=bool)
        asked[1:, low:high] = True
        assert np.array_equal(np.isnan(out), ~asked)
        assert_allclose(out[asked], (U @ Z.T)[asked], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("m", [40, 1003])
@pytest.mark.parametrize("targets", [2, 3, 5])
def test_several_targets_choose_as_numpy_does(m, targets):
    """More candidates than stay near, and more steps than are left pending."""
    case = make("targets", m, 45, T=targets, seed=m)
    design = design_of(case.X, weights_of(case))
    given = design, Centred.of(design, case.Y), 0.5, 25, ~design.constant
    features, vanished = chosen_by(*given, compiled=True)
    expected, ended = forward(*given)
    assert features.tolist() == expected.tolist()
    assert vanished == ended
