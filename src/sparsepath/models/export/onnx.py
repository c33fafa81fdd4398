"""Export models as ONNX graphs.

The input ``X`` has all columns of the fit, like scikit-learn's converters, in double or single
precision; the graph computes in double precision. The model of a table has one input per required
column, samples x 1: numbers (NaN if missing), text ("" if missing), dates as seconds since 1970
in double precision, because ONNX has no date type. A value that the model cannot handle gives
NaN. Outputs: ``variable``, samples x targets, for regression; ``label`` and ``scores`` for
classification; an underscore is appended if a column has the same name.
"""

import json
from typing import Any

import numpy as np

from sparsepath.errors import InputError
from sparsepath.models.export.subject import Subject, Term
from sparsepath.models.predictors import Tanh
from sparsepath.tables.features import part_and_value

OPSET = 17
FLOAT, DOUBLE, INT64, STRING = 1, 11, 7, 8  # as TensorProto counts them
DAY = 86400.0


def onnx(subject: Subject, dtype: str = "double") -> bytes:
    """Return the graph as the bytes of an .onnx file; ``dtype`` is "double" or "float"."""
    try:
        from onnx import checker, helper
    except ImportError as error:
        raise InputError("export to ONNX needs the onnx package: pip install onnx.") from error
    if dtype not in ("double", "float"):
        raise InputError(f"dtype={dtype!r}; use double or float.")
    kind = DOUBLE if dtype == "double" else FLOAT
    graph = Graph(subject, single=dtype == "float")
    graph.build()
    outputs, shape = [], [None, subject.formula.n_outputs]
    if subject.classes is None:
        outputs.append(helper.make_tensor_value_info(graph.name("variable"), kind, shape))
    else:
        of_label = INT64 if _are_numbers(subject.classes) else STRING
        outputs.append(helper.make_tensor_value_info(graph.name("label"), of_label, [None]))
        outputs.append(helper.make_tensor_value_info(graph.name("scores"), kind, shape))
        wide = [None, len(subject.classes)]
        outputs.append(helper.make_tensor_value_info(graph.name("probabilities"), kind, wide))
    made = helper.make_graph(
        graph.nodes,
        "sparsepath",
        [helper.make_tensor_value_info(name, *of) for name, of in graph.inputs.items()],
        outputs,
        graph.constants,
        doc_string=subject.about,
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 2)],
        producer_name="sparsepath",
    )
    if subject.units:
        helper.set_model_props(model, {"units": json.dumps(subject.units)})
    model.ir_version = 8  # of the opset's time, so that older runtimes take it
    checker.check_model(model)
    return bytes(model.SerializeToString())


