"""A selection path as plain values, and back: what its files hold.

Schema ``sparsepath/selection-path``. Version 1 had no models.
"""

import math
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from sparsepath.data.names import NumberedNames
from sparsepath.errors import InputError
from sparsepath.predictors import Predictor
from sparsepath.steps import Move, Step, number

SCHEMA: dict[str, Any] = {"schema": "sparsepath/selection-path", "schema_version": 2}
AS_JSON = {str, int, bool}  # what JSON holds as it is
DAMAGE = (KeyError, TypeError, ValueError, OverflowError, RecursionError)  # what it raises


def record_of(path: Any, models: bool) -> dict[str, Any]:
    """All of a path as standard JSON values, floats exact."""
    steps = [{**vars(s), "coef": None if s.coef is None else s.coef.T} for s in path.steps]
    moves, names = [vars(move) for move in path.moves], path.feature_names
    numbered = isinstance(names, NumberedNames) and names.plain
    made = {"steps": steps, "moves": moves, "feature_names": None if numbered else list(names)}
    kept = dict(vars(path))
    known = kept.pop("_models")
    small = {str(size): model.to_dict() for size, model in known.items()} if models else {}
    return {**SCHEMA, **plain({**kept, **made}), "models": small}


def parts_of(record: Any) -> dict[str, Any]:
    """What a path is made of, by the names of its parameters."""
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA["schema"]:
        raise InputError("it is not a selection path.")
    version = record.get("schema_version")
    if version not in (1, SCHEMA["schema_version"]):
        raise InputError(f"its schema version is {version}, not 1 or 2: use a newer sparsepath.")
    rest = {key: value for key, value in record.items() if key not in SCHEMA}
    try:
        rest["steps"] = [
            Step(**{**step, "coef": step["coef"] and np.array(step["coef"], float).T})
            for step in rest["steps"]
        ]
        rest["moves"] = [Move(**{**m, "error": number(m["error"])}) for m in rest["moves"]]
        rest["models"] = {
            int(size): Predictor.from_dict(model) for size, model in rest.get("models", {}).items()
        }
    except DAMAGE as error:
        raise damaged(error) from error
    return rest


def damaged(error: Exception) -> InputError:
    """What is said of a record that no path can be made of."""
    return InputError(f"the selection path is damaged: {error}")


def plain(value: Any) -> Any:
    """As JSON holds it: NaN is None, an infinity its name, the unknown its repr."""
    if value is None or type(value) in AS_JSON:
        return value
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else repr(value)


@cache
def versions_in_use() -> dict[str, str]:
    """Of what the path was made with."""
    from importlib import metadata  # slow to import

    versions = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "sparsepath"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from a folder of sources
            versions[name] = "unknown"
    return versions
