"""Export models as one C99 file: constant arrays, no allocation, only ``math.h``."""

import re
from typing import Any

import numpy as np

from sparsepath.errors import InputError
from sparsepath.models.export.subject import Subject, Term, number, one_line
from sparsepath.models.predictors import Gaussian, Tanh
from sparsepath.tables.features import part_and_value

_LINKED = """/* sparsepath_scores gives the {link}; this gives the prediction. */
static double inverse_link(double f)
{{
    return {back};
}}"""
INVERSE = {
    "identity": "",
    "log": _LINKED.format(link="logarithm of the prediction", back="exp(f)"),
    "log1p": _LINKED.format(link="logarithm of 1 + the prediction", back="expm1(f)"),
    "sqrt": _LINKED.format(link="square root of the prediction", back="f > 0.0 ? f * f : 0.0"),
}


def c(subject: Subject) -> str:
    """Return C99 code: a struct of inputs, ``sparsepath_scores``, ``_predict`` or ``_label``."""
    formula = subject.formula
    d, outputs = len(subject.inputs), formula.n_outputs
    fields, values = _fields(subject)
    struct = "\n".join(fields) or "    double unused; /* the model uses no feature */"
    arrays, body = [_array("INTERCEPT", formula.intercept)], []
    if d:
        body.append(f"    double x[{d}];")
        body += [f"    x[{i}] = {value};" for i, value in enumerate(values)]
    else:
        body.append("    (void)row;")
    if subject.scaled:
        arrays += [_array("CENTRE", formula.centre), _array("SCALE", formula.scale)]
        body.append(_loop("i", d, "x[i] = (x[i] - CENTRE[i]) / SCALE[i];"))
    body.append(_loop("t", outputs, "out[t] = INTERCEPT[t];"))
    if d and formula.slopes.any():
        arrays.append(_array("SLOPES", formula.slopes.T))
        inner = f"for (int i = 0; i < {d}; i++) out[t] += SLOPES[t][i] * x[i];"
        body.append(_loop("t", outputs, inner))
    if formula.units is not None and formula.coef is not None:
        arrays += [_array(name.upper(), of) for name, of in vars(formula.units).items()]
        arrays.append(_array("COEF", formula.coef))
        body.append(_units(formula.units, d, len(formula.coef), outputs))
    if formula.bounds is not None:
        arrays += [_array("LOW", formula.bounds[0]), _array("HIGH", formula.bounds[1])]
        body.append(
            _loop(
                "t",
                outputs,
                "out[t] = out[t] < LOW[t] ? LOW[t] : (out[t] > HIGH[t] ? HIGH[t] : out[t]);",
            )
        )
    inverse = INVERSE[formula.link]
    return "\n".join(
        [
            f"/* {_comment(subject.about)}.",
            *([f"   {_comment(subject.units_said)}."] if subject.units else []),
            "   C99; compile with -lm. Nothing is allocated, nothing is kept between calls. */",
            "#include <math.h>",
            *(["#include <string.h>"] if any("strcmp" in value for value in values) else []),
            "",
            f"#define SPARSEPATH_OUTPUTS {outputs}",
            "",
            "struct sparsepath_row {",
            struct,
            "};",
            "",
            *arrays,
            "",
            "void sparsepath_scores(const struct sparsepath_row *row, "
            "double out[SPARSEPATH_OUTPUTS])",
            "{",
            *body,
            "}",
            "",
            *([inverse, ""] if inverse else []),
            *_answer(subject),
            "",
        ]
    )


def _fields(subject: Subject) -> tuple[list[str], list[str]]:
    """Return the fields of a row, and the inputs of the formula as expressions of these fields."""
    if subject.terms is None:
        made = [f"x_{name}" for name in subject.identifiers()]  # no keyword of C begins so
        fields = [
            f"    double {field}; /* {_comment(name)} */"
            for field, name in zip(made, subject.inputs, strict=True)
        ]
        return fields, [f"row->{field}" for field in made]
    wanted: dict[tuple[str, str], str] = {}  # by column and part: the type
    for term in subject.terms:
        texts = any(t.kind in ("equals", "place") for t in subject.terms if t.name == term.name)
        wanted[_place(term, subject.terms)] = "const char *" if texts else "double "
    told = [" ".join(filter(None, place)) for place in wanted]
    called = {place: f"x_{i}" for place, i in zip(wanted, subject.identifiers(told), strict=True)}
    fields = [
        f"    {kind}{called[place]}; /* {_comment(name)}; "
        f"{'NULL' if 'char' in kind else 'NAN'} if missing */"
        for (place, kind), name in zip(wanted.items(), told, strict=True)
    ]
    values = []
    for term in subject.terms:
        place = _place(term, subject.terms)
        values.append(_term(term, f"row->{called[place]}", is_text="char" in wanted[place]))
    return fields, values


def _place(term: Term, terms: list[Term]) -> tuple[str, str]:
    """Return the field that a term is computed from: a column or a part of a date."""
    if term.kind == "missing":  # any part of a date tells that
        term = next((t for t in terms if t.kind == "part" and t.name == term.name), term)
    return term.name, part_and_value(term.value)[0] if term.kind == "part" else ""


