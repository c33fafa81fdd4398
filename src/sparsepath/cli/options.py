"""What is typed after an option, made into values; light, so that help is quick."""

import csv
import difflib
import inspect
import io
import math
import re
import shlex
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.errors import InputError
from sparsepath.methods import OPTIONS, Option, having

TASKS = ("auto", "regression", "classification")
TYPES = {"flag": bool, "file": Path}
Reader = Callable[[str, str], Any]  # from an option and what was typed to what it means
DATA, SEARCH, HONEST, OUTPUT, RUNNING = "Data", "Search", "Honest error", "Output", "Running"
GROUPS = {  # of options of methods in the help; the others are of the search
    **dict.fromkeys(("weights", "groups"), DATA),
    **dict.fromkeys(("seed", "threads", "checkpoint"), RUNNING),
}
THREADS = OPTIONS["threads"].help


def one_of(
    option: str, given: str, allowed: Iterable[str], others: Mapping[str, str] | None = None
) -> str:
    """The value itself if it is allowed; a near miss, or a name used elsewhere, is pointed out.

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
        plain = given.strip()
        if not plain.isdecimal() or not fine(int(plain)):
            raise InputError(f"{option} {given} must be {words}.")
        return int(plain)

    return read


def _real(words: str, fine: Callable[[float], bool]) -> Reader:
    """Reads a number that is fine.

    >>> READERS["penalty"]("--l1", "0.01"), READERS["level"]("--significance", "0.05")
    (0.01, 0.05)
    """

    def read(option: str, given: str) -> float:
        value = _number(given)
        if not fine(value):
            raise InputError(f"{option} {given} must be a number {words}.")
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
    """A number of bytes.

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


def preparing(asked: Any) -> Any:
    """What becomes of missing values and dates."""
    from sparsepath.cli.preparing import MISSING_TYPED, Preparing
    from sparsepath.data.features import DATES

    missing = one_of("--missing", asked.missing, MISSING_TYPED)
    return Preparing(missing, one_of("--dates", asked.dates, DATES))


def writing(asked: Any) -> dict[str, str]:
    """How a text file is written, or which sheet of a workbook it is, as far as that was said.

    >>> from types import SimpleNamespace
    >>> writing(SimpleNamespace(delimiter="space", decimal=",", sheet=None))
    {'delimiter': ' ', 'decimal': ','}
    """
    said = {n: getattr(asked, n, None) for n in ("delimiter", "decimal", "encoding", "sheet")}
    known = {name: value for name, value in said.items() if value is not None}
    if (mark := known.get("decimal", ".")) not in (".", ","):
        raise InputError(f"--decimal {mark} is not known; use . or ,")
    named = {"tab": "\t", "space": " ", "\\t": "\t"}
    return {name: named.get(value, value) for name, value in known.items()}


def sample(option: str, given: str) -> tuple[int, int]:
    """A number of rows and the seed they are drawn with.

    >>> sample("--sample", "1000"), sample("--sample", "1000:7")
    ((1000, 0), (1000, 7))
    """
    rows, _, start = given.partition(":")
    return READERS["count"](option, rows), READERS["whole"](option, start or "0")


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
        raise InputError(f"{option} {given!r} holds an empty name; write names as A,B,C.")
    return found


