"""Some two hundred small fits, recorded: what later code must reproduce.

    python -m tools.reference_fits tests/reference_fits.json

records choices (the features of every size), errors, honest errors and predictions;
``tests/test_reference_fits.py`` compares. A change that is meant to change results says so in its
note and records them again; every other change reproduces them.

The data are whole numbers divided by a power of two, drawn by a generator whose stream is frozen,
so they are the same to the last bit on every machine. Sums of products differ in the last bits
between processors and BLAS libraries. What is solved directly keeps nine digits through that. An
iteration that ends at a tolerance keeps those that its tolerance leaves, so ``ITERATED`` fits are
compared to seven. Left out are fits whose random numbers or local optima depend on the machine.
"""

import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

import sparsepath as sp
from sparsepath.rls import Huber, MaxT, Patience, Tolerance

ROWS, COLUMNS, SHOWN = 80, 10, 4  # of the data, and predictions that are recorded
ITERATED = ("grafting", "elm", "rbf", "kernel")
SEARCHES = ("forward", "floating", "backward", "swap", "strong", "exact")
Fit = Callable[[], tuple[Any, Any]]  # a fitted estimator, and features to predict for


def whole(seed: int, *shape: int) -> np.ndarray:
    """Whole numbers from -24 to 24, near zero more often."""
    rng = np.random.RandomState(seed)
    return sum(rng.randint(-8, 9, shape) for _ in range(3)).astype(float)


X = whole(0, ROWS, COLUMNS)
X[:, 5:8] = (X[:, 5:8] + X[:, :3]) / 2
X /= 8
NOISE = whole(1, ROWS)
NUMBERS = 2 * X[:, 1] - X[:, 4] + 0.5 * X[:, 7] + NOISE / 8
CLASSES = np.where(NUMBERS + NOISE / 4 > 0.25, "yes", "no")
THREE = np.digitize(X[:, 1] + NOISE / 16, [-1, 1])
COUNTS = np.floor(np.abs(X[:, 1] * 2 + NOISE / 8))
GROUPS = np.arange(ROWS) * 7 % 16
WEIGHTS = 1.0 + np.arange(ROWS) % 3
CSR = sparse.csr_array(X)
TWO = np.column_stack([NUMBERS, X[:, 3] + NOISE / 16])


def fit(
    kind: Any,
    y: Any,
    *given: Any,
    data: Any = X,
    shown: Any = X,
    fitted: Any = None,
    rows: bool = True,
    **options: Any,
) -> Fit:
    """A fit without honest errors, unless ``validation`` is given; it predicts for ``shown``.

    With ``rows`` a number of folds ``cv`` means folds in the order of the rows.
    """
    if rows and isinstance(options.get("cv"), int) and "groups" not in (fitted or {}):
        classes = is_classifier(kind.__new__(kind))
        options["cv"] = (StratifiedKFold if classes else KFold)(options["cv"])
    if "validation" in kind.__dataclass_fields__:
        options.setdefault("validation", None)
    return lambda: (kind(*given, **options).fit(data, y, **(fitted or {})), shown)


def cases(folder: Path) -> Iterator[tuple[str, Fit]]:
    """The names of all fits and how to make them; ``folder`` is for files."""
    yield from searches()
    yield from splits()
    yield from folds_by_content()
    yield from constraints()
    yield from shapes()
    yield from storages(folder)
    yield from ranking_and_kernels()
    yield from grafting()
    yield from other_methods()
    yield from validated()


def searches() -> Iterator[tuple[str, Fit]]:
    """Searches and losses, for numbers and for classes."""
    losses = ("squared", "absolute", "huber", "log_cosh")
    for search, loss, cv in itertools.product(SEARCHES, losses, ("loo", 4)):
        if search != "exact" or (loss, cv) == ("squared", "loo"):
            made = fit(sp.SparseRLSRegressor, NUMBERS, 4, search=search, loss=loss, cv=cv)
            yield f"rls {search} {loss} {cv}", made
    losses = ("squared", "zero_one", "balanced", "auc")
    for search, loss, cv in itertools.product(SEARCHES[:4], losses, ("loo", 4)):
        made = fit(sp.SparseRLSClassifier, CLASSES, 4, search=search, loss=loss, cv=cv)
        yield f"rls classes {search} {loss} {cv}", made
    for loss in ("squared", "zero_one"):
        yield f"rls three classes {loss}", fit(sp.SparseRLSClassifier, THREE, 4, loss=loss)


