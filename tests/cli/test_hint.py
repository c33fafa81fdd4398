"""The hint at other methods, for a selection in which nothing but the default is requested."""

import numpy as np
import pytest

from cli.conftest import Run
from sparsepath import ELMFSRegressor, GraftingRegressorCV, SparseRLSRegressor
from sparsepath.cli.hint import method_hint
from sparsepath.data.readers import write_table

SAID = "a nonlinear model (elm-fs) on 3 features has less than a tenth of this error on new data"


def drawn(n, p, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal(n)


def target(X, noise):
    return 3 * X[:, 0] * X[:, 1] + 2 * X[:, 2] ** 2 + 0.3 * noise


@pytest.mark.validated
def test_a_product_is_hinted_at_by_default_only(run: Run, tmp_path) -> None:
    X, noise = drawn(250, 6, 0)
    file = tmp_path / "data.csv"
    write_table(file, {**{f"x{j}": X[:, j] for j in range(6)}, "y": target(X, noise)})
    asked = ("select", file, "--target", "y")
    assert f"Note: {SAID}: use --method auto." in run(*asked).err
    for more in (("--method", "lars"), ("--max-features", 3), ("--quiet",), ("--no-validation",)):
        assert "nonlinear" not in run("select", file, "--target", "y", *more).err


@pytest.mark.parametrize("seed", range(4))
def test_noise_and_linear_targets_have_no_hint(seed) -> None:
    X, noise = drawn(40 + 20 * seed, 10, seed)
    for y in (noise, X[:, 0] - X[:, 1] + noise):
        model = SparseRLSRegressor(validation=5).fit(X, y)
        assert method_hint(model, X, y) == ""


def test_a_promise_that_the_folds_do_not_keep_is_no_hint() -> None:
    """The criterion of the search promises a sixth of the error here, of noise."""
    X, y = drawn(40, 10, 5)
    model = SparseRLSRegressor(validation=5).fit(X, y)
    path = ELMFSRegressor(n_restarts=20, random_state=0, validation=None).fit(X, y).path_
    assert path.error(path.choose("min")) < model.honest_.error / 2
    assert method_hint(model, X, y) == ""


def test_data_that_take_long_have_no_hint(monkeypatch) -> None:
    X, noise = drawn(250, 4, 0)
    y = target(X, noise)
    model = SparseRLSRegressor(validation=5).fit(X, y)
    assert SAID in method_hint(model, X, y)
    monkeypatch.setattr("sparsepath.cli.hint.SHORT", 0.0)
    assert method_hint(model, X, y) == ""


def test_grafting_is_hinted_at_where_many_weak_features_count() -> None:
    """Few rows and many weak effects: the penalty of the search is too small for them."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 40)) + rng.standard_normal((60, 1))
    y = X.mean(1) + 0.3 * rng.standard_normal(60)
    model = SparseRLSRegressor(alpha=1e-3, validation=5).fit(X, y)
    plain = GraftingRegressorCV(validation=5).fit(X, y).honest_
    assert plain.error < 0.85 * model.honest_.error
    part = f"{plain.error / model.honest_.error:.0%} of this error on new data"
    said = f"grafting on {plain.size} features has {part}: use --method auto."
    assert method_hint(model, X, y) == said
