"""What a page shows, as plain JSON values.

Schema ``sparsepath/report``, version 1:

title, answer, about, notes
    What the data are, the recommendation in plain sentences, what was searched and how.
sizes, errors, errors_se, honest, honest_se, chosen, least
    Per size; the honest ones are null where there are none.
criterion, measure, validation
    What the errors are.
features
    The names of the features that are ever chosen, in the order in which they enter; ``subsets``
    are places among them. ``n_features`` counts all.
coef
    Per size a list of coefficients, or null: for linear models of one output, in units of the data.
    Of a category or a date a list of pairs, one for each value or part, and its coefficient.
shown
    The errors of the sizes in familiar units: RMSE and R2, or error rate and AUC; ``rate`` says
    that values are fractions, ``chosen_by`` is the error by which sizes are compared.
confusion, reliability, labels
    Per size the confusion table of held-out rows, rows being classes; for two classes by tenths of
    the probability of the second its mean, the share of the class and the rows; the classes.
starts
    For the features a typical value and the range of the data.
units
    Of the features, empty where unknown.
weights, by_target, rises, alike, sketches, classes, target, survival
    What ``features.py`` and ``sketches.py`` find in the data, where these are at hand: weights per
    size like ``coef``, and whether they are in standard deviations of the target; the increase of
    the error without each feature of the chosen size; columns that are like a feature, and a
    picture of each of ``features``; the classes, or the range of the target.
columns
    Columns that take no part, or are to be looked at twice, by reason.
frequencies, stand_ins, stability, null
    Over halves of the data and for shuffled targets, if requested.
run
    Versions, parameters, seed, fingerprint, the command.
programs
    By size and language the models of the path as programs; ONNX, if it is installed, in base 64.
    Sizes far from the chosen one are missing where the page would become too large.
"""

import base64
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparsepath.assessment.honest import COMPLEMENTS, FIGURES
from sparsepath.errors import SparsepathError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.report.features import Seen, alike, computed_columns, has_link, rises, weights
from sparsepath.report.figures import by_size
from sparsepath.report.sketches import classes_of, rate_of, sketch
from sparsepath.system.number_format import brief
from sparsepath.tables.cells import RawTable
from sparsepath.tables.preparation import TablePreparation
from sparsepath.tables.units import unit_of

SCHEMA = {"schema": "sparsepath/report", "schema_version": 1}
LANGUAGES_SHOWN = ("c", "sql", "javascript", "python", "json", "onnx")
MOST_CLASSES = 8  # in a confusion table
HIGH_RATE = 3  # times the mean rate of events, at the top of a picture
MOST_LISTED = 120  # features with a picture, and names of columns that are listed for a reason
LARGEST_PROGRAM = 150_000  # characters of a program that a page carries
ALL_PROGRAMS = 75_000  # of all of them


def summary(
    path: SelectionPath,
    *,
    title: str,
    answer: Sequence[str],
    about: Sequence[str] = (),
    notes: Sequence[str] = (),
    chosen: int | None = None,
    model: Any = None,
    stability: Any = None,
    null: Any = None,
    seen: Seen | None = None,
    columns: Sequence[Any] = (),
    command: str = "",
    code: Sequence[str] = (),
) -> dict[str, Any]:
    """Return everything that the report of a path shows; see the module docstring.

    ``seen`` are the data that the model was fitted to; ``columns`` has remarks with ``columns``,
    ``why`` and ``out``; ``code`` are lines of Python that reproduce the result.
    """
    chosen = path.choose("min") if chosen is None else chosen
    ever = list(dict.fromkeys(i for subset in path.subsets for i in subset))
    place = {feature: p for p, feature in enumerate(ever)}
    names = path.feature_names
    return {
        **SCHEMA,
        "title": title,
        "answer": list(answer),
        "about": list(about),
        "notes": list(notes),
        "method": path.method,
        "criterion": path.criterion,
        "error_kind": path.error_kind,
        "validation": path.validation if path.is_validated else None,
        "sizes": list(path.sizes),
        "errors": _numbers(path.errors),
        "errors_se": _numbers(path.errors_se),
        "honest": _numbers(path.honest_errors) if path.is_validated else None,
        "honest_se": _numbers(path.honest_errors_se) if path.is_validated else None,
        "chosen": chosen,
        "least": path.choose("min"),
        "n_features": path.n_features,
        "n_samples": path.data.get("n_samples"),
        "features": [str(names[i]) for i in ever],
        "subsets": [[place[i] for i in subset] for subset in path.subsets],
        "coef": [_coefficients(path, size, model) for size in path.sizes],
        "intercept": [_intercept(path, size) for size in path.sizes],
        "units": _units(names, ever, model),
        **_shown(path, model),
        **({} if seen is None or model is None else _in_the_data(path, chosen, ever, model, seen)),
        "columns": [
            {
                "out": each.out,
                "why": each.why,
                "names": each.columns[:MOST_LISTED],
                "count": len(each.columns),
            }
            for each in columns
            if each.columns
        ],
        **_over_halves(stability, [str(names[i]) for i in ever]),
        "null": None if null is None else _shuffled(null, _shown(path, model)["shown"]["name"]),
        "run": {
            "command": command,
            "code": "\n".join(code),
            "seed": path.seed,
            "fingerprint": path.data.get("fingerprint"),
            "versions": dict(path.versions),
            "parameters": {key: _said(value) for key, value in path.parameters.items()},
        },
        "programs": {} if model is None else _programs(model, path.sizes, chosen),
    }