def splits() -> Iterator[tuple[str, Fit]]:
    """Splits of the criterion, weights, several targets, penalties."""
    from sklearn.model_selection import GroupKFold, RepeatedKFold, ShuffleSplit

    by_group = {"groups": GROUPS}
    ways: dict[str, tuple[Any, dict[str, Any]]] = {
        "groups left out": ("loo", by_group),
        "folds of groups": (4, by_group),
        "GroupKFold": (GroupKFold(4), by_group),
        "half left out": (ShuffleSplit(3, test_size=0.5, random_state=0), {}),
        "repeated": (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), {}),
        "weighted": ("loo", {"sample_weight": WEIGHTS}),
        "weighted folds": (4, {"sample_weight": WEIGHTS}),
    }
    for (name, (cv, fitted)), loss in itertools.product(ways.items(), ("squared", "huber")):
        made = fit(sp.SparseRLSRegressor, NUMBERS, 4, loss=loss, cv=cv, fitted=fitted)
        yield f"rls {name} {loss}", made
    options: dict[str, dict[str, Any]] = {
        "no intercept": {"fit_intercept": False},
        "as they are": {"standardize": False},
        "small alpha": {"alpha": 1e-3},
        "alpha 0": {"alpha": 0.0},
        "list of alphas": {"alpha": [0.1, 1.0, 10.0]},
        "alpha by leave-one-out": {"alpha": "loo"},
        "Huber(0.5)": {"loss": Huber(0.5)},
    }
    for (name, given), cv in itertools.product(options.items(), ("loo", 4)):
        yield f"rls {name} {cv}", fit(sp.SparseRLSRegressor, NUMBERS, 4, cv=cv, **given)
    for search, cv in itertools.product(("forward", "backward"), ("loo", 4)):
        given = {"search": search, "cv": cv}
        yield f"rls two targets {search} {cv}", fit(sp.SparseRLSRegressor, TWO, 4, **given)
    yield "rls pooled", fit(sp.SparseRLSRegressor, NUMBERS, 4, cv=4, pooled=True)


def folds_by_content() -> Iterator[tuple[str, Fit]]:
    """A number of folds: by the content of the rows."""
    heavy = {"fitted": {"sample_weight": WEIGHTS - 1}}
    by_content = partial(fit, rows=False, cv=4)
    for loss, more in itertools.product(("squared", "huber"), ({}, heavy)):
        name = f"{loss}{' weighted' if more else ''} by content"
        yield f"rls {name}", by_content(sp.SparseRLSRegressor, NUMBERS, 4, loss=loss, **more)
    for loss in ("squared", "zero_one", "auc"):
        made = by_content(sp.SparseRLSClassifier, CLASSES, 4, loss=loss)
        yield f"rls classes {loss} by content", made
    yield "rls csr by content", by_content(sp.SparseRLSRegressor, NUMBERS, 4, data=CSR)
    yield "grafting by content", by_content(sp.GraftingRegressorCV, NUMBERS, n_l1s=8)
    yield "grafting classes by content", by_content(sp.GraftingClassifierCV, CLASSES, n_l1s=8)
    yield "lssvm by content", by_content(sp.LSSVMForwardRegressor, NUMBERS, 3)


def constraints() -> Iterator[tuple[str, Fit]]:
    """What limits the sets, and rules that end a search."""
    given: dict[str, dict[str, Any]] = {
        "forced": {"forced": [9]},
        "forbidden": {"forbidden": [1]},
        "start": {"start": [0, 3]},
        "parents": {"parents": {1: [0], 7: [2]}},
        "groups of columns": {"feature_groups": [0, 0, 1, 1, 2, 3, 4, 2, 5, 6]},
        "costs": {"feature_costs": np.arange(1, COLUMNS + 1), "budget": 14.0},
    }
    for (name, more), search in itertools.product(given.items(), SEARCHES[:4]):
        yield f"rls {name} {search}", fit(sp.SparseRLSRegressor, NUMBERS, 4, search=search, **more)
    for name, more in given.items():
        yield f"rls {name} folds", fit(sp.SparseRLSRegressor, NUMBERS, 4, cv=4, **more)
    rules = {"patience": Patience(2), "tolerance": Tolerance(0.05), "max-T": MaxT(0.05)}
    for name, rule in rules.items():
        yield f"rls {name}", fit(sp.SparseRLSRegressor, NUMBERS, stop=rule)
    yield "rls epsilon", fit(sp.SparseRLSRegressor, NUMBERS, epsilon=0.05)


