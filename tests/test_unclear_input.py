"""Parameters and columns of a wrong kind are named, with what is allowed."""

import numpy as np
import pandas as pd
import pytest

import sparsepath
from sparsepath import InputError

X = np.random.default_rng(0).standard_normal((30, 4))
y = X[:, 0] + np.random.default_rng(1).standard_normal(30)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sparsepath.SparseRLSRegressor(callback=5), "callback=5 is not callable"),
        (sparsepath.SparseRLSRegressor(checkpoint=5), "checkpoint=5; give the name of a file"),
        (sparsepath.MLPGraftingRegressor(tol="x"), "tol='x'; give a number between 0 and 1"),
        (sparsepath.MLPGraftingRegressor(tol=[0.1, "x"]), "tol='x'; give a number between 0 and 1"),
        (sparsepath.MLPGraftingRegressor(tol=[]), "give a number between 0 and 1, or several"),
        (sparsepath.ReducedRankKernelRidge(tolerance=1.5), "tolerance=1.5; give a number between"),
    ],
)
def test_parameters(model, words):
    with pytest.raises(InputError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.period_range("2020", periods=30, freq="M"), "period"),
        (pd.interval_range(0, 30), "interval"),
    ],
)
def test_columns_of_pandas_that_are_neither_numbers_text_nor_dates(values, kind):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(p=values)
    model = sparsepath.TableSelector(sparsepath.SparseRLSRegressor())
    with pytest.raises(InputError, match=f"'p' holds {kind}.*not numbers, text or dates"):
        model.fit(frame, y)


def test_a_column_without_any_value_is_a_column_of_missing_values():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(p=None)
    model = sparsepath.TableSelector(sparsepath.SparseRLSRegressor())
    with pytest.raises(InputError, match="missing values in column 'p'"):
        model.fit(frame, y)
