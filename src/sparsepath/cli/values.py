"""Values from what is typed after an option; light, so that help is quick."""

import csv
import difflib
import math
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sparsepath.errors import FileError, InputError
from sparsepath.methods import METHODS, OPTIONS, called_here

TASKS = ("auto", "regression", "classification")
Reader = Callable[[str, str], Any]  # from an option and what was typed to what it means
MOST_LAG = 10_000
MOST_DIGITS = 18  # of a whole number: below 2**63
LONGEST_VALUE = 40  # characters of a value that a message repeats


def cut(given: str) -> str:
    """Return the typed text, cut if it is long."""
    return given if len(given) <= LONGEST_VALUE else f"{given[:LONGEST_VALUE]}..."


def check_name(path: Path) -> None:
    """Refuse a name that the system cannot look up: too long, or in a folder without permission."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return  # it may be a pattern, a file to be written, or a mistake that is named later
    except OSError as error:
        raise FileError(f"cannot use {path}: {error.strerror or error}.") from error


def one_of(
    option: str, given: str, allowed: Iterable[str], others: Mapping[str, str] | None = None
) -> str:
    """Return an allowed value; an error suggests similar names and names used elsewhere.

    >>> one_of("--loss", "zero_one", ["squared", "zero-one"])
    'zero-one'
    """
    allowed = list(allowed)
    plain = given.strip().lower().replace("_", "-")
    if plain in allowed:
        return plain
    elsewhere = (others or {}).get(plain)
    close = difflib.get_close_matches(plain, allowed, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    hint = f" ({elsewhere})" if elsewhere else hint
    raise InputError(f"{option} {given} is not known{hint}; use one of {', '.join(allowed)}.")


def _digits(given: str) -> int | None:
    """Return a whole number of at most 18 digits; None for anything else.

    >>> _digits(" 4 "), _digits("-4"), _digits("9" * 5000)
    (4, None, None)
    """
    plain = given.strip()
    return int(plain) if plain.isdecimal() and len(plain) <= MOST_DIGITS else None


def _number(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        return math.nan


def _whole(words: str, fine: Callable[[int], bool]) -> Reader:
    """Reads a whole number that is fine; else an error says in words what it must be.

    >>> READERS["count"]("--threads", "4"), READERS["seed"]("--seed", "0")
    (4, 0)
    """

    def read(option: str, given: str) -> int:
        found = _digits(given)
        if found is None or not fine(found):
            raise InputError(f"{option} {cut(given)} must be {words}.")
        return found

    return read


def _real(words: str, fine: Callable[[float], bool]) -> Reader:
    """Reads a number that is fine.

    >>> READERS["penalty"]("--l1", "0.01"), READERS["level"]("--significance", "0.05")
    (0.01, 0.05)
    """

    def read(option: str, given: str) -> float:
        value = _number(given)
        if not fine(value):
            raise InputError(f"{option} {cut(given)} must be a number {words}.")
        return value

    return read


def _folds(*named: str) -> Reader:
    """Reads a number of parts to leave out, or one of some words.

    >>> READERS["folds"]("--validation", "5"), READERS["folds"]("--validation", "Time")
    (5, 'time')
    >>> READERS["cv"]("--cv", "LOO")
    'loo'
    """
    listed = f"{', or ' if len(named) == 1 else ', '}{' or '.join(named)}"
    whole = _whole(f"a number of folds from 2 up{listed}", lambda n: n >= 2)

    def read(option: str, given: str) -> int | str:
        word = given.strip().lower()
        return word if word in named else whole(option, given)

    return read


def size(option: str, given: str) -> float:
    """Parse a number of bytes.

    >>> size("--memory", "2GB"), size("--memory", "512 MB")
    (2000000000.0, 512000000.0)
    """
    plain = given.strip().upper().removesuffix("B").strip()
    units = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    unit = units.get(plain[-1:], 1.0)
    found = _number(plain[:-1] if plain[-1:] in units else plain) * unit
    if not 1e6 <= found < math.inf:
        raise InputError(f"{option} {given} must be a size such as 2GB or 500MB, from 1MB up.")
    return found


def duration(option: str, given: str) -> float:
    """Seconds, from a number and a unit.

    >>> duration("--budget", "5min"), duration("--budget", "1.5 h"), duration("--budget", "20")
    (300.0, 5400.0, 20.0)
    """
    plain = given.strip().lower()
    units = {"": 1.0, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
    number = plain.rstrip("abcdefghijklmnopqrstuvwxyz ")
    value, unit = _number(number), units.get(plain[len(number) :].strip(), math.nan)
    if not 0 < value * unit < math.inf:
        raise InputError(f"{option} {given} must be a time, such as 90s, 5min or 1h.")
    return value * unit


def file_format(arguments: Any) -> dict[str, str]:
    """Return the given options of a text file, or the sheet of a workbook.

    >>> from types import SimpleNamespace
    >>> file_format(SimpleNamespace(delimiter="space", decimal=",", sheet=None))
    {'delimiter': ' ', 'decimal': ','}
    """
    said = {n: getattr(arguments, n, None) for n in ("delimiter", "decimal", "encoding", "sheet")}
    known = {name: value for name, value in said.items() if value is not None}
    if (mark := known.get("decimal", ".")) not in (".", ","):
        raise InputError(f"--decimal {cut(mark)} is not known; use '.' or ','.")
    named = {"tab": "\t", "space": " ", "\\t": "\t"}
    return {name: named.get(value, value) for name, value in known.items()}


def sample(option: str, given: str) -> tuple[int, int]:
    """Parse a number of rows and a seed.

    >>> sample("--sample", "1000"), sample("--sample", "1000:7")
    ((1000, 0), (1000, 7))
    """
    rows, _, start = given.partition(":")
    return READERS["rows drawn"](option, rows), READERS["whole"](option, start or "0")


def names(option: str, given: str) -> list[str]:
    """Column names between commas; a name with a comma in it stands in double quotes.

    >>> names("--drop", 'age, "height, cm"')
    ['age', 'height, cm']
    """
    try:
        [found] = csv.reader([given], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        found = []
    found = [name.strip() for name in found]
    if not found or not all(found):
        raise InputError(f"{option} {given!r} contains an empty name; write names as A,B,C.")
    return found


def rows(option: str, given: str) -> tuple[str, str, str]:
    """Parse a column and the value that rows must, or must not, have.

    >>> rows("--rows", "split=train"), rows("--rows", "split!=train")
    (('split', '=', 'train'), ('split', '!=', 'train'))
    """
    column, sign, value = given.partition("=")
    if sign and column.endswith("!"):
        column, sign = column[:-1], "!="
    if not (column.strip() and sign):
        raise InputError(
            f"{option} {given!r} must be a column and a value, as in split=train or split!=train."
        )
    return column.strip(), sign, value.strip()


def event(option: str, given: str) -> tuple[str, str | None]:
    """Parse a column, and possibly its value for an event.

    >>> event("--event", "died"), event("--event", "status=dead")
    (('died', None), ('status', 'dead'))
    """
    column, sign, value = given.partition("=")
    if not column.strip() or (sign and not value.strip()):
        raise InputError(f"{option} {given!r} must be a column, as in died, or status=dead.")
    return column.strip(), value.strip() if sign else None


def alpha(option: str, given: str) -> str | float | list[float]:
    """Parse a penalty, several separated by commas, "auto" or "loo".

    >>> alpha("--alpha", "0.1,1,10"), alpha("--alpha", "2"), alpha("--alpha", "loo")
    ([0.1, 1.0, 10.0], 2.0, 'loo')
    """
    if (word := given.strip().lower()) in ("auto", "loo"):
        return word
    values = [_number(part) for part in given.split(",")]
    if not all(0 <= value < math.inf for value in values):
        raise InputError(
            f"{option} {given} must be a number from 0 up, several between commas, auto or loo."
        )
    return values[0] if len(values) == 1 else values


def choose(option: str, given: str) -> str | int | float:
    """Parse a rule for the size: a name, a size, or a fraction of the minimum error.

    >>> choose("--choose", "one-se"), choose("--choose", "4"), choose("--choose", "0.05")
    ('one_se', 4, 0.05)
    """
    plain = given.strip().lower().replace("-", "_")
    if plain in ("one_se", "min"):
        return plain
    if (found := _digits(given)) is not None:
        return found
    fraction = _number(given)
    if not 0 <= fraction < 1:
        raise InputError(
            f"{option} {cut(given)} must be one_se, min, a number of features such as 4, or a "
            "fraction of the least error such as 0.05."
        )
    return fraction


def loss(option: str, given: str) -> str:
    """Parse a loss, possibly with its parameter.

    >>> loss("--loss", "zero_one"), loss("--loss", "Huber:20")
    ('zero-one', 'huber:20.0')
    """
    name, colon, number = given.partition(":")
    plain = one_of(option, name, OPTIONS["loss"].values)
    if not colon:
        return plain
    from sparsepath.rls.criteria.table import NUMBERS

    scaled = [name.replace("_", "-") for name, criterion in NUMBERS.items() if vars(criterion)]
    if plain not in scaled or not 0 < _number(number) < math.inf:
        raise InputError(
            f"{option} {given}: a number above 0, in the units of the target, may follow "
            f"{' and '.join(scaled)} only, as in huber:2.5."
        )
    return f"{plain}:{_number(number)}"


def check_checkpoint(file: str | Path | None) -> None:
    """Refuse to go on where there is nothing to go on from; several penalties have a file each."""
    if file is None:
        raise InputError("--resume needs a checkpoint: add --checkpoint FILE.")
    path = Path(file)
    if not path.is_file() and not list(path.parent.glob(f"{path.stem}-*{path.suffix}")):
        raise InputError(
            f"--resume: there is no checkpoint {path}; omit --resume to start from the beginning."
        )


def class_weight(option: str, given: str) -> str | dict[str, float]:
    """Class weights.

    >>> class_weight("--class-weight", "Balanced"), class_weight("--class-weight", "yes=10,no=1")
    ('balanced', {'yes': 10.0, 'no': 1.0})
    """
    if given.strip().lower() == "balanced":
        return "balanced"
    parts = [part.rpartition("=") for part in names(option, given)]
    found = {label.strip(): _number(number) for label, _, number in parts}
    if not all(label and 0 < number < math.inf for label, number in found.items()):
        raise InputError(
            f"{option} {cut(given)} must be balanced, or classes with numbers above 0, as in "
            "yes=10,no=1."
        )
    return found


def parse_ordered(option: str, given: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Columns with the order of their values.

    >>> parse_ordered("--ordered", "q1=low<mid<high, size=S<M")
    (('q1', ('low', 'mid', 'high')), ('size', ('S', 'M')))
    """
    found = []
    for part in names(option, given):
        column, sign, values = part.partition("=")
        order = tuple(value.strip() for value in values.split("<"))
        if not (sign and column.strip() and all(order) and len(set(order)) == len(order) > 1):
            raise InputError(
                f"{option} {cut(given)} must be columns with their values from low to high, as in "
                "'q1=low<mid<high,shirt=S<M<L'."
            )
        found.append((column.strip(), order))
    return tuple(found)


