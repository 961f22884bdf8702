"""Build an estimator from options, including those of LIBSVM and LIBLINEAR."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ..suggestions import did_you_mean
from .errors import UsageError
from .model_options import ModelOptions

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..array_types import Labels
    from ..estimators.additive import AdditiveSVC
    from ..estimators.additive_svr import AdditiveSVR
    from ..estimators.budgeted import BudgetedSVC
    from ..estimators.nystrom import NystromSVC

    SVM: TypeAlias = AdditiveSVC | AdditiveSVR | NystromSVC | BudgetedSVC

_Estimator = TypeVar("_Estimator", bound="BaseEstimator")

ESTIMATORS = ("additive", "nystrom", "budgeted")

TASKS = ("classification", "regression")
# LIBLINEAR's -s (loss and solver) and LIBSVM's -t (kernel).
_SOLVERS: dict[str, dict[str, str | None]] = {
    "0": {"loss": "log", "solver": "auto"},
    "1": {"loss": "squared_hinge", "solver": "dual-cd"},
    "2": {"loss": "squared_hinge", "solver": "newton"},
    "3": {"loss": "hinge", "solver": "dual-cd"},
    "4": {"loss": "hinge", "solver": "dual-cd", "multi_class": "crammer-singer"},
    "7": {"loss": "log", "solver": "dual-cd"},
    "11": {"loss": "squared_epsilon_insensitive", "solver": "newton"},
    "12": {"loss": "squared_epsilon_insensitive", "solver": "dual-cd"},
    "13": {"loss": "epsilon_insensitive", "solver": "dual-cd"},
}
# Those with an L1 penalty, and the nearest that there are.
_SPARSE_SOLVERS = {"5": "2 (squared hinge)", "6": "0 (logistic regression)"}
_REGRESSION_LOSSES = ("squared_error", "epsilon_insensitive", "squared_epsilon_insensitive")
_LARGEST_COST = 1024.0
_NAMES_LISTED = 20
_KERNELS = {"0": "linear", "1": "poly", "2": "rbf", "3": "sigmoid"}
_LANDMARK_KERNELS = ("rbf", "poly", "sigmoid", "laplacian", "exp-chi2")


def kernel_name(kernel: str | None) -> str | None:
    """The name of a kernel, given by name or by LIBSVM's number; None for auto, the default."""
    return _KERNELS.get(kernel, kernel) if kernel not in (None, "auto") else None


def task_of(options: ModelOptions) -> str:
    """The task: as given, or as the loss implies."""
    loss = loss_and_solver(options)["loss"]
    task = options.task
    if task not in (None, *TASKS):
        raise UsageError(f"--task must be {' or '.join(TASKS)}, not {task!r}. {did_you_mean(task, TASKS)}".rstrip())
    if loss in _REGRESSION_LOSSES:
        if task == "classification":
            raise UsageError(f"loss {loss} is for --task regression.")
        task = "regression"
    if task == "regression" and options.class_weight:
        raise UsageError("-w weighs classes, which a regression does not have.")
    if task == "regression" and options.probability:
        raise UsageError("-b 1 is for the probabilities of classes, which a regression does not have.")
    return task or "classification"


def estimator_class(name: str | None, kernel: str | None, task: str) -> type[SVM]:
    """The estimator of this name; without a name, the one that has the kernel."""
    import kernline

    if name is None:
        name = "additive" if kernel is None or kernel in kernline.kernels.BY_NAME else "nystrom"
        if name == "nystrom" and kernel not in _LANDMARK_KERNELS:
            additive = ", ".join(kernline.kernels.BY_NAME)
            raise UsageError(
                f"unknown kernel {kernel!r}. {did_you_mean(kernel, [*kernline.kernels.BY_NAME, *_LANDMARK_KERNELS])}"
                f"Additive kernels: {additive}; landmark kernels: "
                f"{', '.join(_LANDMARK_KERNELS)}. With --estimator nystrom, other kernels of scikit-learn work too."
            )
    if task == "regression":
        if name != "additive":
            raise UsageError(
                f"--task regression needs an additive model; {name if kernel is None else kernel} predicts labels "
                f"only. Additive kernels: {', '.join(kernline.kernels.BY_NAME)}."
            )
        return kernline.AdditiveSVR
    if name == "budgeted":
        if kernel not in (None, "rbf"):
            raise UsageError(f"--estimator budgeted supports only the rbf kernel, not {kernel!r}.")
        if not hasattr(kernline, "BudgetedSVC"):
            raise UsageError("--estimator budgeted is not available in this build.")
        return kernline.BudgetedSVC
    if name not in ESTIMATORS:
        near = did_you_mean(name, ESTIMATORS)
        raise UsageError(f"--estimator must be one of {', '.join(ESTIMATORS)}, not {name!r}. {near}".rstrip())
    return kernline.AdditiveSVC if name == "additive" else kernline.NystromSVC


def build(cls: type[_Estimator], given: Mapping[str, object], extra: list[str]) -> _Estimator:
    """An estimator with these parameters, which are checked before any data is read."""
    known = cls().get_params()
    parameters = {name: value for name, value in given.items() if value is not None}
    if cls.__name__ == "BudgetedSVC":
        parameters.pop("kernel", None)
    parameters |= dict(_parameter(text) for text in extra)
    for name in parameters:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(f"{cls.__name__} has no parameter {name!r}. {near}It has: {', '.join(sorted(known))}.")
    model = cls(**parameters)
    model._validate_params()
    return model


