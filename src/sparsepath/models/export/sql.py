"""Export models as one SQL expression for SQLite and DuckDB.

- Numbers are written with an exponent, which makes them doubles in every dialect (DuckDB reads 0.1
  as a decimal).
- tanh(v) is written as 1 - 2 / (exp(2 v) + 1), with the exponent limited to 700, because not every
  SQLite has tanh.
- A row with a missing value gives NULL, unless the model imputes it. SQLite imports all CSV values
  as text and missing values as empty text, so expressions treat empty text as missing.
- DuckDB compares numbers only with texts of numbers, hence the casts.
- Dates must be DATE or TIMESTAMP in DuckDB, and text such as 2024-12-31 in SQLite.
- With three or more classes, a subquery computes the scores once.
- SQLite interprets an unknown quoted name as text, and text that is not a number as 0. So the
  expression begins with a test that gives NULL if a column is missing.
"""

import math
from typing import Any

from sparsepath.errors import InputError
from sparsepath.models.export.subject import Subject, Term, number, one_line
from sparsepath.models.predictors import Tanh
from sparsepath.tables.features import part_and_value


def sql(subject: Subject) -> str:
    """Return one expression: the prediction or the class label; a comment states the units."""
    _check_names(subject.columns)
    said = f"/* {one_line(subject.units_said)} */\n" if subject.units else ""
    test = _test(subject)
    return said + ",\n".join(test + each + " END" * bool(test) for each in _answers(subject)) + "\n"


def sql_probability(subject: Subject) -> str:
    """Return the probability of the second class; with three or more, one expression per class."""
    if subject.classes is None:
        raise InputError("a regression model has no probabilities; use sql.")
    _check_names(subject.columns)
    said = f"/* {one_line(subject.units_said)} */\n" if subject.units else ""
    test, outputs, a = _test(subject), _outputs(subject), _number(subject.slope)
    if len(outputs) == 1:
        made = [f"1e0 / (1e0 + exp({_held(f'-{a} * ({outputs[0]})')}))"]
    else:
        scores = ", ".join(f"{text} AS s{t}" for t, text in enumerate(outputs))
        made = []
        for t in range(len(outputs)):
            odds = (f"exp({_held(f'{a} * (s{o} - s{t})')})" for o in range(len(outputs)) if o != t)
            made.append(f"(SELECT 1e0 / (1e0 + {' + '.join(odds)}) FROM (SELECT {scores}) AS s)")
    return said + ",\n".join(test + each + " END" * bool(test) for each in made) + "\n"


def _held(exponent: str) -> str:
    """Return an exponent limited to the range of exp."""
    return f"CASE WHEN {exponent} > 7e2 THEN 7e2 ELSE {exponent} END"


def _check_names(names: list[str]) -> None:
    """Raise an error for names that no column of an SQL table can have."""
    for name in names:
        if not name or "\0" in name:
            raise InputError(f"SQL does not allow the column name {name!r}; rename it and refit.")
    if len({name.lower() for name in names}) < len(names):
        raise InputError(
            "two columns of the model differ only in case, which is the same column in "
            "SQL; rename one and refit."
        )


def _test(subject: Subject) -> str:
    """Return the beginning of a CASE that gives NULL if a column is missing."""
    if subject.terms is None:
        wrong = [
            f"CAST({_column(name)} AS VARCHAR) NOT IN ('', {_literal(name)})"
            for name in subject.inputs
        ]
        return f"CASE WHEN {' AND '.join(wrong)} THEN\n" if wrong else ""
    known = {(term.name, value) for term in subject.terms for value in (term.value, *term.values)}
    wrong = [
        f"CAST({_column(name)} AS VARCHAR) = {_literal(name)}"
        for name in subject.columns
        if (name, name) not in known  # there it is a value like any other
    ]
    return f"CASE WHEN {' OR '.join(wrong)} THEN NULL ELSE\n" if wrong else ""


def _answers(subject: Subject) -> list[str]:
    """Return one expression per output, or one for the label."""
    outputs = _outputs(subject)
    if subject.classes is None:
        return outputs
    labels = [_literal(label) for label in subject.classes]
    limit = _number(subject.threshold) if subject.threshold else "0"
    if len(outputs) == 1:
        return [
            f"CASE WHEN ({outputs[0]}) > {limit} THEN {labels[1]}"
            f" WHEN ({outputs[0]}) <= {limit} THEN {labels[0]} END"
        ]
    made = ", ".join(f"{text} AS s{t}" for t, text in enumerate(outputs))
    whens = []
    for t, label in enumerate(labels):
        others = " AND ".join(f"s{t} >= s{o}" for o in range(len(labels)) if o != t)
        whens.append(f"WHEN {others} THEN {label}")
    return [f"(SELECT CASE {' '.join(whens)} END FROM (SELECT {made}) AS scores)"]


