"""Dates that are written in another way than 2024-12-31, and dates as numbers.

A format is one of ``datetime.strptime``, such as "%d.%m.%Y". It is given for columns by name, or
one for all: that one is used for every column of text whose values all fit it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats

DateFormats = str | Mapping[str, str] | None
ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
TIMES = ("", " %H:%M", " %H:%M:%S")
_EXAMPLE = datetime(2023, 4, 13, 17, 5, 59)
_EPOCH = np.datetime64("1970-01-01", "us")


def check_formats(formats: Any) -> None:
    """Raise an error for invalid date formats or unknown columns.

    >>> check_formats({"sold": "%d.%m.%Y"})
    >>> check_formats("dd.mm.yyyy")
    Traceback (most recent call last):
    sparsepath.errors.InputError: date_format 'dd.mm.yyyy' must be written with %d for the day, ...
    """
    given = formats.values() if isinstance(formats, Mapping) else [formats]
    for each in given if formats is not None else ():
        try:
            fits = "%" in each and datetime.strptime(_EXAMPLE.strftime(each), each).year > 1900
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise InputError(
                f"date_format {each!r} must be written with %d for the day, %m for the month, %Y "
                "for the year (%y: two digits), %H:%M for the time, as in '%d.%m.%Y'."
            )


def parse_dates(name: str, values: NDArray[Any], formats: DateFormats) -> NDArray[Any]:
    """Return texts as dates (``datetime64``) if a format is known for them, else the values
    unchanged.
    """
    form = formats.get(name) if isinstance(formats, Mapping) else formats
    if not form or values.dtype.kind not in "OUS":
        return values
    texts = [str(value) if isinstance(value, str) else value for value in values.tolist()]
    known = {text for text in texts if text is not None}
    if not known or not all(isinstance(text, str) for text in known):
        return values
    moments: dict[str | None, Any] = {None: np.datetime64("NaT", "us")}
    for text in known:
        try:
            moment = datetime.strptime(text.strip(), form).replace(tzinfo=None)
        except ValueError as error:
            if not isinstance(formats, Mapping):
                return values  # a format for all columns that it fits
            raise InputError(
                f"column {name!r} has {text[:40]!r} in row {texts.index(text) + 1}, which does not "
                f"match the date format {form!r}."
            ) from error
        moments[text] = np.datetime64(moment, "us")
    return np.array([moments[text] for text in texts], dtype="datetime64[us]")


def guess_formats(texts: Iterable[str]) -> list[str]:
    """Return the common formats that all texts match.

    >>> guess_formats(["13.04.2023", "01.12.2022"]), guess_formats(["07/11/2023"])
    (['%d.%m.%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    texts = [text.strip() for text in texts]
    forms = [order.format(mark) + time for mark in ".-/" for order in ORDERS for time in TIMES]
    return [form for form in forms if all(_fits(text, form) for text in texts)]


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def as_days(moments: NDArray[Any]) -> Floats:
    """Return dates as days since 1970-01-01; missing dates are NaN."""
    days = (moments.astype("datetime64[us]") - _EPOCH) / np.timedelta64(1, "D")
    return np.where(np.isnat(moments), np.nan, np.asarray(days, dtype=np.float64))


def written_dates(days: Floats, kind: str, format: str = "") -> NDArray[Any]:
    """Return days since 1970-01-01 as text, rounded to the day or, for "time", to the minute.

    >>> written_dates(np.array([19460.4, 19460.6]), "date").tolist()
    ['2023-04-13', '2023-04-14']
    >>> written_dates(np.array([19460.4]), "time").tolist()
    ['2023-04-13T09:36']
    >>> written_dates(np.array([19460.4]), "date", "%d.%m.%Y").tolist()
    ['13.04.2023']
    """
    unit, per_day = ("D", 1) if kind == "date" else ("m", 1440)
    counts = np.round(np.asarray(days) * per_day).astype(np.int64)
    moments = counts.astype(f"datetime64[{unit}]")
    if not format:
        return moments.astype(str)
    made = [moment.strftime(format) for moment in moments.astype("datetime64[us]").tolist()]
    return np.array(made)


def kind_of_dates(days: Floats) -> str:
    """Return "date" if all values are whole days, else "time"."""
    return "date" if bool((days[np.isfinite(days)] % 1 == 0).all()) else "time"