def lags(option: str, given: str) -> dict[str, int | list[int]]:
    """Columns, and how many rows before their values are features too.

    >>> lags("--lags", "load:1-3,load:24,sun:1")
    {'load': [1, 2, 3, 24], 'sun': 1}
    """
    found: dict[str, list[int]] = {}
    for part in names(option, given):
        column, colon, steps = part.rpartition(":")
        first, dash, last = steps.partition("-")
        low, high = _digits(first), _digits(last if dash else first)
        if not (colon and column.strip() and low and high and low <= high <= MOST_LAG):
            raise InputError(
                f"{option} {cut(given)} must be columns with rows before, as in load:1-24 or "
                f"'load:1-3,load:24,sun:1'; {MOST_LAG:,} rows are the most."
            )
        found[column.strip()] = [*found.get(column.strip(), []), *range(low, high + 1)]
    whole = {column: steps == [*range(1, len(steps) + 1)] for column, steps in found.items()}
    return {column: len(s) if whole[column] else s for column, s in found.items()}


def date_format(option: str, given: str) -> str | dict[str, str]:
    """Parse one date format for all columns, or formats by column.

    >>> date_format("--date-format", "%d.%m.%Y"), date_format("--date-format", "sold=%b %Y")
    ('%d.%m.%Y', {'sold': '%b %Y'})
    """
    from sparsepath.tables.dates import check_formats

    column, sign, _ = given.partition("=")
    found: str | dict[str, str] = given.strip()
    if sign and "%" not in column:
        parts = [part.partition("=") for part in names(option, given)]
        found = {name.strip(): form.strip() for name, _, form in parts}
    try:
        check_formats(found)
    except InputError as error:
        raise InputError(str(error).replace("date_format", option, 1)) from error
    return found


