"""The kinds of table columns, and the numeric columns derived from them.

===========  ==============================================================================
kind         columns of numbers
===========  ==============================================================================
number       itself; text such as "12 kg" or "$ 33,641" that is a number in one unit too
flag         1 for true, 0 for false
category     an indicator for each value that occurs twice or more, the commonest first; hours of
             the clock such as "06h" too, since 23h is next to 00h
ordered      the place of the value in its order
date         year, month, day, weekday (1: Monday), and hour if there are times of day; with
             "clock" an indicator for each weekday and hour instead, since their effects are not
             linear
===========  ==============================================================================

If missing values are allowed, they are replaced by the median or the most frequent value; with
"indicator", an additional column marks them. For values of a category without an indicator (rare or
new values), all indicators are zero. A column without values, in all rows or in those of a fold, is
a category without values and gives no numeric column.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.tables.dates import DateFormats, as_days, guess_formats, kind_of_dates, parse_dates

MISSING = ("error", "median", "indicator")
DATES = ("error", "parts", "clock")
DATE_PARTS = ("year", "month", "day", "weekday", "hour")
CLOCK_PARTS = (
    *(f"weekday={day}" for day in range(1, 8)),
    *(f"hour={hour}" for hour in range(24)),
)
TWICE = 2  # rows in which a value must occur to have an indicator
QUOTED = 3  # values quoted in a message
NAMED_GAPS = 50  # columns with missing values, up to which a message names all of them
NEARLY_ALL = 0.8  # part of the values that are numbers, from which on the others are mistakes
STYLES = {  # how numbers are written, the plainest first; what to take out, and the decimal mark
    "plain": (r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", "", "."),
    "comma": (r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?", ",", "."),
    "decimal": (r"[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?", ".", ","),
    "space": (
        r"[-+]?(\d{1,3}([ '\u2019\u00a0\u202f]\d{3})+|\d+)([.,]\d+)?",
        " '\u2019\u00a0\u202f",
        ",",
    ),
}
_CODES = "usd eur gbp chf jpy cny inr sek nok dkk pln brl mxn krw sgd nzd cad aud zar"
CURRENCIES = _CODES.split(" ")
QUANTITY = re.compile(
    rf"([$€£¥]|(?:{'|'.join(CURRENCIES)})(?=[-+\s\d]))?\s*"
    r"([-+]?[\d.,'\u2019\s]*\d(?:e[-+]?\d+)?)\s*(%|[$€£¥]|[°µ]?[a-z][a-z²³/]{0,7})?",
    re.I,
)
_UNITS = "% $ € £ ¥ kg g mg t lb oz km m cm mm mi ft in l ml cl s ms min h d kw kwh w v a °c °f"
UNITS_OF_VALUES = frozenset([*_UNITS.split(" "), *CURRENCIES])
CLOCK = re.compile(r"([01]\d|2[0-4])\s?h", re.I)  # 06h is a time of day, 6 h a quantity
ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
MOST_LABELS = 20  # different texts up to which numbers without a sign of money are labels
MONEY = frozenset(["$", "€", "£", "¥", "%", *CURRENCIES])
LIKE_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([ T]\d.*)?")


@dataclass(frozen=True)
class Feature:
    """A column of a table with its fitted encoding."""

    name: str  # see the module
    kind: str
    # Of a category those with an indicator, of ordered ones all in order, of a date its parts.
    values: tuple[str, ...] = ()
    missing: str = "error"  # 'error', 'median', 'indicator': what becomes of missing values
    # What stands for a missing value, for each column; of a category the commonest value.
    fill: tuple[Any, ...] = ()
    flagged: bool = False  # whether a further column says where values are missing
    unit: str = ""  # of numbers that are written as text; see STYLES
    style: str = ""
    format: str = ""  # how dates are written, if not as 2024-12-31

    @property
    def is_empty(self) -> bool:
        """True if the column had no values."""
        return self.kind == "category" and self.missing != "error" and not self.fill

    @property
    def labels(self) -> list[str]:
        """Names of the output columns."""
        made = [self.name]
        if self.kind == "category":
            made = [f"{self.name}={value}" for value in self.values]
        elif self.kind == "date":
            made = [f"{self.name} {part}" for part in self.values]
        return made + [f"{self.name} is missing"] * self.flagged

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Feature":
        """Return the feature that ``to_dict`` converted."""
        return cls(**{**record, "values": tuple(record["values"]), "fill": tuple(record["fill"])})

    def columns(self, cells: "RawColumn") -> Floats:
        """Return the output columns, rows x columns."""
        gone, values = self._values(cells)
        if gone.any() and self.missing == "error":
            raise InputError(f"{missing_said({self.name: int(gone.sum())}, len(gone))}.")
        if self.kind == "category":
            wanted = np.array([*self.fill, None], dtype=object)[:1]
            filled = np.where(gone, wanted, values) if self.missing == "median" else values
            made = np.column_stack([filled == value for value in (*self.values, None)])
            made = made[:, :-1].astype(np.float64)
        else:
            made = values.reshape(len(gone), -1)
            made = np.where(gone[:, None], np.array(self.fill or (0.0,)), made)
        if self.flagged:
            made = np.column_stack([made, gone])
        return np.asarray(made, dtype=np.float64)

    def _values(self, cells: "RawColumn") -> tuple[NDArray[np.bool_], Any]:
        """Return a mask of missing values, and numbers, parts of dates or texts."""
        if self.kind == "date":
            return _parts(cells, self.values, self.format)
        if self.kind == "category":
            texts = cells.texts()
            return np.array([text is None for text in texts]), np.array([*texts, None], object)[:-1]
        if self.kind == "ordered":
            place = {value: float(i) for i, value in enumerate(self.values)}
            texts = cells.texts()
            if unknown := [text for text in texts if text is not None and text not in place]:
                raise InputError(
                    f"column {self.name!r} has the value {unknown[0]!r}, which is not in its given "
                    f"order {quote_values(self.values, 12)}."
                )
            codes = np.array([math.nan if text is None else place[text] for text in texts])
            return np.isnan(codes), codes
        numbers = cells.numbers(self.unit, self.style)
        if np.isinf(numbers).any():
            row = int(np.flatnonzero(np.isinf(numbers))[0]) + 1
            raise InputError(f"column {self.name!r} is infinite in row {row}; drop or replace it.")
        return np.isnan(numbers), numbers

    def unseen(self, cells: "RawColumn") -> list[str]:
        """Return values of a category without an indicator."""
        if self.kind != "category":
            return []
        known = {*self.values, None}
        return list(dict.fromkeys(text for text in cells.texts() if text not in known))  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One raw column of a table: name, values and type.

    ``kind`` is "number", "flag", "text", "ordered" (``order`` has its values) or "date". Values are
    float64 with NaN, texts with None, or datetime64 with NaT. Numbers that were text have a
    ``style`` and possibly a ``unit``. Texts that are ``declared`` a category, by the type of a data
    frame or file, are not read as numbers. For a column read in passes, ``counts`` has the
    frequency of each value (None: missing), and ``values`` has each value once.
    """

    name: str
    kind: str
    values: NDArray[Any]
    order: tuple[str, ...] = ()
    unit: str = ""
    style: str = ""
    counts: Counter[Any] | None = None
    declared: bool = False

    def rows(self, rows: Any) -> "RawColumn":
        """Return some rows (``replace`` would be slow for many columns)."""
        given = self.name, self.kind, self.values[rows], self.order, self.unit, self.style
        return RawColumn(*given, self.counts, self.declared)

    def like(self, other: "RawColumn") -> "RawColumn":
        """Return the column, some rows of another, with the type of that one."""
        if self.kind == other.kind:
            return self
        dated = other.kind == "date"
        values = _moments(self) if dated else self.numbers(other.unit, other.style)
        return replace(self, kind=other.kind, values=values, unit=other.unit, style=other.style)

    def counted(self) -> Counter[Any]:
        """Return the frequency of each value; None counts missing values."""
        return Counter(self.values.tolist()) if self.counts is None else self.counts

    def counted_texts(self) -> Counter[str]:
        """Return the frequency of each text."""
        return Counter({text: n for text, n in self.counted().items() if text is not None})

    @property
    def n_missing(self) -> int:
        """Return the number of missing values."""
        if self.counts is not None:
            return self.counts[None]
        if self.kind in ("text", "ordered"):
            return sum(text is None for text in self.values.tolist())
        return int((np.isnat if self.kind == "date" else np.isnan)(self.values).sum())

    def texts(self) -> list[str | None]:
        """Return the values as text; whole numbers without a decimal point."""
        if self.kind in ("text", "ordered"):
            return self.values.tolist()
        if self.kind == "date":
            return [None if np.isnat(value) else str(value) for value in self.values]
        return [None if math.isnan(v) else f"{v:.17g}" for v in self.values.tolist()]

    def numbers(self, unit: str = "", style: str = "") -> Floats:
        """Return the values as numbers; texts are parsed."""
        if self.kind in ("number", "flag"):
            return self.values
        if self.kind not in ("text", "ordered"):
            raise InputError(f"column {self.name!r} holds dates where numbers are expected.")
        made = np.full(len(self.values), math.nan)
        for i, text in enumerate(self.values.tolist()):
            if text is None:
                continue
            found, written = _split(text)
            style_of = next((s for s in (style or "plain", "plain") if _fits(written, s)), None)
            if style_of is None or found not in (unit, ""):
                of = f" in {unit}" if unit else ""
                raise InputError(
                    f"column {self.name!r} has {text[:40]!r} in row {i + 1}, but a number{of} is "
                    "expected; fix it, or leave it empty for a missing value."
                )
            made[i] = _read(written, style_of)
        return made


