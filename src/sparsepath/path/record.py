"""Convert a selection path to plain values and back; the content of its files.

Schema ``sparsepath/selection-path``. Version 1 had no models. Files of version 3 carry a checksum
of all else in them; those of versions 1 and 2 have none.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsepath.data.names import NumberedNames
from sparsepath.errors import InputError
from sparsepath.models.predictors import Predictor
from sparsepath.path.steps import STEP_NUMBERS, Move, Step, number
from sparsepath.system.json_files import (
    canonical,
    check,
    checksum,
    parse,
    plain,
)

SCHEMA: dict[str, Any] = {"schema": "sparsepath/selection-path", "schema_version": 3}
_NUMBER = (float, None, {"inf", "-inf"})
_NUMBERS = {f"{name}?": _NUMBER for name in STEP_NUMBERS[1:]}
PATH_SCHEMA = {
    "steps": [
        {
            "subset": [int],
            "error": _NUMBER,
            "coef": (None, [[_NUMBER]]),
            "intercept?": (None, [_NUMBER]),
            **_NUMBERS,
        }
    ],
    "moves": [{"action": {"add", "drop"}, "feature": int, "error": _NUMBER, "seconds": _NUMBER}],
    "n_features": int,
    "start?": [int],
    "feature_names?": (None, [str]),
    "criterion?": str,
    "error_kind?": str,
    "method?": str,
    "parameters?": dict,
    "data?": dict,
    "seed?": object,
    "versions?": dict,
    "complete?": bool,
    "stopped?": str,
    "validation?": str,
    "models?": dict,
}


def record_of(path: Any, models: bool) -> dict[str, Any]:
    """Return a path as standard JSON values with exact floats."""
    steps = [{**vars(s), "coef": None if s.coef is None else s.coef.T} for s in path.steps]
    moves, names = [vars(move) for move in path.moves], path.feature_names
    numbered = isinstance(names, NumberedNames) and names.plain
    made = {"steps": steps, "moves": moves, "feature_names": None if numbered else list(names)}
    kept = dict(vars(path))
    known = kept.pop("_models")
    small = {str(size): model.to_dict() for size, model in known.items()} if models else {}
    return {**SCHEMA, **plain({**kept, **made}), "models": small}


def parts_of(record: Any) -> dict[str, Any]:
    """Return the constructor arguments of a path from its record."""
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA["schema"]:
        raise InputError("it is not a selection path.")
    version = record.get("schema_version")
    if type(version) is not int or not 1 <= version <= SCHEMA["schema_version"]:
        newest = SCHEMA["schema_version"]
        raise InputError(
            f"its schema version is {version}, not 1 to {newest}: use a newer sparsepath."
        )
    rest = {key: value for key, value in record.items() if key not in SCHEMA}
    try:
        check(rest, PATH_SCHEMA, "path")
        rest["steps"] = [
            Step(**{**step, "coef": step["coef"] and np.array(step["coef"], float).T})
            for step in rest["steps"]
        ]
        rest["moves"] = [Move(**{**m, "error": number(m["error"])}) for m in rest["moves"]]
        rest["models"] = {
            int(size): Predictor.from_dict(model) for size, model in rest.get("models", {}).items()
        }
        honest = [step.honest_error for step in rest["steps"]]
        if rest.get("validation") and all(map(math.isnan, honest)):
            raise InputError("it has a validation, but no honest error.")
    except ValueError as error:  # rows of different lengths, a size that is no number
        raise damaged_error(error) from error
    return rest


def damaged_error(error: Exception) -> InputError:
    """Return the error for a record that is not a valid path."""
    return InputError(f"the selection path is damaged: {error}")


def file_text(record: Mapping[str, Any]) -> str:
    """Return the text of a path file: the record and its checksum."""
    head = {key: record[key] for key in SCHEMA}
    rest = {key: value for key, value in record.items() if key not in SCHEMA}
    return canonical({**head, "checksum": checksum(canonical(record)), **rest})


def read_file(raw: bytes) -> Any:
    """Return the record in the bytes of a file; raise an error if it was modified."""
    record = parse(raw)
    if not isinstance(record, dict) or record.get("schema") != SCHEMA["schema"]:
        return record  # which is then refused as what it is
    given, version = record.pop("checksum", None), record.get("schema_version")
    # Before version 3 there was no checksum, so that one which has it is not of that version.
    expected = None if version in (1, 2) else checksum(canonical(record))
    if given != expected:
        raise InputError("it was modified after it was written; run select again.")
    return record
