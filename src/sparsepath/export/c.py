"""Models as one C99 file: constant arrays, no allocation, nothing but ``math.h``."""

import json
from typing import Any

import numpy as np

from sparsepath.export.subject import Subject, Term, number, one_line
from sparsepath.running import Gaussian, Tanh


def c(subject: Subject) -> str:
    """C99: a struct of the inputs, ``sparsepath_scores``, and ``_predict`` or ``_label``."""
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
    return "\n".join(
        [
            f"/* {one_line(subject.about)}.",
            *([f"   {one_line(subject.units_said)}."] if subject.units else []),
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
            *_answer(subject),
            "",
        ]
    )


def _fields(subject: Subject) -> tuple[list[str], list[str]]:
    """The fields of a row, and the inputs of the formula in terms of them."""
    if subject.terms is None:
        made = [f"x_{name}" for name in subject.identifiers()]  # no keyword of C begins so
        fields = [
            f"    double {field}; /* {one_line(name)} */"
            for field, name in zip(made, subject.inputs, strict=True)
        ]
        return fields, [f"row->{field}" for field in made]
    wanted: dict[str, tuple[str, str]] = {}  # by name: the type, and what is said of it
    for term in subject.terms:
        texts = any(t.kind in ("equals", "place") for t in subject.terms if t.name == term.name)
        name = f"{term.name} {term.value}" if term.kind == "part" else term.name
        if term.kind == "missing" and not texts:
            name = next((n for n in wanted if n == name or n.startswith(f"{name} ")), name)
        said = "NULL if missing" if texts else "NAN if missing"
        wanted[name] = ("const char *" if texts else "double ", said)
    called = {n: f"x_{i}" for n, i in zip(wanted, subject.identifiers([*wanted]), strict=True)}
    fields = [
        f"    {kind}{called[name]}; /* {one_line(name)}; {said} */"
        for name, (kind, said) in wanted.items()
    ]
    return fields, [_term(term, called, wanted) for term in subject.terms]


def _term(term: Term, called: dict[str, str], wanted: dict[str, tuple[str, str]]) -> str:
    """A column of numbers; NAN if a value is missing and must not be."""
    name = f"{term.name} {term.value}" if term.kind == "part" else term.name
    name = next((n for n in (name, term.name) if n in called), "") or next(
        n for n in called if n.startswith(f"{term.name} ")
    )
    here, is_text = f"row->{called[name]}", "char" in wanted[name][0]
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
    return f"{gone} ? {fill} : {here}"


def _answer(subject: Subject) -> list[str]:
    outputs = subject.formula.n_outputs
    if subject.classes is None:
        if outputs > 1:
            return ["/* sparsepath_scores gives the predictions, one per target. */"]
        return [
            "double sparsepath_predict(const struct sparsepath_row *row)",
            "{",
            "    double out[SPARSEPATH_OUTPUTS];",
            "    sparsepath_scores(row, out);",
            "    return out[0];",
            "}",
        ]
    labels = ", ".join(_text(str(label)) for label in subject.classes)
    find = (
        ["    best = out[0] > 0.0;"]
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
    """A string literal; what is not plain ASCII as bytes of UTF-8."""
    if text.isascii() and text.isprintable():
        return json.dumps(text)
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{"".join(plain)}"'