def infer_type(cells: RawColumn, formats: DateFormats = None) -> RawColumn:
    """Convert text columns of numbers or dates to numbers or dates.

    This depends on the format of a table, so it uses all rows and is not repeated in folds. Raises
    ``InputError`` for columns that are only partly convertible.
    """
    name = cells.name
    if cells.kind != "text" or cells.declared:
        return cells
    values = parse_dates(name, cells.values, formats)
    if values.dtype.kind == "M":
        return replace(cells, kind="date", values=values)
    counts = cells.counted_texts()
    if counts and all(ISO.fullmatch(text) for text in counts):
        return replace(cells, kind="date", values=_moments(cells))
    if counts and all(LIKE_DATE.fullmatch(text) for text in counts):
        raise InputError(f"column {name!r} {unclear_dates(counts)}; or leave it out.")
    texts = cells.values.tolist() if cells.counts is None else []
    quantity = _quantity(name, texts, counts) if counts else None
    if quantity is None:
        return cells
    unit, style = quantity
    values = cells.numbers(unit, style)
    return replace(cells, kind="number", values=values, unit=unit, style=style)


def unclear_dates(texts: Iterable[str]) -> str:
    """Return advice for dates in an unknown format."""
    texts = list(texts)
    forms = guess_formats(texts) or ["%d.%m.%Y"]
    others = f" or {forms[1]!r}" if len(forms) > 1 else ""
    return (
        f"holds dates written as {texts[0]!r}: give their format, as date_format={forms[0]!r} "
        f"(--date-format '{forms[0]}'){others}"
    )


