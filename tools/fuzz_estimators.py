"""Cases of the fuzzer that call estimators from Python: odd data, parameters and fit arguments.

A case must end well or be refused: by an error of the package, or by one of scikit-learn's checks
of input. Nothing else may be raised, no warning of NumPy or SciPy may be shown, the data given must
be as they were, and what was fitted must predict the same after ``pickle`` and ``save_model``.
"""

import contextlib
import inspect
import pickle
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

# Where an error may be raised on purpose by another library: its checks of parameters and input.
CHECKS = ("sklearn/utils/", "sklearn/base.py", "sklearn/model_selection/_split.py")
SHOWN = (RuntimeWarning, DeprecationWarning, FutureWarning)  # what no user should see
QUICK: dict[str, Any] = {"validation": None, "n_restarts": 2, "n_neurons": 10, "max_features": 3,
                         "rs": 2, "ts": 2, "n_l1s": 4, "n_l0s": 3, "max_hidden": 3, "max_iter": 20,
                         "n_jobs": 1, "n_threads": 1, "max_centres": 3, "cv": 3}  # fmt: skip
REPEATED = {"n_restarts", "n_neurons", "n_init", "n_levels", "max_iter", "max_hidden", "n_l1s",
            "n_l0s", "rs", "ts", "n_jobs", "n_threads", "max_connections", "look_ahead", "degree",
            "patience", "centres", "checkpoint"}  # fmt: skip
NAMED = ["min", "one_se", "loo", "auto", "squared", "absolute", "zero_one", "balanced", "auc",
         "huber", "forward", "backward", "floating", "swap", "tune", "scale", "gaussian", "linear",
         "median", "indicator", "parts", "drop", "exhaust", "first", "newest", "time"]  # fmt: skip


def odd_values() -> list[Any]:
    """Values that some parameter may be given by mistake."""
    return [
        None, True, False, 0, -1, 1, 2, 3, 0.5, 1.5, -0.0, 1e-300, 1e300, float("nan"),
        float("inf"), -float("inf"), 10**30, "", "x", "2", b"loo", [], [0], [0, 1], [0, 0], [-1],
        [9], (1, 2.5), {}, {0: 1}, {0: [1]}, {"a": 2}, {0, 1}, np.int64(2), np.float32(0.5),
        np.array(1.0), np.arange(3), np.ones((2, 2)), np.array(["a", "b"]), np.nan, object(), zero,
        raises, 1 + 2j, [1.0, None], [[0, 1], [2]], range(2), slice(2), np.bool_(True),
        np.array([True]),
    ]  # fmt: skip


class GivenError(Exception):
    """What a function that was given raises; it must reach the caller as it is."""


def zero(*_: Any) -> float:
    """Return zero, whatever the arguments."""
    return 0.0


def raises(*_: Any) -> None:
    """Raise an error, as a function with a mistake does."""
    raise GivenError


def estimators() -> list[type]:
    """The public estimators."""
    import sparsepath

    found = (getattr(sparsepath, name) for name in sparsepath.__all__)
    return [one for one in found if inspect.isclass(one) and hasattr(one, "fit")]


@dataclass
class Call:
    """A fit from Python, and what is done with the model."""

    estimator: type
    parameters: dict[str, Any] = field(default_factory=dict)
    X: Any = None
    y: Any = None
    arguments: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        def shown(value: Any) -> str:
            return f"{type(value).__name__} {value!r}"

        return (
            f"{self.estimator.__name__}(**{self.parameters}).fit(X, y, **{self.arguments})\n"
            f"X = {shown(self.X)}\ny = {shown(self.y)}"
        )


# Data --------------------------------------------------------------------------------------------


