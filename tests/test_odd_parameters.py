"""Every parameter of every estimator, given values of types that none of them has."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from fuzz_estimators import QUICK, estimators, is_refusal

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 3))
Y = X[:, 0] + 0.3 * RNG.standard_normal(24)
VALUES = [np.ones((2, 2)), np.array(["a", "b"]), np.arange(3), [[0, 1], [2]], {0: [1]}, 1 + 2j]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", estimators())
def test_values_of_another_type_are_refused_or_used(estimator):
    y = Y > 0 if "Classifier" in estimator.__name__ else Y
    known = inspect.signature(estimator).parameters
    quick = {name: value for name, value in QUICK.items() if name in known}
    for name in known:
        for value in VALUES:
            try:
                estimator(**quick | {name: value}).fit(X, y)
            except Exception as error:
                if not is_refusal(error):
                    raise AssertionError(f"{estimator.__name__}({name}={value!r})") from error
