"""The nodes of an ONNX graph, and what all models end with: labels, scores and probabilities, or predictions."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..array_types import Indices, Labels, Numbers
from ..estimators.additive import AdditiveSVC
from ..estimators.additive_svr import AdditiveSVR
from ..estimators.budgeted import BudgetedSVC
from ..estimators.nystrom import NystromSVC
from .common import is_multilabel, probabilities_of

if TYPE_CHECKING:
    import onnx

    Classifier = AdditiveSVC | NystromSVC | BudgetedSVC
    Model = Classifier | AdditiveSVR

_OPSET, _IR = 17, 8


class Graph:
    """Nodes and constants. A call adds a node and returns the name of its result."""

    def __init__(self) -> None:
        try:
            self.onnx = importlib.import_module("onnx")
        except ImportError as error:
            raise ImportError("to_onnx needs the package onnx: pip install 'kernline[onnx]'.") from error
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.n_text = 0  # columns of the input "text"

    def __call__(self, operation: str, *inputs: str | ArrayLike, **attributes: int) -> str:
        """Add a node."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, names, [output], **attributes))
        return output

    def constant(self, value: ArrayLike) -> str:
        """Add a constant, and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def numbered(self, texts: str, keys: list[str], values: list[int]) -> str:
        """The number of each text; the largest plus one for others."""
        output = f"v{len(self.nodes)}"
        attributes = {"keys_strings": keys, "values_int64s": values, "default_int64": values[-1] + 1}
        node = self.onnx.helper.make_node("LabelEncoder", [texts], [output], domain="ai.onnx.ml", **attributes)
        self.nodes.append(node)
        return output

    def type_of(self, dtype: DTypeLike) -> int:
        """A type of NumPy, as ONNX numbers it."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def cast(self, value: str, dtype: DTypeLike) -> str:
        """Add a conversion."""
        return self("Cast", value, to=self.type_of(dtype))

    def output(self, name: str, value: str, element_type: int, *shape: int) -> onnx.ValueInfoProto:
        """Give a result a name: it has this shape for every row."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        return self.onnx.helper.make_tensor_value_info(name, element_type, ["n", *shape])

    def label(self, model: Classifier, scores: str) -> list[onnx.ValueInfoProto]:
        """The label of the highest score, the scores, and probabilities if the model has any."""
        if is_multilabel(model):
            return self._indicator(model, scores)
        classes, columns = _labels(model.classes_), scores
        if classes.size == 2:
            scores = self("Squeeze", scores, np.array([1]))
            best = self.cast(self("Greater", scores, np.float64(0.0)), np.int64)
        else:
            best = self("ArgMax", scores, axis=1, keepdims=0)
        label_type = self.onnx.TensorProto.STRING if classes.dtype == object else self.type_of(classes.dtype)
        n_scores = () if classes.size == 2 else (classes.size,)
        outputs = [
            self.output("label", self("Gather", self.constant(classes), best), label_type),
            self.output("scores", scores, self.type_of(np.float64), *n_scores),
        ]
        kind = probabilities_of(model)
        if kind is not None:
            value = self.probabilities(columns, kind)
            outputs.append(self.output("probabilities", value, self.type_of(np.float64), classes.size))
        return outputs

    def _indicator(self, model: Classifier, scores: str) -> list[onnx.ValueInfoProto]:
        """Ones for the labels of positive scores, the scores, and probabilities if the model has any."""
        n_labels, number = model.classes_.size, self.type_of(np.float64)
        labels = self.cast(self("Greater", scores, np.float64(0.0)), np.int64)
        outputs = [
            self.output("label", labels, self.type_of(np.int64), n_labels),
            self.output("scores", scores, number, n_labels),
        ]
        if probabilities_of(model) is not None:
            outputs.append(self.output("probabilities", self("Sigmoid", scores), number, n_labels))
        return outputs

    def probabilities(self, scores: str, kind: str) -> str:
        """One column per class, as `predict_proba`."""
        if kind == "two classes":
            return self("Softmax", self("Concat", self("Mul", scores, np.float64(0.0)), scores, axis=1), axis=1)
        if kind == "softmax":
            return self("Softmax", scores, axis=1)
        each = self("Sigmoid", scores)
        return self("Div", each, self("ReduceSum", each, np.array([1]), keepdims=1))

    def prediction(self, model: AdditiveSVR, values: str) -> list[onnx.ValueInfoProto]:
        """The numbers that a regression predicts."""
        n_outputs = model.shapes_.n_problems
        if n_outputs == 1:
            return [self.output("prediction", self("Squeeze", values, np.array([1])), self.type_of(np.float64))]
        return [self.output("prediction", values, self.type_of(np.float64), n_outputs)]

    def finish(self, model: Model, outputs: list[onnx.ValueInfoProto], input_dtype: DTypeLike) -> bytes:
        """The bytes of the model."""
        make = self.onnx.helper
        n_numbers = model.n_features_in_ - self.n_text
        inputs = [make.make_tensor_value_info("X", self.type_of(input_dtype), ["n", n_numbers])]
        if self.n_text:
            inputs.append(make.make_tensor_value_info("text", self.onnx.TensorProto.STRING, ["n", self.n_text]))
        graph = make.make_graph(
            self.nodes,
            type(model).__name__,
            inputs,
            outputs,
            self.constants,
        )
        opsets = [make.make_opsetid("", _OPSET)] + ([make.make_opsetid("ai.onnx.ml", 3)] if self.n_text else [])
        made = make.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="kernline")
        make.set_model_props(made, _metadata(model))
        self.onnx.checker.check_model(made)
        return bytes(made.SerializeToString())


def _metadata(model: Model) -> dict[str, str]:
    """The names of the columns of each input, as JSON, if they have names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return {}
    of_text = set(model.shapes_.encoder.columns.of_text) if hasattr(model, "shapes_") else set()
    parts = {"X": [str(name) for j, name in enumerate(names) if j not in of_text]}
    if of_text:
        parts["text"] = [str(names[j]) for j in sorted(of_text)]
    return {"columns": json.dumps(parts, ensure_ascii=False)}


def _labels(classes: Labels) -> Labels:
    """Classes in a type of ONNX: numbers, booleans, or text as objects."""
    if classes.dtype.kind in "biuf":
        return classes
    if not all(isinstance(label, str) for label in classes.tolist()):
        raise ValueError(f"to_onnx: labels must be numbers or text; got {classes.tolist()[0]!r:.50} among them.")
    return classes.astype(object)


def search(graph: Graph, value: str, sorted_flat: Numbers, n: int, base: Indices) -> str:
    """The largest k < n with sorted[k] <= value, or 0, by bisection; a column's n entries begin at its `base`."""
    at = graph("Mul", graph.cast(value, np.int64), np.int64(0))
    step = 1 << max(0, n - 1).bit_length()
    while (step := step // 2) > 0:
        next_at = graph("Min", graph("Add", at, np.int64(step)), np.int64(n - 1))
        entry = graph("Gather", sorted_flat, graph("Add", next_at, base))
        at = graph("Where", graph("LessOrEqual", entry, value), next_at, at)
    return at