def _in_the_data(
    path: SelectionPath, chosen: int, ever: Sequence[int], model: Any, seen: Seen
) -> dict[str, Any]:
    """Return facts about the features from the data."""
    some = seen.some
    numbers = some.y.dtype.kind in "iuf" and not hasattr(model, "classes_")
    times = some.y.ndim == 2
    drawn = ever[:MOST_LISTED]
    columns = computed_columns(model, some.X, ever)
    classes = None if numbers else classes_of(some.y)
    weighed = [weights(path, size, columns, some.y) for size in path.sizes]
    near, far = np.quantile(some.y, (0.02, 0.98)).tolist() if numbers else (0.0, 1.0)
    if times:
        near, far = 0.0, HIGH_RATE * rate_of(some.y)
    return {
        "weights": [None if each is None else _numbers(each) for each in weighed],
        "by_target": numbers and not has_link(path),
        "rises": rises(model, path, chosen, seen),
        "alike": alike(some.X, path.feature_names, drawn),
        "sketches": [sketch(some.X, i, some.y, classes) for i in drawn],
        "classes": classes,
        "target": [near, far],
        "survival": times,
        "rows_seen": len(some.y),
        "starts": _starts(path, drawn, some.X),
    }


def _units(names: Sequence[str], ever: Sequence[int], model: Any) -> list[str]:
    preparation = getattr(model, "preparation_", None)
    known = (
        [""] * len(ever) if preparation is None else [preparation.features_[i].unit for i in ever]
    )
    return [unit or unit_of(str(names[i])) for unit, i in zip(known, ever, strict=True)]


def _shown(path: SelectionPath, model: Any) -> dict[str, Any]:
    """Return the errors in familiar units, and the confusion table of each size."""
    honest = getattr(model, "honest_", None)
    classes = model is None or hasattr(model, "classes_")
    found = by_size(path, honest, classes=classes)
    tables = reliability = None
    if honest is not None and honest.confusion is not None:
        every = [honest.requested(path, size) for size in path.sizes]
        tables = [None if each is None else each.confusion for each in every]
        tables = tables if len(honest.confusion) <= MOST_CLASSES else None
        reliability = [None if each is None else each.reliability for each in every]
    same = honest is None or path.criterion.endswith(honest.measure)  # else of another unit
    criterion = found.criterion if same and not found.is_rate else None
    return {
        "shown": {
            "name": found.name,
            "rate": found.is_rate,
            "values": _numbers(found.values),
            "se": _numbers(found.se),
            "criterion": None if criterion is None else _numbers(criterion),
            "beside": None if found.beside is None else found.beside[0],
            "beside_values": None if found.beside is None else _numbers(found.beside[1]),
            "chosen_by": None if honest is None else honest.measure,
        },
        "confusion": tables,
        "reliability": reliability,
        "labels": [str(label) for label in model.classes_] if hasattr(model, "classes_") else None,
    }


def _short(value: float) -> float:
    """Round to four significant digits, but no whole digit away.

    >>> _short(-0.0088158149), _short(90210.0), _short(123456.7)
    (-0.008816, 90210.0, 123457.0)
    """
    return float(f"{value:.{max(4, len(str(int(abs(value)))))}g}")


