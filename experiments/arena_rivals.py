"""What a user would pick instead: estimators that tune themselves on the training rows.

Those that order the columns (univariate scores, mRMR, fastcan) choose the number of columns by
five folds, with a ridge or logistic model on top. Packages that are not installed are left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import RFECV, f_classif, f_regression
from sklearn.linear_model import (
    ElasticNetCV,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    RidgeCV,
    lasso_path,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PENALTIES = np.logspace(-6, 3, 10)
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40)
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
MCP_PENALTIES = 20


@dataclass(frozen=True)
class Method:
    """An estimator, the columns that it uses once it is fitted, and whether it selects any."""

    make: Callable[[], Any]
    columns: Callable[[Any], Any]
    selects: bool = True


class Ordered(BaseEstimator):
    """The first columns of an order, their number chosen by five folds, and a model on them."""

    def __init__(self, order, model, final):
        self.order, self.model, self.final = order, model, final

    def fit(self, X, y):
        self.scaler_ = StandardScaler().fit(X)
        Z = self.scaler_.transform(X)
        sizes = sorted({min(k, X.shape[1]) for k in SIZES})
        errors = np.zeros(len(sizes))
        numbers = isinstance(self.final, RidgeCV)
        folds = KFold(5, shuffle=True, random_state=0) if numbers else stratified(y)
        for train, test in folds.split(Z, y):
            order = self.order(Z[train], y[train], sizes[-1])
            for i, k in enumerate(sizes):
                model = clone(self.model).fit(Z[train][:, order[:k]], y[train])
                said = model.predict(Z[test][:, order[:k]])
                wrong = (said - y[test]) ** 2 if numbers else said != y[test]
                errors[i] += wrong.sum()
        best = sizes[int(errors.argmin())]
        self.columns_ = np.asarray(self.order(Z, y, sizes[-1]))[:best]
        self.model_ = clone(self.final).fit(Z[:, self.columns_], y)
        return self

    def predict(self, X):
        return self.model_.predict(self.scaler_.transform(X)[:, self.columns_])


def stratified(y) -> Any:
    least = np.unique(y, return_counts=True)[1].min()
    if least < 5:
        return KFold(5, shuffle=True, random_state=0)
    return StratifiedKFold(5, shuffle=True, random_state=0)


def univariate(score: Callable) -> Callable:
    """Columns by their F statistics."""
    return lambda Z, y, k: np.argsort(-np.nan_to_num(score(Z, y)[0]), kind="stable")[:k]


def mrmr(score: Callable) -> Callable:
    """The largest F statistic over the mean absolute correlation with the columns before."""

    def order(Z, y, k):
        relevance = np.nan_to_num(score(Z, y)[0])
        unit = Z - Z.mean(0)
        unit = unit / np.maximum(np.linalg.norm(unit, axis=0), 1e-12)
        chosen = [int(relevance.argmax())]
        redundancy = np.zeros(Z.shape[1])
        while len(chosen) < k:
            redundancy += np.abs(unit[:, chosen[-1]] @ unit)
            value = relevance / np.maximum(redundancy / len(chosen), 1e-3)
            value[chosen] = -np.inf
            chosen.append(int(value.argmax()))
        return chosen

    return order


def fastcan(Z, y, k):
    from fastcan import FastCan

    targets = y if y.dtype.kind == "f" else (y[:, None] == np.unique(y)).astype(float)[:, 1:]
    return FastCan(min(k, len(Z) - 2), verbose=0).fit(Z, targets).indices_


class RelaxedLasso(BaseEstimator):
    """Lasso path mixed with least squares on its columns; penalty and mix by five folds."""

    def fit(self, X, y):
        self.scaler_ = StandardScaler().fit(X)
        Z, mean = self.scaler_.transform(X), y.mean()
        alphas = lasso_path(Z, y - mean, n_alphas=60, eps=1e-3)[0]
        errors = np.zeros((len(MIXES), len(alphas)))
        for train, test in KFold(5, shuffle=True, random_state=0).split(Z):
            level, middle = y[train].mean(), Z[train].mean(0)
            for i, mixed in enumerate(relaxed(Z[train] - middle, y[train] - level, alphas)):
                for j, coef in enumerate(mixed):
                    said = (Z[test] - middle) @ coef + level
                    errors[j, i] += np.sum((said - y[test]) ** 2)
        j, i = np.unravel_index(errors.argmin(), errors.shape)
        self.coef_ = relaxed(Z, y - mean, alphas[: i + 1])[-1][j]
        self.intercept_ = mean
        return self

    def predict(self, X):
        return self.scaler_.transform(X) @ self.coef_ + self.intercept_


def relaxed(Z, y, alphas) -> list[list[np.ndarray]]:
    """For every penalty: the mixes of its least squares and lasso coefficients."""
    every, known = [], {}
    for lasso in lasso_path(Z, y, alphas=alphas, max_iter=5000)[1].T:
        used = np.flatnonzero(lasso)
        key = used.tobytes()
        if key not in known:
            free = np.zeros_like(lasso)
            if len(used):
                free[used] = np.linalg.lstsq(Z[:, used], y, rcond=1e-10)[0]
            known[key] = free
        every.append([mix * lasso + (1 - mix) * known[key] for mix in MIXES])
    return every


class L1Logistic(BaseEstimator):
    """L1 penalty by five folds, with the solver that is faster for the number of classes."""

    def fit(self, X, y):
        self.scaler_ = StandardScaler().fit(X)
        two = len(np.unique(y)) == 2
        self.model_ = LogisticRegressionCV(
            Cs=10, cv=stratified(y), l1_ratios=(1.0,), use_legacy_attributes=False,
            solver="liblinear" if two else "saga", tol=1e-4 if two else 1e-2,
            max_iter=300 if two else 100, random_state=0,
        ).fit(self.scaler_.transform(X), y)  # fmt: skip
        return self

    def predict(self, X):
        return self.model_.predict(self.scaler_.transform(X))


class MCP(BaseEstimator):
    """The minimax concave penalty by skglm; the penalty by five folds."""

    def fit(self, X, y):
        from skglm.estimators import MCPRegression

        self.scaler_ = StandardScaler().fit(X)
        Z, self.mean_ = self.scaler_.transform(X), y.mean()
        largest = np.abs(Z.T @ (y - self.mean_)).max() / len(y)
        penalties = largest * np.geomspace(1, 1e-3, MCP_PENALTIES)
        folds = KFold(5, shuffle=True, random_state=0)
        ends = {"tol": 1e-3 * y.std(), "max_iter": 20, "max_epochs": 500}
        models = [MCPRegression(alpha=penalty, **ends) for penalty in penalties]
        scored = [
            cross_val_score(model, Z, y, cv=folds, scoring="neg_mean_squared_error").mean()
            for model in models
        ]
        self.model_ = models[int(np.argmax(scored))].fit(Z, y)
        return self

    def predict(self, X):
        return self.model_.predict(self.scaler_.transform(X))


class Abess(BaseEstimator):
    """Best subsets by abess, their size by five folds."""

    def __init__(self, classes):
        self.classes = classes

    def fit(self, X, y):
        import abess

        self.scaler_ = StandardScaler().fit(X)
        Z, codes = self.scaler_.transform(X), y
        model = abess.LinearRegression
        if self.classes:
            self.classes_, codes = np.unique(y, return_inverse=True)
            two = len(self.classes_) == 2
            model = abess.LogisticRegression if two else abess.MultinomialRegression
        sizes = range(min(40, Z.shape[1], len(y) // 2) + 1)
        self.model_ = model(cv=5, support_size=sizes, thread=1)
        self.model_.fit(Z, np.eye(len(self.classes_))[codes] if self.classes and not two else codes)
        return self

    def predict(self, X):
        said = np.asarray(self.model_.predict(self.scaler_.transform(X)))
        if not self.classes:
            return said
        said = said.argmax(1) if said.ndim == 2 else said
        return self.classes_[said.astype(int)]


def kept_by_rfe(model) -> np.ndarray:
    return np.flatnonzero(model[-1].support_)


def nonzero(model) -> np.ndarray:
    """Columns with a coefficient."""
    last = model[-1] if hasattr(model, "steps") else getattr(model, "model_", model)
    scaler = model[0] if hasattr(model, "steps") else model.scaler_
    coef = np.atleast_2d(last.coef_)
    by_column = coef if coef.shape[1] == scaler.n_features_in_ else coef.T
    return np.flatnonzero(by_column.any(0))


def of_order(model) -> np.ndarray:
    return model.columns_


def every(model) -> None:
    return None


def scaled(model) -> Any:
    return make_pipeline(StandardScaler(), model)


def regression() -> dict[str, Method]:
    ridge = RidgeCV(PENALTIES)
    found = {
        "LassoCV": Method(lambda: scaled(LassoCV(max_iter=5000, cv=5)), nonzero),
        "ElasticNetCV": Method(
            lambda: scaled(ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9], max_iter=5000, cv=5, alphas=50)),
            nonzero,
        ),
        "relaxed lasso": Method(RelaxedLasso, lambda model: np.flatnonzero(model.coef_)),
        "abess": Method(lambda: Abess(False), nonzero),
        "fastcan": Method(lambda: Ordered(fastcan, ridge, ridge), of_order),
        "skglm MCP": Method(MCP, nonzero),
        "SelectKBest": Method(lambda: Ordered(univariate(f_regression), ridge, ridge), of_order),
        "mRMR": Method(lambda: Ordered(mrmr(f_regression), ridge, ridge), of_order),
        "RFECV": Method(lambda: scaled(RFECV(RidgeCV(PENALTIES), step=0.1, cv=5)), kept_by_rfe),
        "boosting": Method(lambda: HistGradientBoostingRegressor(random_state=0), every, False),
        "random forest": Method(lambda: RandomForestRegressor(random_state=0), every, False),
        "least squares": Method(LinearRegression, every, False),
    }
    return installed(found)


def classification() -> dict[str, Method]:
    logistic = LogisticRegression(max_iter=300)
    final = LogisticRegressionCV(
        Cs=6, cv=3, max_iter=300, l1_ratios=(0.0,), use_legacy_attributes=False
    )
    found = {
        "L1 logistic": Method(L1Logistic, nonzero),
        "abess": Method(lambda: Abess(True), nonzero),
        "fastcan": Method(lambda: Ordered(fastcan, logistic, final), of_order),
        "SelectKBest": Method(lambda: Ordered(univariate(f_classif), logistic, final), of_order),
        "mRMR": Method(lambda: Ordered(mrmr(f_classif), logistic, final), of_order),
        "RFECV": Method(
            lambda: scaled(RFECV(LogisticRegression(max_iter=300), step=0.2, cv=5)), kept_by_rfe
        ),
        "boosting": Method(lambda: HistGradientBoostingClassifier(random_state=0), every, False),
        "random forest": Method(lambda: RandomForestClassifier(random_state=0), every, False),
    }
    return installed(found)


def installed(methods: Mapping[str, Method]) -> dict[str, Method]:
    needs = {"abess": "abess", "fastcan": "fastcan", "skglm MCP": "skglm"}
    return {
        name: method
        for name, method in methods.items()
        if name not in needs or find_spec(needs[name]) is not None
    }