def threshold(option: str, given: str) -> str | float | list[list[float]]:
    """When to predict the second class.

    >>> threshold("--threshold", "F1"), threshold("--threshold", "0.3")
    ('f1', 0.3)
    >>> threshold("--threshold", "5:1")
    [[0.0, 1.0], [5.0, 0.0]]
    """
    word = given.strip().lower()
    if word in ("balanced", "f1"):
        return word
    missed, colon, false = word.partition(":")
    if colon and 0 < _number(missed) < math.inf and 0 < _number(false) < math.inf:
        return [[0.0, _number(false)], [_number(missed), 0.0]]
    if not colon and 0 < _number(word) < 1:
        return _number(word)
    raise InputError(
        f"{option} {cut(given)} must be balanced, f1, a probability between 0 and 1 such as 0.3, "
        "or costs of a missed case and of a false alarm such as 5:1."
    )


def path(option: str, given: str) -> Path:
    """Parse a file name that the system accepts; an empty one would be the current folder."""
    if not given.strip():
        raise InputError(f"{option} is empty; give the name of a file or folder.")
    found = Path(given)
    check_name(found)
    return found


READERS: dict[str, Reader] = {  # by kind of option; any other value is itself
    "file": path,
    "count": _whole("a whole number from 1 up", lambda n: n >= 1),
    "whole": _whole("a whole number from 0 up", lambda n: True),
    "rows drawn": _whole("a number of rows from 2 up, such as 1000", lambda n: n >= 2),
    "seed": _whole("a whole number from 0 up, below 2**32", lambda n: n < 2**32),
    "shuffles": _whole(
        "a whole number from 19 up: of N shuffles the least p-value is 1/(N+1)", lambda n: n >= 19
    ),
    "resamples": _whole("a whole number from 20 up, such as 200", lambda n: n >= 20),
    "halves": _whole("an even number from 2 up, such as 50", lambda n: n >= 2 and n % 2 == 0),
    "penalty": _real("from 0 up", lambda value: 0 <= value < math.inf),
    "budget": _real("above 0", lambda value: 0 < value < math.inf),
    "level": _real("from 0.001 up, below 1", lambda value: 0.001 <= value < 1),
    "folds": _folds("loo", "time"),
    "cv": _folds("loo"),
    "size": size,
    "duration": duration,
    "sample": sample,
    "names": names,
    "rows": rows,
    "event": event,
    "alpha": alpha,
    "choose": choose,
    "loss": loss,
    "class_weight": class_weight,
    "threshold": threshold,
    "ordered": parse_ordered,
    "date_format": date_format,
    "lags": lags,
}


