"""Groups of options: a parameter whose type is a dataclass stands for one option per field.

``def train(data: DataFile, *, reading: ReadingOptions)`` becomes a command with the options --format, --target and so
on, and is called with a ReadingOptions. Options that several commands share are thus listed once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Annotated, get_args, get_origin, get_type_hints


class _FieldValues:
    def __init__(self, **values: object) -> None:
        self.values = values


class Fixed(_FieldValues):
    """In an annotation: fields of the group that are not options of this command, and their values."""


class Default(_FieldValues):
    """In an annotation: defaults of this command that differ from those of the group."""


class _Group:
    """The options that a dataclass stands for, given the `Fixed` and `Default` of its annotation."""

    def __init__(self, cls: type, changes: list[object]) -> None:
        self.cls = cls
        self.fixed = _merged(changes, Fixed)
        defaults = _merged(changes, Default)
        hints = _hints(cls)
        self.parameters = []
        for field in dataclasses.fields(cls):
            if field.init and field.name not in self.fixed:
                own = Parameter.empty if field.default is dataclasses.MISSING else field.default
                default = defaults.get(field.name, own)
                self.parameters.append(_parameter(field.name, default, hints[field.name]))

    def build(self, options: dict[str, object]) -> object:
        """The dataclass from its options, which are taken out of `options`."""
        given = {parameter.name: options.pop(parameter.name) for parameter in self.parameters}
        return self.cls(**self.fixed, **given)


@functools.cache  # most commands share most groups
def _hints(cls: type) -> dict[str, object]:
    return get_type_hints(cls, include_extras=True)


def _merged(changes: list[object], kind: type[_FieldValues]) -> dict[str, object]:
    return {name: value for change in changes if isinstance(change, kind) for name, value in change.values.items()}


def _parameter(name: str, default: object, annotation: object) -> Parameter:
    # By keyword only, so that a required one may follow one that has a default.
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer, with one parameter per option instead of the groups."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, _Group] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        cls, *changes = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if isinstance(cls, type) and dataclasses.is_dataclass(cls):
            groups[name] = _Group(cls, changes)
            parameters += groups[name].parameters
        else:
            parameters.append(_parameter(name, parameter.default, hints[name]))

    @functools.wraps(command)
    def run(**options: object) -> None:
        built = {name: group.build(options) for name, group in groups.items()}
        command(**options, **built)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