class Graph:
    """Nodes and constants of one formula; ``inputs`` are their types and shapes by name."""

    def __init__(self, subject: Subject, single: bool) -> None:
        self.subject, self.single = subject, single
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: dict[str, tuple[int, list[int | None]]] = {}
        self.columns = set() if subject.terms is None else set(subject.columns)
        for name in self.columns:
            if not name or "\0" in name:
                raise InputError(
                    f"ONNX does not allow the input name {name!r}; rename the column and refit."
                )

    def name(self, wanted: str) -> str:
        """Return a name for an output that no column has."""
        while wanted in self.columns:
            wanted += "_"
        return wanted

    def constant(self, values: Any, dtype: Any = None) -> str:
        from onnx import numpy_helper

        name = self.name(f"c{len(self.constants)}")
        array = np.ascontiguousarray(values, dtype=np.float64 if dtype is None else dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        name = self.name(out or f"v{len(self.nodes)}")
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def build(self) -> None:
        formula = self.subject.formula
        if self.subject.terms is None:
            X = self.given("X", [None, self.subject.n_columns])
            z = self.node("Gather", X, self.constant(formula.columns, np.int64), axis=1)
        elif not self.subject.terms:
            raise InputError(
                "the model uses no column, so ONNX cannot know how many rows to "
                "predict for; export another size."
            )
        else:
            z = self.node("Concat", *map(self._term, self.subject.terms), axis=1)
        if self.subject.scaled:
            z = self.node("Sub", z, self.constant(formula.centre))
            z = self.node("Div", z, self.constant(formula.scale))
        out = self.node("MatMul", z, self.constant(formula.slopes))
        out = self.node("Add", out, self.constant(formula.intercept))
        if formula.units is not None and formula.coef is not None:
            hidden = self._hidden(z)
            out = self.node("Add", out, self.node("MatMul", hidden, self.constant(formula.coef)))
        if formula.bounds is not None:
            out = self.node("Max", out, self.constant(formula.bounds[:1]))
            out = self.node("Min", out, self.constant(formula.bounds[1:]))
        if formula.link != "identity":
            out = self._inverse_link(out)
        if self.subject.classes is None:
            self.node("Cast", out, out="variable", to=FLOAT if self.single else DOUBLE)
            return
        self._label(out)
        self._probabilities(out)
        self.node("Cast", out, out="scores", to=FLOAT if self.single else DOUBLE)

    # Columns of a table -------------------------------------------------------------------------

    def given(self, name: str, shape: list[int | None], kind: int | None = None) -> str:
        """Add an input; numbers are cast to double."""
        kind = kind or (FLOAT if self.single else DOUBLE)
        first = name not in self.inputs
        self.inputs[name] = kind, shape
        if kind != FLOAT:
            return name
        double = f"{name} in double"
        return self.node("Cast", name, out=double, to=DOUBLE) if first else self.name(double)

    def _term(self, term: Term) -> str:
        """Add a numeric column, samples x 1."""
        if self._is_text(term.name):
            return self._mapped(self.given(term.name, [None, 1], STRING), term)
        is_date = any(t.kind == "part" for t in self._of(term.name))
        x = self.given(term.name, [None, 1], DOUBLE if is_date else None)
        if term.kind == "missing":
            return self.node("Cast", self.node("IsNaN", x), to=DOUBLE)
        made = self._part_or_indicator(x, term.value) if term.kind == "part" else x
        if term.fill is None:
            return made
        return self.node("Where", self.node("IsNaN", x), self.constant([term.fill]), made)

    def _of(self, name: str) -> list[Term]:
        return [term for term in self.subject.terms or [] if term.name == name]

    def _is_text(self, name: str) -> bool:
        return any(term.kind in ("equals", "place") for term in self._of(name))

    def _mapped(self, text: str, term: Term) -> str:
        """Map text to numbers with a table; unknown text gives NaN or the value for other text."""
        nothing = np.nan
        if term.kind == "place":
            table = {value: float(place) for place, value in enumerate(term.values)}
            other = np.nan
        else:
            table, other = {term.value: 1.0} if term.kind == "equals" else {}, 0.0
        if term.kind == "missing":
            nothing = 1.0
        elif term.kind == "equals" and term.may_lack:
            nothing = float(term.fill == term.value)
        elif term.fill is not None:
            nothing = float(term.fill)
        found = self.node(
            "LabelEncoder", text, domain="ai.onnx.ml",
            keys_strings=[*table, ""], values_floats=[*table.values(), nothing],
            default_float=other,
        )  # fmt: skip
        return self.node("Cast", found, to=DOUBLE)

    def _part_or_indicator(self, seconds: str, part: str) -> str:
        """Add a part of a date, or 1 where it has a value; NaN stays."""
        name, value = part_and_value(part)
        made = self._part(seconds, name)
        if value is None:
            return made
        here = self.node("Cast", self.node("Equal", made, self.constant([value])), to=DOUBLE)
        return self.node("Where", self.node("IsNaN", made), made, here)

    def _part(self, seconds: str, part: str) -> str:
        """Add a part of a date.

        Years start in March, so that the leap day is the last day of a year. Then any 5 months
        from March or August have 153 days, 4 years 1461, 100 years 36524, and 400 years 146097.
        """
        days = self._floor(seconds, DAY)
        if part == "weekday":  # the first of January 1970 was the fourth day of its week
            return self._plus(self._rest(self._plus(days, 3.0), 7.0), 1.0)
        if part == "hour":
            return self._floor(self._rest(seconds, DAY), 3600.0)
        days = self._plus(days, 719468.0)  # from the first of March of the year 0
        of_era = self._rest(days, 146097.0)
        whole = [self._floor(of_era, length) for length in (1460.0, 36524.0, 146096.0)]
        plain = self.node(
            "Sub", self.node("Add", self.node("Sub", of_era, whole[0]), whole[1]), whole[2]
        )
        year = self._floor(plain, 365.0)
        before = self.node("Mul", year, self.constant([365.0]))
        before = self.node("Add", before, self._floor(year, 4.0))
        day = self.node("Sub", of_era, self.node("Sub", before, self._floor(year, 100.0)))
        month = self._floor(self._plus(self.node("Mul", day, self.constant([5.0])), 2.0), 153.0)
        if part == "day":
            gone = self._plus(self.node("Mul", month, self.constant([153.0])), 2.0)
            return self._plus(self.node("Sub", day, self._floor(gone, 5.0)), 1.0)
        if part == "month":
            return self._plus(self._rest(self._plus(month, 2.0), 12.0), 1.0)
        eras = self.node("Mul", self._floor(days, 146097.0), self.constant([400.0]))
        return self.node("Add", self.node("Add", year, eras), self._floor(month, 10.0))

    def _plus(self, x: str, value: float) -> str:
        return self.node("Add", x, self.constant([value]))

    def _floor(self, x: str, length: float) -> str:
        """Return the integer quotient of x and a length."""
        return self.node("Floor", self.node("Div", x, self.constant([length])))

    def _rest(self, x: str, length: float) -> str:
        """Return the remainder of x after division by a length."""
        whole = self.node("Mul", self._floor(x, length), self.constant([length]))
        return self.node("Sub", x, whole)

    # Units and labels ---------------------------------------------------------------------------

    def _hidden(self, z: str) -> str:
        units = self.subject.formula.units
        if isinstance(units, Tanh):
            # 1 - 2 / (exp(2 v) + 1), because not every runtime has tanh in double precision.
            twice = self.node("MatMul", z, self.constant(2.0 * units.weights.T))
            twice = self.node("Add", twice, self.constant(2.0 * units.biases))
            grown = self.node("Exp", self.node("Min", twice, self.constant([700.0])))
            below = self.node("Add", grown, self.constant([1.0]))
            return self.node(
                "Sub", self.constant([1.0]), self.node("Div", self.constant([2.0]), below)
            )
        assert units is not None
        # By the differences themselves, samples x units x inputs, so that no digits are lost.
        off = self.node("Unsqueeze", z, self.constant([1], np.int64))
        off = self.node("Sub", off, self.constant(units.centres[None]))
        square = self.node("Mul", off, off)
        total = self.node("ReduceSum", square, self.constant([2], np.int64), keepdims=0)
        return self.node("Exp", self.node("Mul", total, self.constant(-units.sharpness)))

    def _inverse_link(self, out: str) -> str:
        """Apply the inverse link (exponential or square) to the output."""
        link = self.subject.formula.link
        if link == "sqrt":
            root = self.node("Max", out, self.constant([0.0]))
            return self.node("Mul", root, root)
        grown = self.node("Exp", out)
        return grown if link == "log" else self.node("Sub", grown, self.constant([1.0]))

    def _probabilities(self, out: str) -> None:
        """Class probabilities, one column per class."""
        if self.subject.formula.n_outputs == 1:
            out = self.node("Concat", self.node("Sub", out, out), out, axis=1)
        grown = self.node("Mul", out, self.constant([self.subject.slope]))
        # Softmax by its parts, because not every runtime has it in double precision.
        top = self.node("ReduceMax", grown, axes=[1], keepdims=1)
        odds = self.node("Exp", self.node("Sub", grown, top))
        total = self.node("ReduceSum", odds, self.constant([1], np.int64), keepdims=1)
        shares = self.node("Div", odds, total)
        self.node("Cast", shares, out="probabilities", to=FLOAT if self.single else DOUBLE)

    def _label(self, out: str) -> None:
        classes = self.subject.classes or []
        if self.subject.formula.n_outputs == 1:
            above = self.node("Greater", out, self.constant([self.subject.threshold]))
            place = self.node("Cast", above, to=INT64)
            place = self.node("Squeeze", place, self.constant([1], np.int64))
        else:
            place = self.node("ArgMax", out, axis=1, keepdims=0)
        if _are_numbers(classes):
            labels = self.constant(np.array(classes, dtype=np.int64), np.int64)
        else:
            texts = np.array([str(label) for label in classes], dtype=object)
            labels = self.constant(texts, object)
        self.node("Gather", labels, place, out="label", axis=0)


def _are_numbers(labels: list[Any]) -> bool:
    """True if ONNX can represent the labels as integers."""
    return all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels)