def _starts(path: SelectionPath, features: Sequence[int], X: Any) -> dict[str, Any]:
    """Return for each feature a typical value, and the range of the data."""
    found: dict[str, Any] = {}
    for i in features:
        kind = "number"
        values: Any
        if isinstance(X, RawTable):
            cell = X.cells[i]
            kind = cell.kind
            values = cell.texts() if kind in ("text", "ordered") else cell.values
        else:
            column = X[:, [i]]
            values = (column if isinstance(column, np.ndarray) else column.toarray())[:, 0]
        name = str(path.feature_names[i])
        if kind in ("text", "ordered"):
            often = Counter(text for text in values if text is not None).most_common(1)
            found[name] = {"start": often[0][0] if often else ""}
        elif kind == "date":
            days = np.sort(values[~np.isnat(values)].astype("datetime64[D]"))
            if len(days):
                middle, low, high = days[len(days) // 2], days[0], days[-1]
                found[name] = {"start": str(middle), "low": str(low), "high": str(high)}
        else:
            known = np.asarray(values, dtype=np.float64)
            known = known[~np.isnan(known)]
            if len(known):
                start = _short(float(np.quantile(known, 0.5, method="nearest")))
                found[name] = {
                    "start": start,
                    "low": float(known.min()),
                    "high": float(known.max()),
                }
                if kind == "flag":
                    found[name] = {"start": "true" if start > 0 else "false"}
    return found


def _shuffled(null: Any, shown: str) -> dict[str, Any]:
    """Return the search on permuted targets; its errors in the units of the curve, if they fit."""
    median = np.median(null.null_errors, axis=0)
    if shown == "RMSE":
        median = np.sqrt(np.maximum(median, 0.0))
    elif shown in (*FIGURES.values(), *COMPLEMENTS.values()):
        median = np.full(len(median), math.nan)
    return {
        "sizes": list(null.sizes),
        "median": _numbers(median),
        "p_value": float(null.p_value),
        "shuffles": len(null.null_errors),
    }


def sentences(path: SelectionPath, size: int) -> list[str]:
    """Return the answer for a path without further results, as sentences."""
    n = path.n_features
    use = f"{size} of {n} feature{'s' * (n != 1)}"
    use = f"Use {use}: {', '.join(path.names(size))}." if size else f"Use none of the {n} features."
    if path.is_validated and math.isfinite(path.honest_error(size)):
        hope = ": optimistic" if path.error(size) < path.honest_error(size) else ""
        return [
            use,
            f"Error on new data {brief(path.honest_error(size))} (standard error "
            f"{brief(path.honest_error_se(size))}; {path.validation}). The {path.criterion}, which "
            f"the search itself saw, is {brief(path.error(size))}{hope}.",
        ]
    return [
        use,
        f"The {path.criterion} is {brief(path.error(size))}. No sample was kept from the search: "
        "expect a larger error on new data.",
    ]


def _coefficients(path: SelectionPath, size: int, model: Any = None) -> list[Any] | None:
    preparation = getattr(model, "preparation_", None)
    if preparation is not None:
        return _of_table(path, size, preparation)
    coef = path.coef(size)
    if coef is None or np.ndim(coef) != 2 or np.shape(coef)[1] != 1:
        return None
    return [*_numbers(np.asarray(coef)[:, 0])]


def _of_table(path: SelectionPath, size: int, preparation: TablePreparation) -> list[Any] | None:
    """Return facts for a model of raw tables."""
    formula = path.model(size).formula() if path.models else None
    if formula is None or formula.units is not None or formula.n_outputs != 1:
        return None
    slopes = formula.slopes[:, 0] / formula.scale
    labels = preparation.get_feature_names_out()
    found: list[Any] = []
    for i in path.subset(size):
        name = preparation.features_[i].name
        mine = np.flatnonzero(preparation.groups_[formula.columns] == i)
        told = {str(labels[formula.columns[j]]): float(slopes[j]) for j in mine}
        if [*told] == [name]:
            found.append(told[name])
        else:
            parts: list[list[Any]] = [
                [label.removeprefix(name).strip(" =") or "value", b] for label, b in told.items()
            ]
            if preparation.features_[i].kind == "category":  # without an order of its own
                parts.sort(key=lambda part: -part[1])
            found.append(parts)
    return found


def _intercept(path: SelectionPath, size: int) -> float | None:
    intercept = path.intercept(size)
    return None if intercept is None or np.size(intercept) != 1 else float(np.ravel(intercept)[0])


def _over_halves(stability: Any, names: Sequence[str]) -> dict[str, Any]:
    if stability is None:
        return {"frequencies": None, "stand_ins": None, "stability": None}
    frequencies = {}
    for size in stability.sizes:
        often = stability.frequency(size)
        frequencies[str(size)] = _numbers(often.get(name, 0.0) for name in names)
    stand_ins = {
        str(size): [[str(name) for name in group] for group in stability.stand_ins(size)]
        for size in stability.sizes
    }
    index = dict(zip(map(str, stability.sizes), _numbers(stability.indices), strict=True))
    halves = {"halves": stability.n_runs, "index": index}
    return {"frequencies": frequencies, "stand_ins": stand_ins, "stability": halves}


def _programs(model: Any, sizes: Sequence[int], chosen: int) -> dict[str, dict[str, str]]:
    """Return the models as programs, those next to the chosen size first."""
    found: dict[str, dict[str, str]] = {}
    room = ALL_PROGRAMS
    for size in sorted(sizes, key=lambda size: (abs(size - chosen), size)):
        made = _in_languages(model, size)
        room -= sum(map(len, made.values()))
        if room < 0 and size != chosen:
            break
        found[str(size)] = made
    return found


def _in_languages(model: Any, size: int) -> dict[str, str]:
    found = {}
    for language in LANGUAGES_SHOWN:
        try:
            text = model.export(language, size=size)
        except SparsepathError:  # a model that cannot be written is shown all the same
            continue
        text = text if isinstance(text, str) else base64.b64encode(text).decode("ascii")
        if len(text) <= LARGEST_PROGRAM:
            found[language] = text
    return found


def _numbers(values: Any) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _said(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _said(item) for key, item in value.items()}
    plain = value is None or isinstance(value, str | bool | int)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if plain else str(value)