def learn(
    cells: RawColumn,
    *,
    missing: str,
    dates: str,
    max_categories: int,
    date_format: DateFormats = None,
) -> Feature:
    """Fit the encoding of a column."""
    values: tuple[str, ...] = cells.order
    form: str | None = ""
    if cells.kind == "date":
        form = date_format.get(cells.name) if isinstance(date_format, Mapping) else date_format
        if dates == "error":
            raise InputError(f"{dates_said([cells.name])}.")
        values = _parts_of_dates(cells, dates)
    elif cells.kind == "text":
        counts = cells.counted_texts()
        often = [value for value, count in counts.items() if count >= TWICE]
        often.sort(key=lambda value: (-counts[value], value))
        values = tuple(often[:max_categories])
    kind = "category" if cells.kind == "text" else cells.kind
    made = Feature(cells.name, kind, values, missing, unit=cells.unit, style=cells.style)
    made = replace(made, format=form or "")
    return made if missing == "error" else _filled(made, cells)


def _parts_of_dates(cells: RawColumn, dates: str) -> tuple[str, ...]:
    """Return the parts that become columns."""
    if not _has_hours(cells):
        return DATE_PARTS[:-1]
    return CLOCK_PARTS if dates == "clock" else DATE_PARTS


def part_and_value(part: str) -> tuple[str, int | None]:
    """Return the part of a date, and the value that it is compared with, if there is one.

    >>> part_and_value("hour=7"), part_and_value("hour")
    (('hour', 7), ('hour', None))
    """
    name, _, value = part.partition("=")
    return name, int(value) if value else None


def _has_hours(cells: RawColumn) -> bool:
    moments = _moments(cells)
    moments = moments[~np.isnat(moments)]
    return bool((moments != moments.astype("datetime64[D]")).any())