def _term(term: Term, here: str, is_text: bool) -> str:
    """Return the expression of a numeric column; NAN for a missing value that is not imputed."""
    gone = f"{here} == NULL" if is_text else f"isnan({here})"
    if term.kind == "missing":
        return f"{gone} ? 1.0 : 0.0"
    fill = "NAN" if term.fill is None else term.fill
    if term.kind == "equals":
        instead = "NAN" if not term.may_lack else "1.0" if term.fill == term.value else "0.0"
        return f"{gone} ? {instead} : (strcmp({here}, {_text(term.value)}) == 0 ? 1.0 : 0.0)"
    fill = fill if isinstance(fill, str) else number(fill)
    if term.kind == "place":
        places = "".join(
            f"strcmp({here}, {_text(value)}) == 0 ? {number(i)} : "
            for i, value in enumerate(term.values)
        )
        return f"{gone} ? {fill} : {places}NAN"
    if term.kind == "part" and (value := part_and_value(term.value)[1]) is not None:
        return f"{gone} ? {fill} : ({here} == {number(value)} ? 1.0 : 0.0)"
    return f"{gone} ? {fill} : {here}"


def _answer(subject: Subject) -> list[str]:
    outputs = subject.formula.n_outputs
    if subject.classes is None:
        given = "inverse_link(out[0])" if INVERSE[subject.formula.link] else "out[0]"
        if outputs > 1 and INVERSE[subject.formula.link]:
            return [
                "void sparsepath_predict_all(const struct sparsepath_row *row, "
                "double out[SPARSEPATH_OUTPUTS])",
                "{",
                "    sparsepath_scores(row, out);",
                _loop("t", outputs, "out[t] = inverse_link(out[t]);"),
                "}",
            ]
        if outputs > 1:
            return ["/* sparsepath_scores gives the predictions, one per target. */"]
        return [
            "double sparsepath_predict(const struct sparsepath_row *row)",
            "{",
            "    double out[SPARSEPATH_OUTPUTS];",
            "    sparsepath_scores(row, out);",
            f"    return {given};",
            "}",
        ]
    labels = ", ".join(_text(str(label)) for label in subject.classes)
    find = (
        [f"    best = out[0] > {number(subject.threshold)};"]
        if outputs == 1
        else [_loop("t", outputs, "if (out[t] > out[best]) best = t;")]
    )
    return [
        f"static const char *const LABELS[{len(subject.classes)}] = {{{labels}}};",
        "",
        "/* The class, as a place among the labels. */",
        "int sparsepath_class(const struct sparsepath_row *row)",
        "{",
        "    double out[SPARSEPATH_OUTPUTS];",
        "    int best = 0;",
        "    sparsepath_scores(row, out);",
        *find,
        "    return best;",
        "}",
        "",
        "const char *sparsepath_label(const struct sparsepath_row *row)",
        "{",
        "    return LABELS[sparsepath_class(row)];",
        "}",
        "",
        "/* Probabilities of the classes, in the order of the labels. */",
        "void sparsepath_probabilities(const struct sparsepath_row *row, "
        f"double p[{len(subject.classes)}])",
        "{",
        "    double out[SPARSEPATH_OUTPUTS];",
        "    sparsepath_scores(row, out);",
        *_probabilities(outputs, number(subject.slope)),
        "}",
    ]


def _probabilities(outputs: int, slope: str) -> list[str]:
    if outputs == 1:
        return [
            f"    p[1] = 1.0 / (1.0 + exp(-{slope} * out[0]));",
            f"    p[0] = 1.0 / (1.0 + exp({slope} * out[0]));",
        ]
    return [
        "    double top = out[0], sum = 0.0;",
        _loop("t", outputs, "if (out[t] > top) top = out[t];"),
        _loop("t", outputs, f"sum += p[t] = exp({slope} * (out[t] - top));"),
        _loop("t", outputs, "p[t] /= sum;"),
    ]


def _units(units: Tanh | Gaussian, d: int, n: int, outputs: int) -> str:
    if isinstance(units, Tanh):
        start, each, end = "BIASES[u]", "h += WEIGHTS[u][i] * x[i];", "h = tanh(h);"
    else:
        start = "0.0"
        each = "h += (x[i] - CENTRES[u][i]) * (x[i] - CENTRES[u][i]);"
        end = "h = exp(-SHARPNESS[u] * h);"
    return "\n".join(
        [
            f"    for (int u = 0; u < {n}; u++) {{",
            f"        double h = {start};",
            f"        for (int i = 0; i < {d}; i++) {each}",
            f"        {end}",
            f"        for (int t = 0; t < {outputs}; t++) out[t] += COEF[u][t] * h;",
            "    }",
        ]
    )


def _loop(letter: str, n: int, inner: str) -> str:
    return f"    for (int {letter} = 0; {letter} < {n}; {letter}++) {inner}"


def _array(name: str, values: Any) -> str:
    values = np.asarray(values)
    size = "".join(f"[{n}]" for n in values.shape)
    return f"static const double {name}{size} = {_braced(values)};"


def _braced(values: Any) -> str:
    if values.ndim == 1:
        return "{" + ", ".join(number(value) for value in values) + "}"
    return "{" + ",\n    ".join(_braced(line) for line in values) + "}"


def _text(text: str) -> str:
    """Return a string literal in UTF-8 with all special characters escaped.

    Question marks are escaped too: two of them begin a trigraph, which C99 replaces in literals.
    """
    if "\0" in text:
        raise InputError(
            f"the model has the text {text!r}, but C text cannot contain a null "
            "character; replace it in the data, or export to another language."
        )
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{"".join(plain)}"'


def _comment(text: str) -> str:
    """Return text for a comment, without trigraphs."""
    return re.sub(r"\?(?=\?)", "? ", one_line(text))
