"""Export models as one function of a row in Python or JavaScript, without dependencies.

Both contain the numbers of the formula as arrays, followed by a short function that evaluates it. A
row is a mapping of column names (Python) or an object (JavaScript).
"""

import json
from typing import Any

from sparsepath.models.export.subject import Subject, number, one_line

_PYTHON = '''"""{about}.
{in_units}
``predict(row)`` takes a mapping of column names to values and gives {gives}.
"""

{imports}

{arrays}
{preparing}

def scores(row):
    """The output{s} of the formula."""
{taking}    if not all(map(math.isfinite, x)):
        raise ValueError("a value is missing or not finite")
{scaling}    out = [b + sum(w * v for w, v in zip(line, x)) for b, line in zip(INTERCEPT, SLOPES)]
{units}{bounds}    return out


def predict(row):
    """{Gives}."""
    out = scores(row)
{back}{answer}
{probabilities}'''

_JAVASCRIPT = """// {about}.
{in_units}// predict(row) takes an object of column names and values and gives {gives}.
const predict = (() => {{
{arrays}
{preparing}
  function scores(row) {{
{taking}    x.forEach((v, i) => {{
      if (!Number.isFinite(v)) throw new TypeError(INPUTS[i] + " is not a finite number");
    }});
{scaling}    let out = INTERCEPT.map((b, t) => SLOPES[t].reduce((sum, w, i) => sum + w * x[i], b));
{units}{bounds}    return out;
  }}

  function predict(row) {{
    let out = scores(row);
{back}{answer}
  }}
{probabilities}  predict.scores = scores;
  predict.inputs = INPUTS;
  predict.kinds = KINDS;
  return predict;
}})();
if (typeof module !== "undefined") module.exports = predict;
"""

_PREPARING_PYTHON = '''

def _made(row, of):
    """A column of numbers, made of one of the table."""
    kind, name = of["kind"], of["column"]
    value = row[name]
    gone = value is None or value != value or value == ""
    if kind == "missing":
        return float(gone)
    if gone and not of["may_lack"]:
        raise ValueError(f"{name} is missing")
    if kind == "equals":
        return float((of["fill"] if gone else _text(value)) == of["value"])
    if gone:
        return of["fill"]
    if kind == "place":
        return float(of["values"].index(str(value)))
    if kind != "part":
        return float(value)
    moment = value if hasattr(value, "year") else datetime.datetime.fromisoformat(str(value))
    part, _, wanted = of["value"].partition("=")
    found = moment.isoweekday() if part == "weekday" else getattr(moment, part, 0)
    return float(found == int(wanted) if wanted else found)


def _text(value):
    whole = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:.17g}" if whole else str(value)

'''

_PREPARING_JAVASCRIPT = """
  function made(row, of) {
    if (!Object.prototype.hasOwnProperty.call(row, of.column)) {
      throw new TypeError("there is no " + of.column);
    }
    const value = row[of.column];
    const gone = value === undefined || value === null || value === "" || Number.isNaN(value);
    if (of.kind === "missing") return gone ? 1 : 0;
    if (gone && !of.may_lack) throw new TypeError(of.column + " is missing");
    if (of.kind === "equals") return (gone ? of.fill : String(value)) === of.value ? 1 : 0;
    if (gone) return of.fill;
    if (of.kind === "place") {
      const place = of.values.indexOf(String(value));
      if (place < 0) throw new TypeError(of.column + " has an unknown value");
      return place;
    }
    if (of.kind !== "part") return Number(value);
    const [, year, month, day, hour] =
      /^(\\d+)-(\\d+)-(\\d+)(?:[T ](\\d+))?/.exec(value).map(Number);
    const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7 + 1;
    const [part, wanted] = of.value.split("=");
    const found = { year, month, day, weekday, hour: hour || 0 }[part];
    return wanted === undefined ? found : Number(found === Number(wanted));
  }
"""

_PROBABILITIES_PYTHON = '''

def probabilities(row):
    """Probabilities of the classes, ordered as CLASSES."""
    out = scores(row)
    out = [0.0, out[0]] if len(out) == 1 else out
    top = max(out)
    odds = [math.exp(SLOPE * (f - top)) for f in out]
    return [each / sum(odds) for each in odds]
'''

