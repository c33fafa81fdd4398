"""Odd parameters, data and fit arguments from Python: one sentence, or the right answer."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sparsepath import (
    AutoSelectorRegressor,
    ELMFSRegressor,
    ELMRegressor,
    GraftingClassifier,
    GraftingCoxCV,
    GraftingRegressor,
    GraftingRegressorCV,
    InputError,
    LarsSelector,
    LSSVMClassifier,
    LSSVMForwardRegressor,
    LSSVMRegressor,
    MLPGraftingRegressorCV,
    MutualInfoRegressor,
    PathWarning,
    SparseKernelRLSRegressor,
    SparseRankRLS,
    SparseRBFRegressor,
    SparseRBFRegressorCV,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TablePreparation,
    TableSelector,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = X[:, 0] + 0.3 * RNG.standard_normal(30)
SEARCHES = [
    ELMFSRegressor, GraftingRegressor, GraftingRegressorCV, LarsSelector, LSSVMForwardRegressor,
    MLPGraftingRegressorCV, MutualInfoRegressor, SparseKernelRLSRegressor, SparseRBFRegressor,
    SparseRLSRegressor, TableSelector,
]  # fmt: skip


@pytest.mark.parametrize("callback", [5, "stop", [], {}])
@pytest.mark.parametrize("estimator", SEARCHES)
def test_callbacks_that_are_no_functions(estimator, callback):
    with pytest.raises(InputError, match=r"callback=.* is not callable"):
        estimator(callback=callback, validation=None).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GraftingRegressor(feature_costs="linear"), "feature_costs='linear'; give numbers"),
        (GraftingRegressor(l1_factors=object()), "l1_factors=.*; give numbers"),
        (GraftingRegressorCV(l1s="swap"), "l1s='swap'; give numbers"),
        (GraftingRegressorCV(least=[0, 1]), r"least=\[0, 1\]; give a fraction"),
        (GraftingRegressorCV(n_jobs=1 + 2j), r"n_jobs=\(1\+2j\); give a whole number"),
        (MLPGraftingRegressorCV(least="auto"), "least='auto'; give a fraction"),
        (MLPGraftingRegressorCV(n_jobs="x"), "n_jobs='x'; give a whole number"),
        (MLPGraftingRegressorCV(n_jobs=0), "n_jobs=0; give a whole number other than 0"),
        (SparseKernelRLSRegressor(gamma={}), r"gamma=\{\}; give a number"),
        (SparseKernelRLSRegressor(gamma=np.ones(2)), "gamma=.*; give a number"),
        (SparseKernelRLSRegressor(gamma=np.inf), "gamma=inf; give a number"),
        (SparseKernelRLSRegressor(candidates="all"), "candidates='all'; give numbers"),
        (SparseKernelRLSRegressor(kernel=[0]), r"kernel=\[0\]; use"),
        (SparseKernelRLSRegressor(kernel=lambda *_: 0.0), r"kernel returned shape \(\)"),
        (
            SparseKernelRLSRegressor(kernel=lambda a, b: a @ b.T + 1j),
            "kernel returned values that are",
        ),
        (SparseKernelRLSRegressor(kernel=lambda a, b: a @ b.T * np.nan), "kernel returned NaN"),
        (SparseRLSRegressor(feature_costs=np.ones(3) + 0j), "feature_costs must be 3 finite"),
        (GraftingRegressor(feature_costs=[1, 2j, 3]), "feature_costs=.*; give numbers"),
        (GraftingCoxCV(), "shape is"),
        (LSSVMRegressor(gamma=None), "gamma=None; give a finite number"),
        (LSSVMRegressor(sigma2=slice(2)), "sigma2=slice.*; give a finite number"),
        (ELMRegressor(activation=np.arange(3)), "activation=.*; use one of"),
        (SparseRBFRegressor(centres={}), r"centres=\{\}; give a whole number"),
        (GraftingRegressor(validation=np.array(1.0)), "validation=array.*; give a number of folds"),
        (TablePreparation(missing=np.array(["a", "b"])), "missing=array.*; use one of"),
        (AutoSelectorRegressor(final=np.arange(3)), "final=.*; use 'boosting', or None"),
        (GraftingRegressorCV(relax=np.arange(3)), "relax=.*; use True or False"),
        (AutoSelectorRegressor(max_features="x"), "max_features='x'; give a whole number"),
        (ELMFSRegressor(random_state=-1), "random_state=-1; give a whole number from 0"),
        (MutualInfoRegressor(random_state=2**40), "random_state=.*; give a whole number from 0"),
        (MutualInfoRegressor(variant=np.array([1, 2])), "variant=.*; use 1 or 2"),
        (SparseRBFRegressorCV(relaxed=np.ones(2)), "relaxed=.*; use True or False"),
        (GraftingRegressor(fit_intercept=np.ones(2)), "fit_intercept=.*; use True or False"),
        (SparseRLSRegressor(forbidden=np.array(1.0)), "forbidden=.*; give a list of columns"),
        (TableSelector({}), r"selector=\{\} has no path of columns"),
        (TableSelector(ELMRegressor()), "has no path of columns"),
        (TableSelector(TableSelector()), "has no path of columns"),
    ],
)
def test_parameters_of_another_type(estimator, message):
    with pytest.raises(InputError, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2024-01", periods=30, freq="M"),
        pd.interval_range(0, 30, periods=30),
        [{"k": 1}] * 30,
        [[1, 2]] * 30,
        np.ones(30, dtype=complex),
    ],
)
@pytest.mark.parametrize("estimator", [SparseRLSRegressor, ELMRegressor, LSSVMRegressor])
def test_columns_that_are_neither_numbers_nor_text(estimator, column):
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["odd"] = column
    with pytest.raises(InputError, match="neither numbers nor text in column 'odd'"):
        estimator().fit(frame, Y)


def test_columns_of_numbers_in_types_of_pandas_and_python():
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["objects"] = np.array([1, 2.5, True] * 10, dtype=object)
    frame["flags"] = pd.array([True, False] * 15, dtype="boolean")
    assert SparseRLSRegressor().fit(frame, Y).n_features_in_ == 5


def test_text_below_columns_of_several_levels():
    frame = pd.DataFrame({("u", "a"): X[:, 0], ("u", "b"): ["p", 1, "q"] * 10})
    with pytest.raises(InputError, match="text"):
        SparseRLSRegressor().fit(frame, Y)


@pytest.mark.parametrize("names", [[0, 1], ["c", None]])
def test_odd_columns_of_tables_with_odd_names(names):
    frame = pd.DataFrame({"c": X[:, 0], "odd": pd.interval_range(0, 30, periods=30)})
    frame.columns = names
    with pytest.raises(InputError, match="interval"):
        TablePreparation().fit(frame)


@pytest.mark.parametrize("weights", [2.0, ["1"] * 30, np.full(30, 3, dtype=np.int8)])
def test_equal_weights_in_any_form_change_nothing(weights):
    frame = pd.DataFrame(X, columns=list("abc"))
    plain = GraftingRegressor(validation=3).fit(frame, Y)
    same = GraftingRegressor(validation=3).fit(frame, Y, sample_weight=weights)
    assert np.allclose(plain.coef_, same.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("estimator", [LSSVMRegressor, SparseRLSRegressor, GraftingRegressor])
def test_weights_whose_squares_floating_point_cannot_hold(estimator, size):
    with pytest.raises(InputError, match="sample_weight holds numbers of the size of"):
        estimator().fit(X, Y, sample_weight=np.full(30, size))


def test_groups_without_order_in_the_validation():
    with pytest.raises(InputError, match="groups has labels that cannot be sorted"):
        GraftingRegressor(validation=2).fit(X, Y, groups=[None, 1] * 15)


@pytest.mark.parametrize("estimator", [GraftingRegressor(), SparseKernelRLSRegressor()])
def test_columns_whose_squares_overflow(estimator):
    wide = X.copy()
    wide[3] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(
            InputError, match="numbers whose squares exceed the range of floating point"
        ):
            estimator.fit(wide, Y)


@pytest.mark.parametrize("size", [1e-152, 1e-180])
def test_columns_whose_squares_are_zero_in_grafting(size):
    tiny = np.c_[X, size * Y]
    with pytest.warns(PathWarning, match="1e-150 and less"):
        model = GraftingRegressor(validation=None).fit(tiny, Y)
    assert 3 not in model.selected_


def test_huge_targets_of_a_classifier():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="continuous"):
            GraftingClassifier().fit(X, Y * 1e300)


def test_tables_with_a_list_as_the_target():
    """The search for leaks reads the target too."""
    table = pd.DataFrame(X, columns=list("abc"))
    table["lagged"] = np.r_[np.nan, Y[:-1]]
    table["leak"] = Y
    with pytest.warns(UserWarning, match="leak"):
        as_list = TableSelector(missing="median", validation=2).fit(table, Y.tolist())
    with pytest.warns(UserWarning, match="leak"):
        as_array = TableSelector(missing="median", validation=2).fit(table, Y)
    assert as_list.path_.subsets == as_array.path_.subsets


def test_sparse_columns_of_pandas():
    dense = np.where(X > 0.5, X, 0.0)
    frame = pd.DataFrame(dense, columns=list("abc")).astype(pd.SparseDtype(float, 0.0))
    found = SparseRLSRegressor().fit(frame, Y).path_.subsets
    assert found == SparseRLSRegressor().fit(dense, Y).path_.subsets


@pytest.mark.parametrize("threshold", [{}, slice(2), {1, 2}, "half", [[0, 1]]])
def test_thresholds_of_another_type(threshold):
    with pytest.raises(InputError, match=r"threshold=.*; use 'balanced'"):
        SparseRLSClassifier(threshold=threshold, validation=None).fit(X, Y > 0)


@pytest.mark.parametrize("y", [Y.astype(complex), np.c_[np.abs(Y), Y > 0].astype(complex)])
def test_complex_times_of_survival(y):
    with pytest.raises(InputError, match="values that are not numbers"):
        GraftingCoxCV(validation=None).fit(X, y)


@pytest.mark.parametrize("estimator", [SparseRLSClassifier, GraftingClassifier, LSSVMClassifier])
def test_dates_as_classes(estimator):
    """A model file would predict other labels."""
    days = np.arange(30).astype("datetime64[D]")
    with pytest.raises(InputError, match="y holds dates"):
        estimator().fit(X, days)


def test_columns_whose_weighted_mean_overflows():
    wide = X.copy()
    wide[3] = 1e308
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InputError, match="exceed the range of floating point"):
            SparseKernelRLSRegressor().fit(wide, Y, sample_weight=np.full(30, 7.0))


class KernelError(Exception):
    """What the kernel of the next test raises."""


@pytest.mark.parametrize("validation", [None, 3])
def test_what_a_kernel_raises_reaches_the_caller(validation):
    def kernel(A, B):
        raise KernelError

    with pytest.raises(KernelError):
        SparseKernelRLSRegressor(kernel=kernel, validation=validation).fit(X, Y)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array, pd.DataFrame])
@pytest.mark.parametrize("estimator", [GraftingRegressor, SparseRLSRegressor])
def test_huge_numbers_in_a_row_without_weight_or_in_a_row_to_predict(estimator, form):
    """Their predictions, and those of folds without this row, would not be finite."""
    wide, weights = X.copy(), np.ones(30)
    wide[3, 1], weights[3] = 1e200, 0
    with pytest.raises(InputError, match="column '1' has numbers whose squares exceed"):
        estimator(validation=None).fit(form(wide), Y, sample_weight=weights)
    model = estimator(validation=None).fit(form(X), Y)
    with pytest.raises(InputError, match="column '1' has numbers whose squares exceed"):
        model.predict(form(wide))
    with pytest.raises(InputError, match="column '1' has numbers whose squares exceed"):
        estimator(validation=None).fit(np.repeat(wide, 2, axis=1)[:, ::2], Y)


def test_numbers_below_the_largest_in_every_order():
    wide = 1e149 * X
    for form in (wide, np.asfortranarray(wide), np.repeat(wide, 2, axis=1)[:, ::2]):
        plain = SparseRLSRegressor(validation=None).fit(X, Y)
        assert SparseRLSRegressor(validation=None).fit(form, Y).path_.subsets == plain.path_.subsets


def test_huge_numbers_that_only_a_test_fold_has():
    wide = X.copy()
    wide[3] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InputError, match="whose squares exceed the range"):
            SparseRBFRegressorCV(rs=2, ts=2, cv=3, validation=None).fit(wide, Y)


def test_queries_without_order():
    with pytest.raises(InputError, match="groups has labels that cannot be sorted"):
        SparseRankRLS(validation=None).fit(X, Y, groups=[None] * 30)


def test_several_penalties_of_batches():
    with pytest.raises(InputError, match=r"l0=array[^;]*; give a finite number"):
        GraftingRegressor(l0=np.ones((2, 2)), steps="batch").fit(X, Y)


def test_single_precision_whose_squares_it_cannot_hold():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = SparseRLSRegressor(validation=None).fit((1e37 * X).astype(np.float32), Y)
    assert model.path_.subsets == SparseRLSRegressor(validation=None).fit(X, Y).path_.subsets


def test_tiny_numbers_are_refused_without_a_warning_of_numpy():
    tiny = np.c_[X, 1e-160 * Y]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(InputError, match=r"column '3' has numbers .* 1e-150 and less"):
            SparseRLSRegressor(validation=None).fit(tiny, Y)