def shapes() -> Iterator[tuple[str, Fit]]:
    """Tall data, which go by products of columns, and wide data."""
    for name, (m, n) in {"tall": (800, 12), "wide": (40, 150)}.items():
        Z = whole(2, m, n)
        y = Z[:, 3] - Z[:, 5] + Z[:, 8] / 2 + 2 * whole(3, m)
        given = {"data": Z, "shown": Z}
        for search, cv in itertools.product(SEARCHES[:4], ("loo", 4)):
            made = fit(sp.SparseRLSRegressor, y, 6, search=search, cv=cv, **given)
            yield f"rls {name} {search} {cv}", made
        auto = given | {"validation": "auto"}
        plain = auto | {"alpha": 1.0}
        yield f"rls {name} validated", fit(sp.SparseRLSRegressor, y, 6, **plain)
        yield f"rls {name} classes validated", fit(sp.SparseRLSClassifier, y > 0, 6, **plain)
        yield f"rls {name} validated alpha", fit(sp.SparseRLSRegressor, y, 6, **auto)
        yield f"rls {name} classes validated alpha", fit(sp.SparseRLSClassifier, y > 0, 6, **auto)
        given |= {"n_l1s": 8, "cv": 4}
        yield f"grafting {name} folds", fit(sp.GraftingRegressorCV, y, **given)
        yield f"grafting {name} classes folds", fit(sp.GraftingClassifierCV, y > 0, **given)


def storages(folder: Path) -> Iterator[tuple[str, Fit]]:
    """The same data in other storages: whole numbers, so that none of them rounds."""
    given = np.rint(8 * X)
    table = folder / "table.csv"
    header = ",".join([*(f"c{i}" for i in range(COLUMNS)), "y"])
    rows = np.column_stack([given, NUMBERS])
    np.savetxt(table, rows, fmt="%.17g", delimiter=",", header=header, comments="")
    kept: dict[str, Any] = {
        "by row": given,
        "by column": np.asfortranarray(given),
        "float32": given.astype(np.float32),
        "int16": given.astype(np.int16),
        "csr": sparse.csr_array(given),
        "csc": sparse.csc_matrix(given),
        "file": None,
    }
    ways: dict[str, dict[str, Any]] = {
        "loo": {},
        "folds": {"cv": 4},
        "huber": {"loss": "huber"},
        "swap": {"search": "swap"},
    }
    for (storage, data), (name, more) in itertools.product(kept.items(), ways.items()):
        if data is None:
            opened = sp.open(str(table), target="y")
            yield f"rls {storage} {name}", fit(sp.SparseRLSRegressor, None, 4, data=opened, **more)
        else:
            yield f"rls {storage} {name}", fit(sp.SparseRLSRegressor, NUMBERS, 4, data=data, **more)


def ranking_and_kernels() -> Iterator[tuple[str, Fit]]:
    """Pairs of samples, within queries and without, and centres in place of columns."""
    for loss, cv in itertools.product(("squared", "disagreement"), ("loo", 4)):
        for name, fitted in (("pairs", {}), ("queries", {"groups": GROUPS})):
            made = fit(sp.SparseRankRLS, NUMBERS, 4, loss=loss, cv=cv, fitted=fitted)
            yield f"rank {name} {loss} {cv}", made
    for kernel in ("gaussian", "polynomial"):
        yield f"kernel rls {kernel}", fit(sp.SparseKernelRLSRegressor, NUMBERS, 5, kernel=kernel)
    yield "kernel rls classes", fit(sp.SparseKernelRLSClassifier, CLASSES, 5)


def grafting() -> Iterator[tuple[str, Fit]]:
    """Convex fits, single steps, paths with their folds."""
    one, many = sp.GraftingRegressor, sp.GraftingRegressorCV
    for loss, y in (
        ("squared", NUMBERS), ("huber", NUMBERS), ("poisson", COUNTS),
        ("gamma", COUNTS + 1), ("tweedie", COUNTS),
    ):  # fmt: skip
        yield f"grafting {loss}", fit(one, y, 0.05, loss=loss)
        yield f"grafting {loss} l2", fit(one, y, 0.05, 0.1, loss=loss)
        yield f"grafting {loss} folds", fit(many, y, n_l1s=8, cv=4, loss=loss)
    for name, y in (("classes", CLASSES), ("three classes", THREE)):
        yield f"grafting {name}", fit(sp.GraftingClassifier, y, 0.02)
        yield f"grafting {name} l0", fit(sp.GraftingClassifier, y, 0.01, l0=0.005)
        yield f"grafting {name} folds", fit(sp.GraftingClassifierCV, y, n_l1s=8, cv=4)
    more: dict[str, dict[str, Any]] = {
        "l0": {"l0": 0.05},
        "costs": {"l0": 0.05, "feature_costs": np.arange(1.0, COLUMNS + 1)},
        "newest": {"update": "newest", "max_features": 5},
        "no intercept": {"fit_intercept": False},
        "as they are": {"standardize": False},
        "exhaust": {"l0": 0.1, "stop": "exhaust"},
    }
    for name, given in more.items():
        yield f"grafting {name}", fit(one, NUMBERS, 0.05, **given)
    csr, heavy = sparse.csr_array(X), {"sample_weight": WEIGHTS}
    yield "grafting csr", fit(one, NUMBERS, 0.05, data=csr)
    yield "grafting weighted", fit(one, NUMBERS, 0.05, fitted=heavy)
    yield "grafting weighted folds", fit(many, NUMBERS, n_l1s=8, cv=4, fitted=heavy)
    yield "grafting at most 3", fit(many, NUMBERS, n_l1s=12, cv=4, max_features=3)
    times = np.column_stack([np.exp2(-np.rint(NUMBERS)), np.arange(ROWS) % 3 > 0])
    yield "grafting survival", fit(sp.GraftingCox, times, 0.05)
    yield "grafting survival folds", fit(sp.GraftingCoxCV, times, n_l1s=6, cv=3)


