"""What is left of a network after pruning."""

import numpy as np
import pytest

from sparsepath.data.synthetic import friedman
from sparsepath.rbf.model import Options, train


@pytest.mark.parametrize(
    ("seed", "r", "t"), [(2, 1000.0, 0.003), (1, 1000.0, 0.05), (0, 20.0, 0.05)]
)
def test_the_pruned_network_fits_as_well_as_the_solution(seed, r, t):
    """Wide Gaussians with coefficients in the hundreds: none that matters may be taken for zero."""
    data = friedman(60, 6, random_state=seed)
    fit = train(data.X, data.y, data.X, r, t, Options(relevance=0.0))
    error = np.mean((fit.model.predict(data.X) - data.y) ** 2) / data.y.var()
    assert error <= 1.01 * fit.solution.error + 2e-6
    assert 0 < len(fit.model.coef) < 30  # of 60


def test_without_an_input_that_is_left_out_the_coefficients_are_found_again():
    data = friedman(60, 6, random_state=0)
    whole = train(data.X, data.y, data.X, 200.0, 0.05, Options(relevance=0.0))
    few = train(data.X, data.y, data.X, 200.0, 0.05, Options(relevance=0.3))
    assert len(few.dropped) > 0
    assert set(few.model.columns) < set(whole.model.columns)
    off = few.model.predict(data.X) - data.y
    assert abs(off.mean()) < 1e-3 * data.y.std()  # as those of the best coefficients with a bias
    assert np.mean(off**2) < 0.7 * data.y.var()
