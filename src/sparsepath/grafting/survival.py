"""Linear grafting for right-censored times, as estimators."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _num_samples

from sparsepath.assessment.metrics import METRICS, Truth
from sparsepath.base.fitting import refuse_source
from sparsepath.data.validation import check_weights
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.grafting.cross_validation import _GraftingCV
from sparsepath.grafting.estimators import _Grafting
from sparsepath.grafting.partial_likelihood import CoxLoss, signed_times, time_and_event
from sparsepath.system.arrays import Floats, Vector


class Survival:
    """Times and events in, risk scores out."""

    _metric = "concordance"
    _error = "loss"
    _one_target = True
    _reads_in_passes = False

    def fit(
        self, X: Any, y: Any = None, sample_weight: Vector = None, groups: Vector = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array or data frame of shape (n_samples, 2), or structured array
            Time, and event: 1 if it happened at that time, 0 if the time is censored. Of a
            structured array the field of booleans is the event.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples in the partial likelihood.
        groups : array of shape (n_samples,), optional
            Samples of one group are never parted by validation.
        """
        refuse_source(self, X)
        pairs = time_and_event(y, _num_samples(X))
        return super().fit(X, pairs, sample_weight, groups)  # type: ignore[misc]

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, ConvexLoss]:
        Y, weights = signed_times(y, m), check_weights(sample_weight, m)
        if not ((weights > 0) & ~np.signbit(Y[:, 0])).any():
            raise InputError("y has no event: all times are censored, so there is no risk to fit.")
        return Y, weights, CoxLoss()

    def predict(self, X: Any) -> Floats:
        """Risk scores, larger for samples whose event is expected sooner.

        A score is the logarithm of the hazard relative to that of an average sample.
        """
        scores: Floats = self._scores(X)  # type: ignore[attr-defined]
        return scores[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Concordance: the share of comparable pairs of samples in the right order of risk.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            The features.
        y : array of shape (n_samples, 2), or structured array
            Time, and event: 1 if it happened, 0 if the time is censored.
        sample_weight : None
            Not used.
        """
        risk = self.predict(X)
        truth = Truth(time_and_event(y, len(risk)))
        return 1.0 - float(METRICS["concordance"].losses(truth, risk[:, None])[0])


@dataclass(eq=False, repr=False)
class GraftingCox(Survival, _Grafting):
    r"""Cox regression of right-censored times with L0, L1 and L2 penalties, by grafting.

    Minimises minus the logarithm of the partial likelihood (Breslow's rule for ties), divided by
    the number of samples, with the penalties of :class:`GraftingRegressor`. ``predict`` gives risk
    scores, and the honest measure is the concordance: the share of comparable pairs of samples in
    the right order of risk (Harrell's C).

    Parameters
    ----------
    l1, l2, l0 : float, default=0.01, 0, 0
        Penalty parameters lambda. ``l2`` multiplies the squares, without a factor of one half.
    feature_costs : array or mapping of names to numbers, optional
        Factors a_0 of the L0 penalty: the cost of using a feature.
    l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors a_1, a_2; names that are missing from a mapping have factor 1.
    fit_intercept : bool, default=True
        Whether to center the features, which adds a constant to the risk scores.
    standardize : bool, default=True
        Whether to scale features to standard deviation 1 internally (coefficients are always in
        units of the data).
    steps : {"auto", "single", "batch"}, default="auto"
        One weight at a time as in the paper, or many, which finds the same optimum faster; "auto"
        uses single steps if ``l0``, ``max_features`` or ``update="newest"`` require them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        How the next weight is chosen: by the largest gradient, or by the bound (9) of the paper;
        "auto" uses the bound if the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would increase the criterion: stop, or try all others first.
    update : {"all", "newest"}, default="all"
        Weights that each step optimises: all, or only the new one and the intercept.
    max_features : int, optional
        Stop when this many features are selected.
    tol : float, default=1e-9
        Tolerance of the optimality certificates.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": ten), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every accepted step, or with ``steps="batch"`` after
        every round; a true return value stops the work and keeps the result so far
        (``path_.stopped`` is then "asked to").

    Attributes
    ----------
    path_ : SelectionPath
        Best model of every size that was visited, by the criterion. Its errors are training
        errors without penalties: minus the mean logarithms of the partial likelihood.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_, intercept_ : array, float
        Coefficients in units of the data, and the constant that makes the mean score zero.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it; rejected steps included.
    criterion_ : float
        Criterion of the model in use, including L0; ``at_size`` gives that of another size.
    kkt_violation_ : float
        Largest violation of the optimality conditions (without L0), relative to the largest
        gradient of the empty model.
    dual_gap_ : float
        NaN: the partial likelihood has no simple dual point.
    n_iter_ : int
        Number of Newton steps.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> time = rng.exponential(np.exp(-X[:, 1] + 0.5 * X[:, 4]))
    >>> end = rng.exponential(2.0, size=300)
    >>> y = np.column_stack([np.minimum(time, end), time <= end])
    >>> model = GraftingCox(l1=0.1).fit(X, y)
    >>> model.selected_.tolist()
    [1, 4]
    >>> 0.7 < model.score(X, y) < 0.9
    True
    """


@dataclass(eq=False, repr=False)
class GraftingCoxCV(Survival, _GraftingCV):
    """Cox regression by grafting with l1, and so the number of features, by cross-validation.

    A path over l1 is fitted to all data and to every training part; each model is evaluated by the
    partial likelihood within the test parts. ``predict`` gives risk scores, and the honest measure
    is the concordance, the share of comparable pairs of samples in the right order of risk.

    Parameters
    ----------
    l1s : array, optional
        Values of l1 to try.
    n_l1s, least : int, float, default=30, 0.01
        Without ``l1s``: number of values, from the largest useful one down to this fraction of it.
    l2, l0 : float, default=0.0
        Penalty parameters lambda. ``l2`` multiplies the squares, without a factor of one half.
    feature_costs : array or mapping of names to numbers, optional
        Factors a_0 of the L0 penalty: the cost of using a feature.
    l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors a_1, a_2; names that are missing from a mapping have factor 1.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses l1.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    fit_intercept : bool, default=True
        Whether to center the features, which adds a constant to the risk scores.
    standardize : bool, default=True
        Whether to scale features to standard deviation 1 internally (coefficients are always in
        units of the data).
    steps : {"auto", "single", "batch"}, default="auto"
        One weight at a time as in the paper, or many, which finds the same optimum faster; "auto"
        uses single steps if ``l0`` or ``update="newest"`` require them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        How the next weight is chosen: by the largest gradient, or by the bound (9) of the paper;
        "auto" uses the bound if the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would increase the criterion: stop, or try all others first.
    update : {"all", "newest"}, default="all"
        Weights that each step optimises: all, or only the new one and the intercept.
    max_features : int, optional
        Largest size on the path. The path over l1 starts with the empty model and ends before the
        first model with more features, so it can end below this size. With single steps each model
        stops at this size instead.
    tol : float, default=1e-09
        Tolerance of the optimality certificates.
    n_jobs : int, optional
        Number of splits that run in parallel. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called with the path so far after every l1 on all data (with training errors), then
        after every split (with means over the splits so far). A true return value stops the work
        and keeps the result so far: ``path_.stopped`` is then "asked to", after Ctrl-C
        "interrupted".

    Attributes
    ----------
    path_ : SelectionPath
        For every size on the path, the model with the lowest cross-validation error.
    l1_, l1s_ : float, array
        The l1 in use; all values tried, in decreasing order.
    cv_errors_ : array of shape (n_l1s, n_splits)
        Minus mean logarithms of the partial likelihood within the test parts.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_, intercept_ : array, float
        Coefficients in units of the data, and the constant that makes the mean score zero.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it; rejected steps included. Of the
        model in use.
    criterion_ : float
        Criterion of the model in use, including L0; ``at_size`` gives that of another size. Of the
        model in use.
    kkt_violation_ : float
        Largest violation of the optimality conditions (without L0), relative to the largest
        gradient of the empty model.
    dual_gap_ : float
        NaN: the partial likelihood has no simple dual point.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> time = rng.exponential(np.exp(-X[:, 1] + 0.5 * X[:, 4]))
    >>> end = rng.exponential(2.0, size=300)
    >>> y = np.column_stack([np.minimum(time, end), time <= end])
    >>> model = GraftingCoxCV().fit(X, y)
    >>> model.selected_.tolist()
    [1, 4]
    >>> 0.7 < model.score(X, y) < 0.9
    True
    """
