"""Models as one function of a row in Python or JavaScript, which need nothing else.

Both are written the same way: the numbers of the formula as arrays, and below them a short function
that is the formula. A row is a mapping of column names (Python), or an object (JavaScript).
"""

import json
from typing import Any

from sparsepath.export.subject import Subject, number, one_line
from sparsepath.running import Gaussian, Tanh

_PYTHON = '''"""{about}.

``predict(row)`` takes a mapping of column names to numbers and gives {gives}.
"""

import math

{arrays}


def scores(row):
    """The output{s} of the formula."""
    x = [float(row[name]) for name in INPUTS]
    if not all(map(math.isfinite, x)):
        raise ValueError("a value is missing or not finite")
{scaling}    out = [b + sum(w * v for w, v in zip(line, x)) for b, line in zip(INTERCEPT, SLOPES)]
{units}{bounds}    return out


def predict(row):
    """{Gives}."""
    out = scores(row)
    {answer}
'''

_JAVASCRIPT = """// {about}.
// predict(row) takes an object of column names and numbers and gives {gives}.
const predict = (() => {{
{arrays}

  function scores(row) {{
    const x = INPUTS.map((name) => (typeof row[name] === "boolean" ? +row[name] : row[name]));
    x.forEach((v, i) => {{
      if (!Number.isFinite(v)) throw new TypeError(INPUTS[i] + " is not a finite number");
    }});
{scaling}    let out = INTERCEPT.map((b, t) => SLOPES[t].reduce((sum, w, i) => sum + w * x[i], b));
{units}{bounds}    return out;
  }}

  function predict(row) {{
    const out = scores(row);
    {answer}
  }}
  predict.scores = scores;
  predict.inputs = INPUTS;
  return predict;
}})();
if (typeof module !== "undefined") module.exports = predict;
"""

_PARTS: dict[str, dict[str, str]] = {
    "python": {
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
        "one": "return out[0]",
        "all": "return out",
        "two": "return CLASSES[1] if out[0] > 0 else CLASSES[0]",
        "more": "return CLASSES[out.index(max(out))]",
    },
    "javascript": {
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
        "one": "return out[0];",
        "all": "return out;",
        "two": "return CLASSES[out[0] > 0 ? 1 : 0];",
        "more": "return CLASSES[out.indexOf(Math.max(...out))];",
    },
}


def python(subject: Subject) -> str:
    """A Python module without imports but ``math``."""
    about = one_line(subject.about).replace("\\", "/").replace('"', "'")
    return _filled(_PYTHON, "python", subject, about, lambda name, text: f"{name} = {text}")


def javascript(subject: Subject) -> str:
    """One JavaScript function, for browsers and Node."""
    about = one_line(subject.about)
    return _filled(
        _JAVASCRIPT, "javascript", subject, about, lambda name, text: f"  const {name} = {text};"
    )


def _filled(template: str, language: str, subject: Subject, about: str, assigned: Any) -> str:
    formula, parts = subject.formula, _PARTS[language]
    arrays: dict[str, str] = {
        "INPUTS": json.dumps(subject.inputs),
        "SLOPES": _lines(formula.slopes.T),
        "INTERCEPT": _line(formula.intercept),
    }
    scaling = units = bounds = ""
    if subject.scaled:
        arrays |= {"CENTRE": _line(formula.centre), "SCALE": _line(formula.scale)}
        scaling = parts["scaling"]
    if formula.units is not None and formula.coef is not None:
        if isinstance(formula.units, Tanh):
            arrays |= {
                "WEIGHTS": _lines(formula.units.weights),
                "BIASES": _line(formula.units.biases),
            }
            units = parts["tanh"]
        elif isinstance(formula.units, Gaussian):
            arrays |= {
                "CENTRES": _lines(formula.units.centres),
                "SHARPNESS": _line(formula.units.sharpness),
            }
            units = parts["gaussian"]
        arrays["COEF"] = _lines(formula.coef.T)
        units += parts["units"]
    if formula.bounds is not None:
        arrays |= {"LOW": _line(formula.bounds[0]), "HIGH": _line(formula.bounds[1])}
        bounds = parts["bounds"]
    single = formula.n_outputs == 1
    if subject.classes is None:
        gives = "the prediction" if single else "the predictions, one per target"
        answer = parts["one" if single else "all"]
    else:
        arrays["CLASSES"] = _labels(subject.classes, language)
        gives, answer = "the label of the class", parts["two" if single else "more"]
    return template.format(
        about=about,
        arrays="\n".join(assigned(name, text) for name, text in arrays.items()),
        scaling=scaling,
        units=units,
        bounds=bounds,
        gives=gives,
        Gives=gives[0].upper() + gives[1:],
        answer=answer,
        s="" if single else "s",
    )


def _labels(classes: list[Any], language: str) -> str:
    if language == "javascript":
        return json.dumps(classes, default=str)
    return repr([c if isinstance(c, bool | int | float) else str(c) for c in classes])


def _line(values: Any) -> str:
    return "[" + ", ".join(number(value) for value in values) + "]"


def _lines(values: Any) -> str:
    return "[" + ", ".join(_line(line) for line in values) + "]"