def rows(option: str, given: str) -> tuple[str, str, str]:
    """A column and the value that the rows must have in it, or must not have.

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


def alpha(option: str, given: str) -> str | float | list[float]:
    """A penalty, several between commas, or "loo".

    >>> alpha("--alpha", "0.1,1,10"), alpha("--alpha", "2"), alpha("--alpha", "loo")
    ([0.1, 1.0, 10.0], 2.0, 'loo')
    """
    if given.strip().lower() == "loo":
        return "loo"
    values = [_number(part) for part in given.split(",")]
    if not all(0 <= value < math.inf for value in values):
        raise InputError(
            f"{option} {given} must be a number from 0 up, several between commas, or loo."
        )
    return values[0] if len(values) == 1 else values


def choose(option: str, given: str) -> str | int | float:
    """How to settle on a size: a rule, a size, or a fraction of the least error.

    >>> choose("--choose", "one-se"), choose("--choose", "4"), choose("--choose", "0.05")
    ('one_se', 4, 0.05)
    """
    plain = given.strip().lower().replace("-", "_")
    if plain in ("one_se", "min"):
        return plain
    if plain.isdecimal():
        return int(plain)
    fraction = _number(given)
    if not 0 <= fraction < 1:
        raise InputError(
            f"{option} {given} must be one_se, min, a number of features such as 4, or a fraction "
            "of the least error such as 0.05."
        )
    return fraction


def loss(option: str, given: str) -> str:
    """One of the losses there are, of those with a parameter with its value if you like.

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
        raise InputError("--resume goes on from a file: give --checkpoint FILE too.")
    path = Path(file)
    if not path.is_file() and not list(path.parent.glob(f"{path.stem}-*{path.suffix}")):
        raise InputError(
            f"--resume: there is no checkpoint {path}; leave --resume out to start afresh."
        )


READERS: dict[str, Reader] = {  # by what an option is; any other means itself
    "count": _whole("a whole number from 1 up", lambda n: n >= 1),
    "whole": _whole("a whole number from 0 up", lambda n: True),
    "seed": _whole("a whole number from 0 up, below 2**32", lambda n: n < 2**32),
    "shuffles": _whole(
        "a whole number from 19 up: of N shuffles the least p-value is 1/(N+1)", lambda n: n >= 19
    ),
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
    "alpha": alpha,
    "choose": choose,
    "loss": loss,
}


def value(name: str, given: Any) -> Any:
    """What was given for an option of a method, made into what it means.

    >>> value("max-features", "4"), value("loss", "zero_one"), value("weights", "w")
    (4, 'zero-one', 'w')
    """
    option = OPTIONS[name]
    if option.kind == "one_of":
        return one_of(f"--{name}", given, option.values)
    reader = READERS.get(option.kind)
    return given if reader is None else reader(f"--{name}", given)


_TYPED = {option.parameter: f"--{name} " for name, option in OPTIONS.items()} | {"size": "--size "}
_PARAMETER = re.compile(rf"\b({'|'.join(_TYPED)})=")
_FOLDS = re.compile(r"\bvalidation=(?=\d)")
_BESIDE = re.compile(r"\b\w+='[\w-]+' \((--[\w -]+)\)")  # the words of both, side by side
_DROPPED = re.compile(r"\bdrop=(\[.*?\])(?=\.$)")


def typed(message: str) -> str:
    """What an estimator says of its parameters, as they are typed here.

    >>> typed("cv=3 is more than the 2 samples; give 2 or less.")
    '--cv 3 is more than the 2 samples; give 2 or less.'
    >>> typed("leave them out by drop=['a', 'b'].")
    'leave them out by --drop a,b.'
    >>> typed("dates='parts' (--dates parts) makes parts of them.")
    '--dates parts makes parts of them.'
    """
    message = _FOLDS.sub("--validation ", _BESIDE.sub(r"\1", message))
    message = _PARAMETER.sub(lambda found: _TYPED[found[1]], message)
    return _DROPPED.sub(lambda found: f"--drop {listing(literal_eval(found[1]))}", message)


def listing(columns: Iterable[str]) -> str:
    r"""Names as ``names`` reads them, in quotes for the shell where it needs them.

    >>> listing(["a", "height, cm"])
    '\'a,"height, cm"\''
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(columns)
    return shlex.quote(text.getvalue())


def parameters() -> list[inspect.Parameter]:
    """The options of all methods as parameters of a command."""
    return [
        inspect.Parameter(
            name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[TYPES.get(option.kind, str) | None, _described(name, option)],
        )
        for name, option in OPTIONS.items()
    ]


def _described(name: str, option: Option) -> Any:
    flags = f"--{name}/--no-{name}" if option.kind == "flag" else f"--{name}"
    methods = " and ".join(having(name))
    return typer.Option(
        flags,
        *(["--jobs"] if name == "threads" else []),
        metavar=option.metavar or None,
        show_default=option.default or True,
        help=option.help.format(methods=methods, values=", ".join(option.values)),
        rich_help_panel=GROUPS.get(name, SEARCH),
    )