def matrix(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Numbers, some of them extreme, with columns that repeat or do not vary."""
    X = rng.standard_normal((n, d))
    kind = rng.integers(0, 20)
    if kind == 0 and n:
        X[rng.integers(0, n)] = rng.choice([np.nan, np.inf, 1e308, -1e200, 1e-310])
    elif kind == 1:
        X *= 10.0 ** rng.integers(-300, 300, d)
    elif kind == 2 and d:
        X[:, 0] = 1.0
        X[:, -1] = X[:, 0]
    elif kind == 3:
        X = X.round()
    elif kind == 4:
        X += 1e9
    return X


def frame(rng: np.random.Generator, X: np.ndarray) -> Any:
    """A data frame of pandas with columns of many types."""
    import pandas as pd

    n, d = X.shape
    made = pd.DataFrame(X, columns=[f"c{i}" for i in range(d)])
    whole = rng.integers(0, 3, n)
    others: list[Callable[[], Any]] = [
        lambda: pd.Categorical(np.array(["a", "b", "c"])[whole]),
        lambda: pd.array(whole, dtype="Int64"),
        lambda: pd.array(np.where(whole == 0, None, whole), dtype="Int64"),
        lambda: pd.array(whole > 0, dtype="boolean"),
        lambda: pd.date_range("2024-01-01", periods=n),
        lambda: pd.period_range("2024-01", periods=n, freq="M"),
        lambda: pd.interval_range(0, n, periods=n) if n else pd.array([]),
        lambda: pd.to_timedelta(whole, unit="h"),
        lambda: pd.array(np.array(["u", "v", None], dtype=object)[whole], dtype="string"),
        lambda: np.array(["1", "2", "x"], dtype=object)[whole],
        lambda: [[1, 2]] * n,
        lambda: [{"k": 1}] * n,
        lambda: whole.astype(np.float16),
        lambda: whole.astype(complex),
        lambda: pd.arrays.SparseArray(whole.astype(float)),
    ]
    for i in range(int(rng.choice([0, 0, 1, 2]))):
        made[f"o{i}"] = others[int(rng.integers(0, len(others)))]()
    kind = rng.integers(0, 10)
    if kind == 0 and d > 1:
        made.columns = ["c0"] * made.shape[1]
    elif kind == 1 and made.shape[1]:
        made.columns = pd.MultiIndex.from_product([["u"], made.columns])
    elif kind == 2:
        made.columns = range(made.shape[1])
    elif kind == 3:
        made.columns = [*made.columns[:-1], None] if made.shape[1] else made.columns
    elif kind == 4:
        made.index = pd.Index(rng.permutation(n) + 7)
    return made


def features(rng: np.random.Generator, X: np.ndarray) -> Any:
    """The numbers as users may hand them over."""
    import pandas as pd
    import scipy.sparse as sp

    def read_only() -> np.ndarray:
        made = X.copy()
        made.flags.writeable = False
        return made

    def duplicates() -> Any:
        rows, columns = np.nonzero(X > 0.5)
        rows, columns = np.r_[rows, rows], np.r_[columns, columns]
        return sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=X.shape)

    n, d = X.shape
    forms: list[Callable[[], Any]] = [
        X.copy, X.copy, X.copy, lambda: X.astype(np.float32), lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, axis=1)[:, ::2], lambda: X[::-1], read_only, X.tolist,
        lambda: (X > 0), lambda: np.nan_to_num(X * 10).clip(-99, 99).astype(np.int8),
        lambda: np.nan_to_num(X * 10).clip(0, 99).astype(np.uint64), lambda: X.astype(object),
        lambda: X.astype(str), lambda: X.astype(complex), lambda: X.astype(np.float16),
        lambda: X.astype(np.longdouble), lambda: X.astype(">f8"), lambda: np.ma.masked_array(X),
        lambda: np.ma.masked_array(X, X > 1), lambda: np.zeros(X.shape, "datetime64[s]"),
        lambda: X[:, 0] if d else X, lambda: X[None], lambda: X[:0], lambda: X[:, :0],
        lambda: "X", lambda: 5, dict, lambda: (row for row in X), lambda: sp.csr_matrix(X > 0),
        lambda: sp.csr_array(np.nan_to_num(X)), lambda: sp.csc_array(X), lambda: sp.coo_array(X),
        lambda: sp.bsr_array(X) if n and d else X, lambda: sp.lil_array(X), lambda: sp.dok_array(X),
        duplicates, lambda: frame(rng, X), lambda: frame(rng, X), lambda: frame(rng, X),
        lambda: pd.Series(X[:, 0]) if d else X, lambda: polars(X), lambda: arrow(X),
        lambda: X.view(np.recarray) if d else X,
    ]  # fmt: skip
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return forms[int(rng.integers(0, len(forms)))]()


def polars(X: np.ndarray) -> Any:
    import polars as pl

    return pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])])


def arrow(X: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.table({f"c{i}": X[:, i] for i in range(X.shape[1])})


def target(rng: np.random.Generator, X: np.ndarray, *, classes: bool) -> Any:
    """A target that often suits the estimator."""
    import pandas as pd

    n, d = X.shape
    signal = np.nan_to_num(X[:, 0] if d else np.zeros(n)).clip(-1e6, 1e6)
    y = signal + 0.3 * rng.standard_normal(n)
    two = (y > np.median(y)) if n else y > 0
    likely: list[Callable[[], Any]] = [lambda: two, lambda: np.where(two, "yes", "no"),
                                       lambda: np.digitize(y, [-0.4, 0.4])]  # fmt: skip
    if not classes:
        likely = [lambda: y, lambda: y.astype(np.float32), lambda: y[:, None], lambda: y.tolist()]
    odd: list[Callable[[], Any]] = [
        lambda: None, lambda: y[:-1], lambda: np.full(n, 2.0), lambda: np.c_[y, -y], lambda: "y",
        lambda: np.where(two, np.nan, y), lambda: y * 1e300, lambda: y * 1e-300, lambda: 5,
        lambda: two.astype(object), lambda: np.where(two, "1", "2"), lambda: pd.Series(y),
        lambda: pd.Series(two, dtype="boolean"), lambda: pd.Categorical(two), lambda: y[None],
        lambda: pd.DataFrame({"t": y, "u": two}), lambda: np.array([1, "a", None] * n)[:n],
        lambda: np.arange(n), lambda: y.astype(complex), lambda: np.zeros((n, 0)),
        lambda: pd.date_range("2024-01-01", periods=n), lambda: np.r_[np.zeros(max(n - 1, 0)), 1],
        lambda: [b"a" if t else b"b" for t in two], lambda: np.ma.masked_array(y, two),
        lambda: pd.Series(["p", "q"] * n, dtype="string")[:n],
    ]  # fmt: skip
    pool = likely if rng.random() < 0.85 else odd
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pool[int(rng.integers(0, len(pool)))]()


def fit_arguments(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Sample weights and groups, good and bad."""
    made: dict[str, Any] = {}
    weights: list[Any] = [np.ones(n), rng.random(n), rng.integers(0, 2, n), np.zeros(n),
                          -np.ones(n), np.full(n, np.nan), np.ones(n + 1), "w", 2.0,
                          np.full(n, 1e300), np.full(n, 1e-300), ["1"] * n,
                          np.ones((n, 1))]  # fmt: skip
    groups: list[Any] = [np.arange(n) % 5, np.arange(n), np.zeros(n), [None] * n, np.arange(n + 1),
                         [f"g{i % 4}" for i in range(n)], "g", np.full(n, np.nan)]  # fmt: skip
    if rng.random() < 0.15:
        made["sample_weight"] = weights[int(rng.integers(0, len(weights)))]
    if rng.random() < 0.1:
        made["groups"] = groups[int(rng.integers(0, len(groups)))]
    return made


def make_call(rng: np.random.Generator) -> Call:
    """A fit with at most a few odd things, so that many of them come to their end."""
    known = estimators()
    estimator = known[int(rng.integers(0, len(known)))]
    defaults = inspect.signature(estimator).parameters
    parameters = {name: value for name, value in QUICK.items() if name in defaults}
    if "validation" in parameters and rng.random() < 0.1:
        parameters["validation"] = 2
    values = odd_values()
    for _ in range(int(rng.choice([0, 0, 0, 1, 1, 3]))):
        name = str(rng.choice([*defaults]))
        pool = values if rng.random() < 0.6 else NAMED
        value = pool[int(rng.integers(0, len(pool)))]
        if name in REPEATED and isinstance(value, int | float | str) and not _small(value):
            value = 2
        parameters[name] = value
    if "selector" in defaults and rng.random() < 0.5:
        inner = known[int(rng.integers(0, len(known)))]
        takes = inspect.signature(inner).parameters
        parameters["selector"] = inner(**{k: v for k, v in QUICK.items() if k in takes})
    n = int(rng.choice([1, 2, 3, 5, 10, 25, 40], p=[0.02, 0.02, 0.03, 0.03, 0.2, 0.4, 0.3]))
    X = matrix(rng, n, int(rng.integers(1, 6)))
    plain = rng.random() < 0.5
    classes = "Classifier" in estimator.__name__ or rng.random() < 0.05
    y = target(rng, X, classes=classes)
    given = X.copy() if plain else features(rng, X)
    takes = inspect.signature(estimator.fit).parameters
    arguments = {name: v for name, v in fit_arguments(rng, n).items() if name in takes}
    return Call(estimator, parameters, given, y, arguments)


def _small(value: float | str) -> bool:
    return isinstance(value, str) or not value > 5


# Running -----------------------------------------------------------------------------------------


def digest(value: Any) -> Any:
    """What must not change of data that were given."""
    if hasattr(value, "tocoo"):
        made = value.tocoo()
        return type(value), value.shape, made.data.tobytes(), [c.tobytes() for c in made.coords]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype, value.shape, value.tobytes()
    if hasattr(value, "__next__"):
        return None
    with np.errstate(all="ignore"):  # pandas casts to show half precision
        return repr(value)


def is_refusal(error: BaseException) -> bool:
    """Whether an error was raised on purpose, with a sentence."""
    from sparsepath import SparsepathError

    if isinstance(error, SparsepathError | GivenError):
        return True
    if not isinstance(error, ValueError | TypeError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
    return any(place in last for place in CHECKS)


def where(error: BaseException) -> str:
    """The kind of an error and the innermost line of the package that it passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "sparsepath/" in f.filename]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}: {str(error)[:150]}"


def fault_of_call(call: Call, folder: Path) -> tuple[int | None, str]:
    """Run a call: 0 if it was done or 2 if it was refused, and what is wrong with how it ended."""
    before = digest(call.X), digest(call.y)
    code = 0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            fault = use(call, folder)
        except Exception as error:
            code, fault = 2, ""
            if not is_refusal(error):
                return None, f"call: {where(error)}"
    if fault:
        return code, f"call: {fault}"
    if shown := [w for w in seen if issubclass(w.category, SHOWN)]:
        return code, f"call: warns {shown[0].category.__name__}: {str(shown[0].message)[:150]}"
    if (digest(call.X), digest(call.y)) != before:
        return code, "call: the data given were changed"
    return code, ""


def use(call: Call, folder: Path) -> str:
    """Fit, then use the model in every way; return what is wrong."""
    from sklearn.base import clone

    model = call.estimator(**call.parameters)
    model.fit(call.X, call.y, **call.arguments)
    repr(model), str(getattr(model, "honest_", "")), str(getattr(model, "path_", ""))
    again = pickle.loads(pickle.dumps(model))
    with contextlib.suppress(RuntimeError):  # parameters that cannot be cloned, such as NaN arrays
        clone(model)
    for method in ("predict", "transform", "decision_function", "predict_proba"):
        if not hasattr(model, method):
            continue
        made = getattr(model, method)(call.X)
        if digest(made) != digest(getattr(again, method)(call.X)):
            return f"{method} differs after pickle"
        values = np.asarray(made) if method != "transform" else np.empty(0)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return f"{method} is not finite"
    if hasattr(model, "get_feature_names_out"):
        model.get_feature_names_out()
    if hasattr(model, "save_model"):
        return saved_differs(model, call.X, folder)
    return ""


def saved_differs(model: Any, X: Any, folder: Path) -> str:
    """How a saved model differs from the fitted one."""
    from sparsepath import SparsepathError, load_model

    try:
        model.save_model(folder / "model.json")
    except SparsepathError:
        return ""  # a model that has no formula
    loaded = load_model(folder / "model.json")
    made, expected = np.asarray(loaded.predict(X)), np.asarray(model.predict(X))
    if expected.shape == (len(made), 1):
        expected = expected[:, 0]  # a model file knows no targets of one column
    if made.shape != expected.shape:
        return f"load_model predicts shape {made.shape} in place of {expected.shape}"
    if expected.dtype.kind == "f":
        scale = np.abs(expected).max(initial=0) + np.ptp(expected) if expected.size else 1.0
        off = np.abs(made - expected).max(initial=0)
        return "" if off <= 1e-6 * scale else f"load_model predicts another value, off by {off}"
    return "" if (made == expected).all() else "load_model predicts other labels"
