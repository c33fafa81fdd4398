"""Converters for skl2onnx: selectors alone or as the last step of a pipeline."""

from typing import Any

from sparsepath.errors import InputError
from sparsepath.models.export.onnx import DOUBLE, FLOAT, OPSET, Graph
from sparsepath.models.export.subject import Subject


def register_skl2onnx(*selectors: type) -> None:
    """Let skl2onnx convert selectors, alone or as the last step of a pipeline.

    Parameters
    ----------
    *selectors : classes
        Selectors that predict, such as ``SparseRLSRegressor``.

    Notes
    -----
    A regressor has the output ``variable``, a classifier ``label`` and ``scores``, which are those
    of ``decision_function``. What is converted is the prediction: a selector that only transforms,
    in the middle of a pipeline, has no converter.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise InputError("this needs the skl2onnx package: pip install skl2onnx.") from error
    for selector in selectors:
        alias = f"Sparsepath{selector.__name__}"
        update_registered_converter(selector, alias, _no_shapes, _converted, parser=_parser(alias))


def _no_shapes(operator: Any) -> None:
    """Do nothing: the parser already determined types and shapes."""


def _parser(alias: str) -> Any:
    def parsed(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
        from skl2onnx.common.data_types import (
            DoubleTensorType,
            FloatTensorType,
            Int64TensorType,
            StringTensorType,
        )

        if len(inputs) != 1:
            raise InputError(f"{type(model).__name__} takes one input with all columns.")
        subject = _subject(model)
        is_double = isinstance(inputs[0].type, DoubleTensorType)
        kind = DoubleTensorType if is_double else FloatTensorType
        numbers = kind([None, subject.formula.n_outputs])
        operator = scope.declare_local_operator(alias, model)
        operator.inputs.append(inputs[0])
        if subject.classes is None:
            outputs = [("variable", numbers)]
        else:
            whole = all(isinstance(label, int) for label in subject.classes)
            labels = Int64TensorType([None]) if whole else StringTensorType([None])
            outputs = [("label", labels), ("scores", numbers)]
        for name, of in outputs:
            operator.outputs.append(scope.declare_local_variable(name, of))
        return operator.outputs

    return parsed


def _subject(model: Any) -> Subject:
    subject = Subject.of(model)
    if subject.terms is not None:
        raise InputError(
            f"{type(model).__name__} takes raw tables, but a pipeline passes numbers; "
            "use model.export('onnx')."
        )
    return subject


def _converted(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the graph with unique names."""
    from onnx import helper
    from skl2onnx.common.data_types import DoubleTensorType

    is_double = isinstance(operator.inputs[0].type, DoubleTensorType)
    graph = Graph(_subject(operator.raw_operator), single=not is_double)
    graph.build()
    given = operator.inputs[0].full_name
    names = {"X": scope.get_unique_variable_name("X")}
    container.add_node(
        "Cast",
        given,
        names["X"],
        op_version=OPSET,
        to=DOUBLE if is_double else FLOAT,
        name=_own(scope),
    )
    ends = ["variable"] if len(operator.outputs) == 1 else ["label", "scores"]
    for name, variable in zip(ends, operator.outputs, strict=True):
        names[name] = variable.full_name
    for constant in graph.constants:
        names[constant.name] = scope.get_unique_variable_name(constant.name)
        constant.name = names[constant.name]
        container.initializers.append(constant)
    for node in graph.nodes:
        [out] = node.output
        names.setdefault(out, scope.get_unique_variable_name(out))
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[out]],
            op_version=OPSET,
            name=_own(scope),
            **{a.name: helper.get_attribute_value(a) for a in node.attribute},
        )


def _own(scope: Any) -> str:
    return str(scope.get_unique_operator_name("sparsepath"))
