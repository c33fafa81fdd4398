"""JSON files: parsing with limits, checksums and schema checks.

Files may come from untrusted sources. Text is parsed with limits (UTF-8, no NaN or infinity, no
deep nesting, no overlong numbers), the content is compared with its checksum, and ``check``
validates it against a schema before any object is created.
"""

import hashlib
import json
import math
import platform
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from sparsepath.errors import InputError

AS_JSON = {str, int, bool}  # what JSON holds as it is
DEEPEST = 64  # lists and records within each other; ours have eight
LONGEST_NUMBER = 40  # characters; a float64 written exactly has at most 24
LONGEST_QUOTE = 40  # characters of a wrong value in a message

# Strings are matched whole, so that brackets and digits inside them do not count.
_TEXT, _LONG = r'"[^"\\]*(?:\\.[^"\\]*)*"', rf"[-+.0-9eE]{{{LONGEST_NUMBER + 1},}}"
_TOKENS = re.compile(rf"{_TEXT}|[\[\]{{}}]|{_LONG}", re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR = re.compile(
    r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>\\u[dD][89a-fA-F]..)|\\.", re.DOTALL
)


def parse(raw: bytes) -> Any:
    """Return the value of a JSON text; raise ``InputError`` if it is invalid.

    >>> parse(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse(b'[1e999]')
    Traceback (most recent call last):
    sparsepath.errors.InputError: it is damaged: 1e999 is not a finite number.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"it is damaged: byte {error.start} is not UTF-8.") from error
    _check_limits(text)
    _check_characters(text)
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as error:
        raise InputError(
            f"it is truncated or damaged: line {error.lineno}, column {error.colno} is not JSON."
        ) from error


def _check_limits(text: str) -> None:
    depth = 0
    for token in _TOKENS.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
        elif first != '"':
            raise InputError(f"it is damaged: a number of {len(token[0])} characters.")
        if depth > DEEPEST:
            raise InputError(f"it is damaged: nested more than {DEEPEST} levels deep.")


def _check_characters(text: str) -> None:
    """Raise an error for an incomplete surrogate pair, which files cannot represent."""
    if _SURROGATE.search(text):
        for found in _PAIR.finditer(text):
            if found["half"]:
                raise InputError(
                    f"it has {found['half']}, an incomplete surrogate pair: not valid text."
                )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InputError(f"it is damaged: {text} is not a finite number.")
    return value


def canonical(content: Any) -> str:
    """Return the canonical text of a content, used for files and checksums."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    _check_characters(text)
    return text


def checksum(text: str) -> str:
    """Return the SHA-256 of a canonical text."""
    return hashlib.sha256(text.encode()).hexdigest()


def check(value: Any, schema: Any, place: str = "content") -> None:
    """Raise an error if a value does not match a schema.

    A schema is a type (``str``, ``bool``, ``int`` of 64 bits, ``float``, which includes integers,
    ``dict`` with any content, ``object``: anything), ``None``, a set of allowed texts, a tuple of
    alternatives, a list with the schema of every item, or a record with the schema of each key; a
    key that ends in "?" may be absent.

    >>> check({"size": 2, "names": None}, {"size": int, "names": (None, [str]), "more?": bool})
    >>> check({"size": "2"}, {"size": int})
    Traceback (most recent call last):
    sparsepath.errors.InputError: content.size must be a whole number, not '2'.
    """
    if isinstance(schema, Mapping):
        _check_record(value, schema, place)
    elif isinstance(schema, list):
        if not isinstance(value, list):
            raise _unfit(value, schema, place)
        (each,) = schema
        if isinstance(each, tuple) and float in each and {*map(type, value)} <= {float, int}:
            return  # long lists of numbers, quickly
        for i, item in enumerate(value):
            if not _is_plain(item, each):
                check(item, each, f"{place}[{i}]")
    elif isinstance(schema, tuple):
        if not any(_is_plain(value, each) for each in schema):
            kind = Mapping if isinstance(value, dict) else list
            nested = [each for each in schema if isinstance(each, kind)]
            if not nested or not isinstance(value, dict | list):
                raise _unfit(value, schema, place)
            check(value, nested[0], place)
    elif not _is_plain(value, schema):
        raise _unfit(value, schema, place)


def _check_record(value: Any, schema: Mapping[str, Any], place: str) -> None:
    if not isinstance(value, dict):
        raise _unfit(value, schema, place)
    known = {key.rstrip("?"): each for key, each in schema.items()}
    if lost := [key for key in schema if not key.endswith("?") and key not in value]:
        raise InputError(f"{place} lacks {lost[0]!r}.")
    for key, item in value.items():
        if key not in known:
            raise InputError(f"{place} has {_quoted(key)}, which is not part of the format.")
        check(item, known[key], f"{place}.{key}")


def _is_plain(value: Any, schema: Any) -> bool:
    if schema is None or schema is object:
        return schema is object or value is None
    if isinstance(schema, set):
        return isinstance(value, str) and value in schema
    if schema is float:
        return type(value) is float or type(value) is int
    if schema is int:
        return type(value) is int and -(2**63) <= value < 2**63
    return type(value) is schema


_SAID = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a record",
    None: "null",
}


def _said(schema: Any) -> str:
    if isinstance(schema, Mapping):
        return "a record"
    if isinstance(schema, list):
        return "a list"
    if isinstance(schema, set):
        return " or ".join(sorted(map(repr, schema)))
    if isinstance(schema, tuple):
        return " or ".join(map(_said, schema))
    return _SAID[schema]


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."


def _unfit(value: Any, schema: Any, place: str) -> InputError:
    return InputError(f"{place} must be {_said(schema)}, not {_quoted(value)}.")


def plain(value: Any) -> Any:
    """Convert to JSON values: NaN to None, infinity to its name, unknown objects to their repr."""
    if value is None or type(value) in AS_JSON:
        return value
    if hasattr(value, "tolist"):  # of NumPy, which need not be loaded to read a file
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
    """Return the versions of the packages that created the path."""
    from importlib import metadata  # slow to import

    versions = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "sparsepath"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from a folder of sources
            versions[name] = "unknown"
    return versions