def read(flag: str, kind: str, given: Any, values: Iterable[str] = ()) -> Any:
    """Parse the value of an option.

    >>> read("--max-features", "count", "4"), read("--loss", "loss", "zero_one")
    (4, 'zero-one')
    """
    if kind == "one_of":
        return one_of(flag, given, values)
    if kind == "method":
        return one_of(flag, given, METHODS, called_here())
    reader = READERS.get(kind)
    return given if reader is None else reader(flag, given)


_TYPED = {option.parameter: f"--{name} " for name, option in OPTIONS.items()} | {
    "size": "--size ",
    "transform_target": "--transform-target ",
}
_PARAMETER = re.compile(rf"\b({'|'.join(_TYPED)})=")
_FOLDS = re.compile(r"\bvalidation=(?=\d)")
_BESIDE = re.compile(r"\b\w+='[^']+' \((--[^()]+)\)")  # the words of both, side by side
_QUOTED = re.compile(r"(--[\w-]+) '([\w-]+)'")
_DROPPED = re.compile(r"\bdrop=(\[.*?\])(?=\.$)")


def as_command_line(message: str) -> str:
    """Return an estimator's message with parameters as command-line options.

    >>> as_command_line("cv=3 is more than the 2 samples; give 2 or less.")
    '--cv 3 is more than the 2 samples; give 2 or less.'
    >>> as_command_line("loss='huber' is for numbers.")
    '--loss huber is for numbers.'
    >>> as_command_line("sample_weight holds negative numbers")
    '--weights holds negative numbers'
    >>> as_command_line("leave them out by drop=['a', 'b'].")
    'leave them out by --drop a,b.'
    >>> as_command_line("dates='parts' (--dates parts) makes parts of them.")
    '--dates parts makes parts of them.'
    """
    message = re.sub(r"\bsample_weight\b(?!=)", "--weights", message)
    message = _FOLDS.sub("--validation ", _BESIDE.sub(r"\1", message))
    from sparsepath.data.names import listing

    message = _PARAMETER.sub(lambda found: _TYPED[found[1]], message)
    message = _QUOTED.sub(r"\1 \2", message)
    return _DROPPED.sub(lambda found: f"--drop {listing(literal_eval(found[1]))}", message)
