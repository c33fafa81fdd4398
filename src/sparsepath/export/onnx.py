"""Models as ONNX graphs, by onnx's own helpers.

The graph takes ``X`` with all the columns that the fit had, as scikit-learn's converters do, in
double or single precision: numbers only, so that of a table with text or dates it takes what
``prepare`` made of it. Outputs: ``variable``, samples x targets, of a regressor; ``label`` and
``scores`` of a classifier.
"""

from typing import Any

import numpy as np

from sparsepath.errors import InputError
from sparsepath.export.subject import Subject
from sparsepath.running import Tanh

OPSET = 17


def onnx(subject: Subject, dtype: str = "double") -> bytes:
    """The graph as the bytes of an .onnx file; ``dtype`` is double or float."""
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise InputError("export to ONNX needs the onnx package: pip install onnx.") from error
    if dtype not in ("double", "float"):
        raise InputError(f"dtype={dtype!r}; use double or float.")
    kind = TensorProto.DOUBLE if dtype == "double" else TensorProto.FLOAT
    graph = Graph(subject, np.float64 if dtype == "double" else np.float32)
    graph.build()
    outputs = []
    if subject.classes is None:
        outputs.append(
            helper.make_tensor_value_info("variable", kind, [None, subject.formula.n_outputs])
        )
    else:
        numeric = all(isinstance(label, int) for label in subject.classes)
        of_label = TensorProto.INT64 if numeric else TensorProto.STRING
        outputs.append(helper.make_tensor_value_info("label", of_label, [None]))
        outputs.append(
            helper.make_tensor_value_info("scores", kind, [None, subject.formula.n_outputs])
        )
    made = helper.make_graph(
        graph.nodes,
        "sparsepath",
        [helper.make_tensor_value_info("X", kind, [None, subject.n_columns])],
        outputs,
        graph.constants,
        doc_string=subject.about,
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="sparsepath"
    )
    model.ir_version = 8  # of the opset's time, so that older runtimes take it
    checker.check_model(model)
    return bytes(model.SerializeToString())


class Graph:
    """Nodes and constants of one formula."""

    def __init__(self, subject: Subject, dtype: Any) -> None:
        self.subject, self.dtype = subject, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: Any = None) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(values, dtype=self.dtype if dtype is None else dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        name = out or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def build(self) -> None:
        formula = self.subject.formula
        z = self.node("Gather", "X", self.constant(formula.columns, np.int64), axis=1)
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
        if self.subject.classes is None:
            self.node("Identity", out, out="variable")
            return
        self._label(out)
        self.node("Identity", out, out="scores")

    def _hidden(self, z: str) -> str:
        units = self.subject.formula.units
        if isinstance(units, Tanh):
            # 1 - 2 / (exp(2 v) + 1), because not every runtime has tanh in double precision.
            twice = self.node("MatMul", z, self.constant(2.0 * units.weights.T))
            twice = self.node("Add", twice, self.constant(2.0 * units.biases))
            top = 700.0 if self.dtype == np.float64 else 80.0
            grown = self.node("Exp", self.node("Min", twice, self.constant([top])))
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

    def _label(self, out: str) -> None:
        classes = self.subject.classes or []
        if self.subject.formula.n_outputs == 1:
            above = self.node("Greater", out, self.constant([0.0]))
            place = self.node("Cast", above, to=7)
            place = self.node("Squeeze", place, self.constant([1], np.int64))
        else:
            place = self.node("ArgMax", out, axis=1, keepdims=0)
        if all(isinstance(label, int) for label in classes):
            labels = self.constant(np.array(classes, dtype=np.int64), np.int64)
        else:
            texts = np.array([str(label) for label in classes], dtype=object)
            labels = self.constant(texts, object)
        self.node("Gather", labels, place, out="label", axis=0)