_PROBABILITIES_JAVASCRIPT = """  function probabilities(row) {
    const given = scores(row);
    const out = given.length === 1 ? [0, given[0]] : given;
    const top = Math.max(...out);
    const odds = out.map((f) => Math.exp(SLOPE * (f - top)));
    const sum = odds.reduce((a, b) => a + b, 0);
    return odds.map((each) => each / sum);
  }
  predict.probabilities = probabilities;
  predict.classes = CLASSES;
"""

_PARTS: dict[str, dict[str, str]] = {
    "python": {
        "taking": "    x = [float(row[name]) for name in INPUTS]\n",
        "making": "    x = [_made(row, of) for of in MADE_OF]\n",
        "preparing": _PREPARING_PYTHON,
        "scaling": "    x = [(v - c) / s for v, c, s in zip(x, CENTRE, SCALE)]\n",
        "tanh": (
            "    h = [math.tanh(b + sum(w * v for w, v in zip(line, x)))\n"
            "         for line, b in zip(WEIGHTS, BIASES)]\n"
        ),
        "gaussian": (
            "    h = [math.exp(-s * sum((v - c) ** 2 for c, v in zip(line, x)))\n"
            "         for line, s in zip(CENTRES, SHARPNESS)]\n"
        ),
        "units": (
            "    more = [sum(w * v for w, v in zip(line, h)) for line in COEF]\n"
            "    out = [o + m for o, m in zip(out, more)]\n"
        ),
        "bounds": "    out = [min(max(o, low), high) for o, low, high in zip(out, LOW, HIGH)]\n",
        "log": "    out = [math.exp(f) for f in out]\n    ",
        "log1p": "    out = [math.expm1(f) for f in out]\n    ",
        "sqrt": "    out = [max(f, 0.0) ** 2 for f in out]\n    ",
        "identity": "    ",
        "one": "return out[0]",
        "all": "return out",
        "two": "return CLASSES[1] if out[0] > THRESHOLD else CLASSES[0]",
        "probabilities": _PROBABILITIES_PYTHON,
        "more": "return CLASSES[out.index(max(out))]",
    },
    "javascript": {
        "taking": (
            "    const x = INPUTS.map((name) =>\n"
            '      (typeof row[name] === "boolean" ? +row[name] : row[name]));\n'
        ),
        "making": "    const x = MADE_OF.map((of) => made(row, of));\n",
        "preparing": _PREPARING_JAVASCRIPT,
        "scaling": "    x.forEach((v, i) => (x[i] = (v - CENTRE[i]) / SCALE[i]));\n",
        "tanh": (
            "    const h = WEIGHTS.map((line, u) =>\n"
            "      Math.tanh(line.reduce((sum, w, i) => sum + w * x[i], BIASES[u])));\n"
        ),
        "gaussian": (
            "    const h = CENTRES.map((c, u) =>\n"
            "      Math.exp(SHARPNESS[u] * c.reduce((sum, v, i) => sum - (x[i] - v) ** 2, 0)));\n"
        ),
        "units": (
            "    out = out.map((o, t) => COEF[t].reduce((sum, w, u) => sum + w * h[u], o));\n"
        ),
        "bounds": "    out = out.map((o, t) => Math.min(Math.max(o, LOW[t]), HIGH[t]));\n",
        "log": "    out = out.map(Math.exp);\n    ",
        "log1p": "    out = out.map(Math.expm1);\n    ",
        "sqrt": "    out = out.map((f) => Math.max(f, 0) ** 2);\n    ",
        "identity": "    ",
        "one": "return out[0];",
        "all": "return out;",
        "two": "return CLASSES[out[0] > THRESHOLD ? 1 : 0];",
        "probabilities": _PROBABILITIES_JAVASCRIPT,
        "more": "return CLASSES[out.indexOf(Math.max(...out))];",
    },
}


def python(subject: Subject) -> str:
    """Return a Python module that imports only ``math``."""
    about, said = (
        one_line(text).replace("\\", "/").replace('"', "'")
        for text in (subject.about, subject.units_said)
    )
    texts = {"about": about, "in_units": f"\n{said}.\n" if said else ""}
    return _filled(_PYTHON, "python", subject, texts, lambda name, text: f"{name} = {text}")


