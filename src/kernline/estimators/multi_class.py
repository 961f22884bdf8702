"""multi_class: how more than two classes are fitted, and what each way needs of the other parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from .joint_fit import is_none
from .labelled import AnyLabelled, Labelled
from .multilabel import MultiLabelled
from .training_data import AnyTrainingData

if TYPE_CHECKING:
    from .additive import AdditiveSVC


def has_several_classes(data: AnyTrainingData) -> TypeGuard[AnyLabelled]:
    """Whether a row has one of more than two classes."""
    return isinstance(data, Labelled) and not isinstance(data, MultiLabelled) and data.classes.size > 2


def check_multi_class(model: AdditiveSVC, data: AnyLabelled) -> None:
    """Refuse parameters that this way of fitting several classes does not have."""
    if model.multi_class == "crammer-singer":
        _check_crammer_singer(model, data)
    elif model.multi_class == "ovr" and has_several_classes(data) and not is_none(model._interactions()):
        raise ValueError(
            f"interactions={model._interactions()!r:.50} needs all classes to be fitted together; got "
            "multi_class='ovr'. Pass multi_class='auto', or interactions=0."
        )


def _check_crammer_singer(model: AdditiveSVC, data: AnyLabelled) -> None:
    """The parameters are checked whatever the number of classes."""
    if model.loss not in ("auto", "hinge"):
        raise ValueError(
            f"multi_class='crammer-singer' needs loss='hinge'; got loss={model.loss!r}. Change one of the two: "
            "multi_class='ovr' takes any loss."
        )
    if model.solver == "newton":
        raise ValueError(
            "multi_class='crammer-singer' is solved by coordinate descent; got solver='newton'. Pass solver='auto', "
            "or multi_class='ovr'."
        )
    if not is_none(model._interactions()):
        raise ValueError(
            f"multi_class='crammer-singer' has no interactions; got interactions={model._interactions()!r:.50}. Pass "
            "interactions=0, or multi_class='auto' with loss='log'."
        )
    if isinstance(data, MultiLabelled):
        raise ValueError(
            "multi_class='crammer-singer' is for classes that exclude one another; y is an indicator matrix, of labels "
            "that do not. Pass multi_class='auto'."
        )
