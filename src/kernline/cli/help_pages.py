"""Help in groups, the common options first, and what ``kernline`` alone shows.

typer itself shows groups only if rich formats the help, and importing rich would take longer than everything else.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

# Groups of options after the common ones, by the names of their parameters.
_GROUPS = {
    "Data": (
        "format",
        "columns",
        "categorical",
        "header",
        "delimiter",
        "decimal",
        "zero_based",
        "multilabel",
        "skip_bad",
        "out_of_core",
        "checkpoint",
    ),
    "Output": ("force", "keep", "quiet", "json"),
    "Advanced": (
        *("estimator", "gamma", "solver", "loss", "multi_class", "scale", "tol", "bias", "class_weight", "param"),
        *("seed", "threads", "scoring"),
    ),
}
_GROUP_OF = {name: heading for heading, names in _GROUPS.items() for name in names}
_ARGUMENTS, _COMMON = "Arguments", "Common options"

SHORT_HELP = """\
Kernel SVMs at the cost of linear ones.

  kernline train train.csv model.kern --target label   train a model
  kernline evaluate model.kern test.csv                measure how good it is
  kernline predict model.kern rows.csv -o labels.csv   use it
  kernline report model.kern test.csv                  look at it, in a browser

kernline --help lists all commands, kernline COMMAND --help the options of one, with examples.
"""


class GroupedCommand(TyperCommand):
    """A command whose options are listed by group."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """[OPTIONS] and the arguments, optional ones in brackets; versions of typer write these differently."""
        arguments: list[Any] = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return ["[OPTIONS]", *(one.metavar if one.required else f"[{one.metavar}]" for one in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options by group."""
        _write_options(self, ctx, formatter)


class GroupedCommands(TyperGroup):
    """An application whose commands are listed by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and the commands by group."""
        _write_options(self, ctx, formatter)
        groups: dict[str, list[tuple[str, str]]] = {}
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        for name in names:
            command: Any = self.get_command(ctx, name)
            heading = command.rich_help_panel if isinstance(command.rich_help_panel, str) else "Commands"
            groups.setdefault(heading, []).append((name.ljust(max(map(len, names))), command.get_short_help_str(limit)))
        _write(formatter, groups)


def options_by_group(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """What the help lists: for each group the options, with their explanation."""
    groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (_ARGUMENTS, _COMMON, *_GROUPS)}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            if parameter.param_type_name == "argument":
                groups[_ARGUMENTS].append((parameter.metavar, record[1]))
            elif parameter.name == "target":  # no table can do without it
                groups[_COMMON].insert(0, record)
            else:
                groups[_GROUP_OF.get(parameter.name, _COMMON)].append(record)
    found = {heading: records for heading, records in groups.items() if records}
    if set(found) <= {_ARGUMENTS, _COMMON}:
        return {"Options" if heading == _COMMON else heading: records for heading, records in found.items()}
    return found


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    _write(formatter, options_by_group(command, ctx))


def _write(formatter: Any, groups: dict[str, list[tuple[str, str]]]) -> None:
    for heading, records in groups.items():
        with formatter.section(heading):
            formatter.write_dl(records)
