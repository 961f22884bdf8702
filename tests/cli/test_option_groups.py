"""Dataclasses in the signature of a command, expanded into its options."""

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest

pytest.importorskip("typer")
import typer
from typer.testing import CliRunner

from kernline.cli.option_groups import Default, Fixed, expand_groups


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width", "-w", min=1)] = 3
    height: Annotated[int, typer.Option("--height")] = 4
    names: Annotated[list[str] | None, typer.Option("--name")] = None
    is_checked: bool = field(default=False, init=False)


@dataclass(frozen=True)
class Place:
    city: Annotated[str, typer.Option("--city")]


def run(command, *arguments):
    app = typer.Typer(rich_markup_mode=None)
    app.command()(expand_groups(command))
    return CliRunner().invoke(app, list(arguments))


def names(command):
    return list(inspect.signature(expand_groups(command)).parameters)


def test_options_replace_the_group():
    def command(file: str, *, size: Size, force: bool = False) -> None: ...

    assert names(command) == ["file", "width", "height", "names", "force"]


def test_the_command_gets_the_group():
    called = []

    def command(
        file: str, mode: str = "r", *, size: Size, force: Annotated[bool, typer.Option("--force")] = False
    ) -> None:
        """Do it."""
        called.append((file, mode, size, force))

    assert run(command, "x", "-w", "5", "--name", "a", "--name", "b", "--force").exit_code == 0
    assert run(command, "x").exit_code == 0
    assert called == [("x", "r", Size(5, 4, ["a", "b"]), True), ("x", "r", Size(), False)]
    assert run(command, "x", "-w", "0").exit_code == 2
    assert "Do it." in run(command, "--help").stdout


def test_fixed_fields_are_not_options():
    called = []

    def command(*, size: Annotated[Size, Fixed(height=7, names=None)]) -> None:
        called.append(size)

    assert names(command) == ["width"]
    assert run(command, "--width", "1").exit_code == 0
    assert called == [Size(1, 7)]
    assert run(command, "--height", "1").exit_code == 2


def test_defaults_may_differ():
    called = []
    short = Annotated[Size, Fixed(names=None)]

    def command(*, size: Annotated[short, Default(height=1)]) -> None:
        called.append(size)

    assert run(command).exit_code == 0
    assert run(command, "--height", "2").exit_code == 0
    assert called == [Size(3, 1), Size(3, 2)]


def test_a_field_without_default_is_required():
    called = []

    def command(*, size: Size, place: Place) -> None:
        called.append(place)

    assert run(command).exit_code == 2
    assert run(command, "--city", "Ulm").exit_code == 0
    assert called == [Place("Ulm")]


def test_two_options_of_one_name_are_an_error():
    def command(width: int, *, size: Size) -> None: ...

    with pytest.raises(ValueError, match="width"):
        expand_groups(command)