# By the link, what a prediction is of the formula; "sqrt" is held at zero from below.
_BACK = {
    "identity": "{f}",
    "log": "exp({f})",
    "log1p": "exp({f}) - 1e0",
    "sqrt": "CASE WHEN ({f}) > 0 THEN ({f}) * ({f}) ELSE 0e0 * ({f}) END",
}


def _outputs(subject: Subject) -> list[str]:
    """Return one expression per output."""
    formula = subject.formula
    z = [_column(name) for name in subject.inputs]
    if subject.terms is not None:
        z = [_term(term) for term in subject.terms]
    if subject.scaled:
        z = [
            f"(({name} - {_number(c)}) / {_number(s)})"
            for name, c, s in zip(z, formula.centre, formula.scale, strict=True)
        ]
    hidden: list[str] = []
    if formula.units is not None:
        hidden = [_unit(formula.units, u, z) for u in range(len(formula.coef))]  # type: ignore[arg-type]
    found = []
    for t in range(formula.n_outputs):
        terms = [_number(formula.intercept[t])]
        terms += [f"{_number(w)} * {v}" for w, v in zip(formula.slopes[:, t], z, strict=True) if w]
        if formula.coef is not None:
            terms += [
                f"{_number(w)} * {h}" for w, h in zip(formula.coef[:, t], hidden, strict=True) if w
            ]
        text = " + ".join(terms)
        if formula.bounds is not None:
            low, high = (_number(value) for value in formula.bounds[:, t])
            text = (
                f"CASE WHEN ({text}) < {low} THEN {low} WHEN ({text}) > {high} THEN {high} "
                f"ELSE {text} END"
            )
        found.append(_BACK[formula.link].format(f=text))
    return found


# Of the day of the week SQLite and DuckDB count Sunday as 0.
_TRUE = "'true', 't', '1', '1.0'"
_PARTS = {"year": "%Y", "month": "%m", "day": "%d", "weekday": "%w", "hour": "%H"}


def _term(term: Term) -> str:
    """Return a numeric column computed from a table column; NULL for a missing value that is not
    imputed.
    """
    name = _column(term.name)
    text = f"NULLIF(CAST({name} AS VARCHAR), '')"
    if term.kind == "missing":
        return f"CASE WHEN {text} IS NULL THEN 1e0 ELSE 0e0 END"
    if term.kind == "equals":
        here = text if term.fill is None else f"COALESCE({text}, {_literal(term.fill)})"
        null = "" if term.may_lack else f"WHEN {text} IS NULL THEN NULL "
        return f"(CASE {null}WHEN {here} = {_literal(term.value)} THEN 1e0 ELSE 0e0 END)"
    if term.kind == "flag":
        made = f"CASE WHEN LOWER({text}) IN ({_TRUE}) THEN 1e0 WHEN {text} <> '' THEN 0e0 END"
    elif term.kind == "place":
        places = (f"WHEN {_literal(v)} THEN {_number(i)}" for i, v in enumerate(term.values))
        made = f"CASE {text} {' '.join(places)} END"
    elif term.kind == "part":
        part, value = part_and_value(term.value)
        made = f"CAST(strftime('{_PARTS[part]}', {name}) AS INTEGER)"
        made = f"(({made} + 6) % 7 + 1)" if part == "weekday" else made
        if value is not None:
            made = f"CASE WHEN {made} = {value} THEN 1e0 WHEN {made} <> {value} THEN 0e0 END"
    else:
        made = f"CASE WHEN {text} <> '' THEN {name} END"
    return f"({made})" if term.fill is None else f"COALESCE({made}, {_number(term.fill)})"


def _unit(units: Any, u: int, z: list[str]) -> str:
    if isinstance(units, Tanh):
        terms = [_number(2.0 * units.biases[u])]
        terms += [
            f"{_number(2.0 * w)} * {v}" for w, v in zip(units.weights[u], z, strict=True) if w
        ]
        twice = " + ".join(terms)
        held = f"CASE WHEN {twice} > 7e2 THEN 7e2 ELSE {twice} END"
        return f"(1e0 - 2e0 / (exp({held}) + 1e0))"
    off = " + ".join(
        f"({v} - {_number(c)}) * ({v} - {_number(c)})"
        for c, v in zip(units.centres[u], z, strict=True)
    )
    return f"exp({_number(-units.sharpness[u])} * ({off}))"


def _number(value: float) -> str:
    text = number(value)
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if math.copysign(1.0, value) < 0 else text


def _column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(label: Any) -> str:
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int | float):
        return repr(label)
    if "\0" in str(label):
        raise InputError(
            f"the model has the text {label!r}, but SQL text cannot contain a null character; "
            "replace it in the data, or export to another language."
        )
    return "'" + str(label).replace("'", "''") + "'"