def javascript(subject: Subject) -> str:
    """Return one JavaScript function for browsers and Node."""
    said = one_line(subject.units_said)
    texts = {"about": one_line(subject.about), "in_units": f"// {said}.\n" if said else ""}
    return _filled(
        _JAVASCRIPT, "javascript", subject, texts, lambda name, text: f"  const {name} = {text};"
    )


def _filled(
    template: str, language: str, subject: Subject, texts: dict[str, str], assigned: Any
) -> str:
    formula, parts = subject.formula, _PARTS[language]
    arrays: dict[str, str] = {
        "INPUTS": repr(subject.columns) if language == "python" else json.dumps(subject.columns),
        "SLOPES": _lines(formula.slopes.T),
        "INTERCEPT": _line(formula.intercept),
    }
    if language == "javascript":
        arrays["KINDS"] = json.dumps(_kinds(subject))
    preparing, taking = "", parts["taking"]
    if subject.terms is not None:
        told = (term.to_dict() | {"fill": term.fill} for term in subject.terms)
        made = ", ".join(map(json.dumps if language == "javascript" else repr, told))
        arrays["MADE_OF"] = f"[{made}]"
        preparing, taking = parts["preparing"], parts["making"]
    scaling = units = bounds = ""
    if subject.scaled:
        arrays |= {"CENTRE": _line(formula.centre), "SCALE": _line(formula.scale)}
        scaling = parts["scaling"]
    if formula.units is not None and formula.coef is not None:
        for name, values in vars(formula.units).items():
            arrays[name.upper()] = _lines(values) if values.ndim > 1 else _line(values)
        arrays["COEF"] = _lines(formula.coef.T)
        units = parts[formula.units.kind] + parts["units"]
    if formula.bounds is not None:
        arrays |= {"LOW": _line(formula.bounds[0]), "HIGH": _line(formula.bounds[1])}
        bounds = parts["bounds"]
    single = formula.n_outputs == 1
    if subject.classes is None:
        gives = "the prediction" if single else "the predictions, one per target"
        answer = parts["one" if single else "all"]
    else:
        arrays["CLASSES"] = _labels(subject.classes, language)
        arrays["SLOPE"] = number(subject.slope)
        if single:
            arrays["THRESHOLD"] = number(subject.threshold)
        gives, answer = "the label of the class", parts["two" if single else "more"]
    return template.format(
        **texts,
        arrays="\n".join(assigned(name, text) for name, text in arrays.items()),
        imports="import math" if subject.terms is None else "import datetime\nimport math",
        preparing=preparing,
        taking=taking,
        scaling=scaling,
        units=units,
        bounds=bounds,
        gives=gives,
        Gives=gives[0].upper() + gives[1:],
        back=parts[formula.link],
        probabilities="" if subject.classes is None else parts["probabilities"],
        answer=answer,
        s="" if single else "s",
    )


def _kinds(subject: Subject) -> list[dict[str, Any]]:
    """Return the kind of value of each column, for an input form."""
    unit = {name: {"unit": unit} for name, unit in subject.units.items()}
    if subject.terms is None:
        return [{"kind": "number", **unit.get(name, {})} for name in subject.inputs]
    found = []
    for name in subject.columns:
        mine = [term for term in subject.terms if term.name == name]
        first = mine[0]
        kinds = {"equals": "choice", "place": "choice", "part": "date", "flag": "flag"}
        values = first.values or tuple(t.value for t in mine if t.kind == "equals")
        kind = kinds.get(first.kind, "number")
        found.append({"kind": kind, "values": list(values), **unit.get(name, {})})
    return found


def _labels(classes: list[Any], language: str) -> str:
    if language == "javascript":
        # A number of JavaScript is a double, which would make another label of a larger integer.
        large = [isinstance(label, int) and abs(label) >= 2**53 for label in classes]
        return json.dumps([str(c) for c in classes] if any(large) else classes, default=str)
    return repr([c if isinstance(c, bool | int | float) else str(c) for c in classes])


def _line(values: Any) -> str:
    return "[" + ", ".join(number(value) for value in values) + "]"


def _lines(values: Any) -> str:
    return "[" + ", ".join(_line(line) for line in values) + "]"