def other_methods() -> Iterator[tuple[str, Fit]]:
    """LARS, mutual information, extreme learning machines, RBF networks."""
    for k in (3, None):
        yield f"lars {k}", fit(sp.LarsSelector, NUMBERS, k)
    for variant, search in itertools.product((1, 2), ("forward", "forward-backward")):
        given = {"variant": variant, "search": search, "n_restarts": 3, "random_state": 0}
        yield f"mi {variant} {search}", fit(sp.MutualInfoSelector, NUMBERS, 3, **given)
        given["discrete_target"] = True
        yield f"mi classes {variant} {search}", fit(sp.MutualInfoSelector, CLASSES, 3, **given)
    for strategy in ("both", "scaling", "swap"):
        given = {"strategy": strategy, "n_restarts": 2, "n_neurons": 15, "random_state": 0}
        yield f"elm {strategy}", fit(sp.ELMFSRegressor, NUMBERS, 4, **given)
        yield f"elm classes {strategy}", fit(sp.ELMFSClassifier, CLASSES, 4, **given)
    yield "rbf", fit(sp.SparseRBFRegressor, NUMBERS, 20.0, 0.3, centres=X[:12])
    yield "rbf classes", fit(sp.SparseRBFClassifier, CLASSES, 20.0, 0.3, centres=X[:12])


def validated() -> Iterator[tuple[str, Fit]]:
    """The default validation."""
    auto = {"validation": "auto"}
    regressor, classifier = sp.SparseRLSRegressor, sp.SparseRLSClassifier
    plain = auto | {"alpha": 1.0}
    yield "rls validated", fit(regressor, NUMBERS, 5, **plain)
    yield "rls validated folds", fit(regressor, NUMBERS, 5, cv=4, **plain)
    yield "rls validated backward", fit(regressor, NUMBERS, 5, search="backward", **plain)
    yield "rls validated floating", fit(regressor, NUMBERS, 5, search="floating", **plain)
    yield "rls validated huber", fit(regressor, NUMBERS, 5, loss="huber", **plain)
    yield "rls validated alpha", fit(regressor, NUMBERS, 5, **auto)
    yield "rls validated groups", fit(regressor, NUMBERS, 5, fitted={"groups": GROUPS}, **plain)
    yield "rls classes validated", fit(classifier, CLASSES, 5, **plain)
    yield "rls classes validated alpha", fit(classifier, CLASSES, 5, **auto)
    yield "rls classes validated auc", fit(classifier, CLASSES, 5, loss="auc", **plain)
    yield "lars validated", fit(sp.LarsSelector, NUMBERS, 5, **auto)
    yield "grafting validated", fit(sp.GraftingRegressorCV, NUMBERS, n_l1s=8, **auto)
    yield "grafting classes validated", fit(sp.GraftingClassifierCV, CLASSES, n_l1s=8, **auto)


def record(made: Fit) -> dict[str, Any]:
    """What is compared of a fit; numbers to twelve digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, shown = made()
        path = model.path_
        out = {
            "subsets": {str(k): [int(j) for j in path.subset(k)] for k in path.sizes},
            "errors": [_digits(path.error(k)) for k in path.sizes],
            "size": len(model.selected_ if hasattr(model, "selected_") else model.centres_),
        }
        honest = getattr(model, "honest_", None)
        if honest is not None:
            out["honest"] = [*map(_digits, (honest.error, *honest.interval, honest.empty_error))]
        if hasattr(model, "predict"):
            score = getattr(model, "decision_function", model.predict)
            out["predictions"] = [_digits(v) for v in np.ravel(score(shown[:SHOWN]))]
    return out


def _digits(value: Any) -> float | None:
    return float(f"{value:.12g}") if np.isfinite(value) else None


def main(file: str) -> None:
    """Record all fits."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = {name: record(one) for name, one in cases(Path(folder))}
    lines = [
        f"{json.dumps(name)}: {json.dumps(of, separators=(',', ':'))}" for name, of in made.items()
    ]
    Path(file).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(made)} fits recorded in {file}")


if __name__ == "__main__":
    main(sys.argv[1])