def _filled(feature: Feature, cells: RawColumn) -> Feature:
    """Return the feature with the replacement of missing values."""
    gone, values = feature._values(cells)
    if feature.kind == "category":
        counts = cells.counted_texts()
        commonest = sorted(counts, key=lambda value: (-counts[value], value))[:1]
        fill: tuple[Any, ...] = tuple(commonest)
    else:
        if gone.all():
            return Feature(feature.name, "category", missing=feature.missing)
        there = values.reshape(len(gone), -1)[~gone]
        if cells.counts is not None:
            often = [count for value, count in cells.counts.items() if value is not None]
            there = np.column_stack([_middle_two(column, often) for column in there.T])
        fill = tuple(_medians(there))
    flagged = feature.missing == "indicator" and cells.n_missing > 0
    return replace(feature, fill=fill, flagged=flagged)


def _medians(values: Floats) -> list[float]:
    """Return the median of each column (faster than NumPy's for many short columns)."""
    ordered = np.sort(values, axis=0)
    low, high = (len(values) - 1) // 2, len(values) // 2
    return [(a + b) / 2 for a, b in zip(ordered[low].tolist(), ordered[high].tolist(), strict=True)]


def _middle_two(values: Floats, counts: Sequence[int]) -> Floats:
    """Return the two middle values, possibly equal, of values with frequencies."""
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(np.asarray(counts)[order])
    ranks = [(int(ends[-1]) - 1) // 2, int(ends[-1]) // 2]
    return values[order[np.searchsorted(ends, ranks, side="right")]]


def _moments(cells: RawColumn, form: str = "") -> Any:
    if cells.kind == "date":
        return cells.values.astype("datetime64[us]")
    if cells.kind != "text":
        raise InputError(f"column {cells.name!r} holds numbers where dates are expected.")
    texts = cells.values.tolist()
    if form and not all(ISO.fullmatch(text) for text in texts if text is not None):
        return parse_dates(cells.name, cells.values, {cells.name: form})
    texts = [("NaT" if text is None else text.replace(" ", "T")) for text in texts]
    try:
        return np.array(texts, dtype="datetime64[us]")
    except ValueError as error:
        raise InputError(
            f"column {cells.name!r} has an invalid date: {str(error).splitlines()[0]}."
        ) from error


def _parts(
    cells: RawColumn, parts: Sequence[str], form: str = ""
) -> tuple[NDArray[np.bool_], Floats]:
    moments = _moments(cells, form)
    gone = np.isnat(moments)
    moments = np.where(gone, np.datetime64("2000-01-01", "us"), moments)
    days, months = moments.astype("datetime64[D]"), moments.astype("datetime64[M]")
    since = days.astype(np.int64)
    every = {
        "year": months.astype("datetime64[Y]").astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "day": (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        "weekday": (since + 3) % 7 + 1,  # 1970 began on a Thursday
        "hour": (moments - days).astype("timedelta64[h]").astype(np.int64),
    }
    wanted = (part_and_value(part) for part in parts)
    made = [every[name] if value is None else every[name] == value for name, value in wanted]
    return gone, np.column_stack(made).astype(np.float64)


# Numbers that are written as text -----------------------------------------------------------------


def _split(text: str) -> tuple[str, str]:
    """Return unit (lower case or empty) and number of a text; ("", text) if there is none."""
    found = QUANTITY.fullmatch(text.strip())
    if found is None:
        return "", text.strip()
    return (found[1] or found[3] or ""), found[2].strip()


def _fits(written: str, style: str) -> bool:
    return re.fullmatch(STYLES[style][0], written, re.I) is not None


def _read(written: str, style: str) -> float:
    _, out, mark = STYLES[style]
    plain = "".join(character for character in written if character not in out)
    return float(plain.replace(mark, "."))


def _quantity(
    name: str, texts: Sequence[str | None], counts: Mapping[str, int]
) -> tuple[str, str] | None:
    """Return the unit and the number style of a column of numbers; None for other text.

    >>> [_quantity("x", t, dict.fromkeys(t)) for t in (["12 kg", "3 kg"], ["1,234"], ["59,0"])]
    [('kg', 'plain'), ('', 'comma'), ('', 'decimal')]
    >>> [_quantity("x", t, dict.fromkeys(t)) for t in (["CHF 403,973"], ["9 500 PLN"], ["-3 EUR"])]
    [('CHF', 'comma'), ('PLN', 'space'), ('EUR', 'plain')]
    >>> [_quantity("x", t, dict.fromkeys(t)) for t in (["3A", "12B"], ["06h", "17h"])]
    [None, None]
    """
    if all(CLOCK.fullmatch(text.strip()) for text in counts):
        return None
    split = {text: _split(text) for text in counts}
    units = {unit for unit, _ in split.values()}
    for style in STYLES:
        if all(_fits(written, style) for _, written in split.values()):
            if len(units) == 1:
                return next(iter(units)), style
            if all(unit.lower() in UNITS_OF_VALUES for unit in units):
                raise InputError(
                    f"column {name!r} has numbers in different units "
                    f"({quote_values(sorted(units))}); "
                    "convert them to one unit."
                )
            return None
    odd = [text for text, (_, written) in split.items() if not _fits(written, "plain")]
    rows = sum(counts[text] or 1 for text in odd)
    few = rows <= (1 - NEARLY_ALL) * sum(count or 1 for count in counts.values())
    if few or (len(odd) == 1 and len(counts) > 2):
        where = f" in row {list(texts).index(odd[0]) + 1}" if texts else ""
        raise InputError(
            f"column {name!r} is numbers except {odd[0][:40]!r}{where}; fix it, or leave it "
            "empty for a missing value."
        )
    return None


def quantities(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A target of texts such as "$960,000", "1.234,56" or "12 %" as numbers; labels as they are."""
    texts = np.array([*values.tolist(), None], dtype=object)[:-1]
    if all(LIKE_DATE.fullmatch(text) for text in texts) and guess_formats(dict.fromkeys(texts)):
        raise InputError(f"target {name!r} {unclear_dates(dict.fromkeys(texts.tolist()))}.")
    try:
        cells = infer_type(RawColumn(name, "text", texts))
    except InputError:  # nearly all of them are numbers: labels
        return values
    few = len(set(values.tolist())) <= MOST_LABELS
    if cells.kind != "number" or (few and cells.unit.lower() not in MONEY):
        return values
    return cells.values


def target_numbers(y: Any, formats: DateFormats = None) -> tuple[Any, dict[str, str] | None]:
    """A target as numbers where it is dates or text that holds numbers; of dates, what they are.

    >>> target_numbers(["$960,000", "$795,100", "$1,000,000"])[0].tolist()
    [960000.0, 795100.0, 1000000.0]
    >>> target_numbers(["13.04.2023"], "%d.%m.%Y")
    (array([19460.]), {'kind': 'date', 'format': '%d.%m.%Y'})
    """
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "OUM":
        return y, None
    name = str(getattr(y, "name", None) or "y")
    form = formats.get(name, "") if isinstance(formats, Mapping) else formats or ""
    values = parse_dates(name, values, form)
    if values.dtype.kind == "O" and all(ISO.fullmatch(str(each)) for each in values.tolist()):
        values = _moments(RawColumn(name, "text", values.astype(str).astype(object)))
    if values.dtype.kind == "M":
        days = as_days(values)
        return days, {"kind": kind_of_dates(days), "format": form}
    if not all(isinstance(each, str) for each in values.tolist()):
        return y, None
    read = quantities(name, values)
    return (y, None) if read is values else (read, None)


# What is said ------------------------------------------------------------------------------------


def quote_values(values: Iterable[object], limit: int = QUOTED) -> str:
    """Return the first few of some values in quotes.

    >>> quote_values("abcd")
    "'a', 'b', 'c' and 1 more"
    """
    every = [repr(str(value)[:40]) for value in values]
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


def missing_said(counts: Mapping[str, int], rows: int) -> str:
    """Return advice for missing values."""
    one = len(counts) == 1
    most = max(counts, key=lambda name: counts[name])
    named = quote_values(counts, NAMED_GAPS if len(counts) <= NAMED_GAPS else QUOTED)
    return (
        f"missing values in column{'' if one else 's'} {named} "
        f"({counts[most]} of {rows} rows{'' if one else f' in {most!r}'}): "
        "missing='median' (--missing median) imputes the median or the most frequent "
        "value, 'indicator' also marks where values were missing; or drop the rows (--missing "
        "drop-rows) or the columns (--missing drop-columns)"
    )


def dates_said(names: Sequence[str]) -> str:
    """Return advice for dates."""
    one = len(names) == 1
    return (
        f"dates in column{'' if one else 's'} {quote_values(names, 5)}: "
        "dates='parts' (--dates parts) "
        "converts them to year, month, day and weekday, dates='clock' (--dates clock) times of day "
        f"to indicators of weekday and hour; or leave {'it' if one else 'them'} out (--drop)"
    )