def parameters(options: ModelOptions, seed: int, threads: int) -> dict[str, object]:
    """The parameters of the estimator, except the kernel and C; None for options that were not given."""
    return {
        "gamma": gamma_value(options.gamma),
        **loss_and_solver(options),
        "scale": options.scale,
        "tol": options.tol,
        "n_jobs": threads,
        "random_state": seed,
        **intercept(options.bias),
    }


def loss_and_solver(options: ModelOptions) -> dict[str, str | None]:
    """Loss, solver and multi_class from --loss, --multi-class, -b and -s, which is a name or LIBLINEAR's number."""
    found: dict[str, str | None] = {"loss": options.loss, "solver": options.solver}
    if options.solver is not None and options.solver.isdigit():
        found = _numbered(options.solver)
    if options.probability:
        if found["loss"] not in (None, "auto", "log"):
            raise UsageError(
                f"-b 1 trains with --loss log, whose scores are probabilities; got the loss {found['loss']}."
            )
        found = found | {"loss": "log"}
    if options.multi_class is not None:
        if found.get("multi_class") not in (None, options.multi_class):
            raise UsageError(f"-s {options.solver} is --multi-class {found['multi_class']}. Pass one of them.")
        found = found | {"multi_class": options.multi_class}
    return found


def _numbered(number: str) -> dict[str, str | None]:
    """Loss, solver and multi_class by LIBLINEAR's number."""
    if number in _SPARSE_SOLVERS:
        raise UsageError(
            f"-s {number} is not supported: its L1 penalty makes weights of a linear model zero, and curves have an L2 "
            f"penalty. Use -s {_SPARSE_SOLVERS[number]}. On tables, --loss log gives each column a weight of its "
            "own, which is small for columns that do not help."
        )
    if number not in _SOLVERS:
        raise UsageError(
            f"-s {number} is not supported. Use auto, dual-cd or newton, or LIBLINEAR's numbers: 0 (logistic "
            "regression), 1 (squared hinge, dual), 2 (squared hinge, primal), 3 (hinge, dual), 4 (Crammer-Singer), 7 "
            "(logistic regression, dual); for regression, 11 (squared epsilon-insensitive, primal), 12 (the same, "
            "dual), 13 (epsilon-insensitive, dual). Without -s you get LIBSVM's C-SVC."
        )
    return _SOLVERS[number]


def interactions(text: str, names: Sequence[str] | None = None) -> str | int | list[tuple[int, int]]:
    """The value of --interactions: auto, a number of pairs, or pairs of columns such as age:hours,0:3.

    Columns are given by name, or by number from 0; without `names`, only the form of the text is checked.
    """
    if text == "auto":
        return text
    if text.isdigit():
        return int(text)
    pairs = [tuple(part.strip() for part in pair.split(":")) for pair in text.split(",")]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise UsageError(
            f"--interactions {text}: expected auto, a number of pairs, or pairs of columns, such as age:hours,0:3."
        )
    return [(_column(a, names), _column(b, names)) for a, b in pairs]


def _column(text: str, names: Sequence[str] | None) -> int:
    if names is not None and text in names:
        return list(names).index(text)
    if text.isdigit() or names is None:
        return int(text) if text.isdigit() else -1
    known = ", ".join(names[:_NAMES_LISTED]) + (", …" if len(names) > _NAMES_LISTED else "")
    raise UsageError(f"--interactions: there is no column {text!r}. {did_you_mean(text, names)}There are: {known}.")


def intercept(bias: float | None) -> dict[str, object]:
    """The parameters for -B: LIBLINEAR appends a feature of this value, which adds its square to the kernel.

    Zero or less means no intercept. AdditiveSVC and NystromSVC add the square times the mean of K(x, x), which is one
    with gamma="scale".
    """
    if bias is None:
        return {}
    if not math.isfinite(bias):
        raise UsageError(f"-B {bias:g}: expected a finite number.")
    return {"fit_intercept": True, "intercept_scaling": bias} if bias > 0.0 else {"fit_intercept": False}


def costs_from(cost: float | None) -> list[float] | None:
    """The values that -C tries: `cost`, doubled up to 1024 as in LIBLINEAR; None for the estimator's own grid."""
    if cost is None:
        return None
    if not 0.0 < cost < float("inf"):
        raise UsageError(f"-c {cost:g}: the first C that -C tries must be a positive number.")
    n_doublings = max(0, int(math.log2(_LARGEST_COST / cost)))
    return [cost * 2.0**k for k in range(n_doublings + 1)]


def gamma_value(gamma: str | None) -> float | str | None:
    """The value of --gamma: a number or "scale"."""
    if gamma is None or gamma == "scale":
        return gamma
    try:
        return float(gamma)
    except ValueError:
        raise UsageError(f"--gamma must be a number or 'scale', not {gamma!r}.") from None


def class_weights(given: list[str], y: Labels) -> dict[object, float] | str | None:
    """The class weights of -w, which is "balanced" or any number of LABEL:WEIGHT."""
    import numpy as np

    if not given or given == ["balanced"]:
        return given[0] if given else None
    classes = {str(label): label for label in np.unique(y).tolist()}
    weights = {}
    for text in given:
        label, _, weight = text.rpartition(":")
        if label not in classes:
            raise UsageError(f"-w {text}: expected LABEL:WEIGHT or 'balanced', with a label of {', '.join(classes)}.")
        weights[classes[label]] = _number(weight, f"-w {text}")
    return weights


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{where}: {text!r} is not a number.") from None


def _parameter(text: str) -> tuple[str, object]:
    """Name and value of -p. A number alone is LIBLINEAR's epsilon."""
    name, equals, value = text.partition("=")
    if not equals:
        try:
            return "epsilon", float(text)
        except ValueError:
            raise UsageError(f"-p {text}: expected NAME=VALUE, or a number, which is epsilon.") from None
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
