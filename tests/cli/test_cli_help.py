"""Help, completion and suggestions: what a user meets before any data is read."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("typer")
from typer.main import get_command
from typer.testing import CliRunner

from kernline.cli.app import app

COMMANDS = sorted(name for name in get_command(app).commands if name != "datasets")


def run(*arguments, **environment):
    return CliRunner().invoke(app, list(arguments), env=environment, prog_name="kernline")


def completed(words, shell="bash"):
    """What a shell offers for the last of these words; "" is a new one."""
    given = {
        "_KERNLINE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": " ".join(words),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    code = "import sys; sys.argv = ['kernline']; from kernline.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **given}, capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    return ended.stdout.split("\n")[:-1]


class TestHelp:
    def test_alone_it_shows_four_things_to_do(self):
        result = run()
        assert result.exit_code == 0
        shown = re.findall(r"^  kernline (\w+) ", result.stdout, flags=re.MULTILINE)
        assert shown == ["train", "evaluate", "predict", "report"]
        assert max(map(len, result.stdout.splitlines())) <= 100

    def test_options_are_in_groups(self):
        shown = run("train", "--help").stdout
        headings = re.findall(r"^(\w[\w ]+):$", shown, flags=re.MULTILINE)
        assert headings == ["Arguments", "Common options", "Data", "Output", "Advanced"]
        parts = dict(zip(headings, re.split(r"^\w[\w ]+:$", shown, flags=re.MULTILINE)[1:], strict=True))
        for heading, option in {"Common options": "--kernel", "Data": "--delimiter", "Output": "--json"}.items():
            assert [name for name, part in parts.items() if f" {option}" in part] == [heading]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_values_have_names_instead_of_types(self, command):
        """What users write, such as KERNEL or N, in every version of typer."""
        shown = run(command, "--help").stdout
        assert re.match(rf"Usage: kernline {command} \[OPTIONS\]( \[?[A-Z]+\]?)*\n", shown)
        values = re.findall(r"^  (?:-\w, )?--[\w-]+ ([^\s/]+)", shown, flags=re.MULTILINE)
        assert values
        assert [value for value in values if not re.fullmatch(r"[A-Z]+([=:][A-Z]+)?|0\|1", value)] == []

    @pytest.mark.parametrize("command", COMMANDS)
    def test_options_name_their_defaults(self, command):
        """An option that takes a value says what holds without it, unless it is a list or nothing then happens."""
        context = get_command(app).make_context("kernline", [], resilient_parsing=True)
        optional = {"target", "interactions", "columns", "folds", "param", "class_weight", "categorical", "to", "data"}
        for parameter in get_command(app).commands[command].get_params(context):
            if parameter.param_type_name == "option" and not parameter.is_flag and parameter.name not in optional:
                text = parameter.get_help_record(context)[1]
                assert "efault" in text, f"{command} --{parameter.name}: {text}"

    def test_lines_fit_the_terminal(self):
        shown = subprocess.check_output(
            [sys.executable, "-m", "kernline", "train", "--help"], env={**os.environ, "COLUMNS": "60"}, text=True
        )
        lines = [line for line in shown.splitlines() if not re.match("  (kernline|zcat) ", line)]
        assert 50 < max(map(len, lines)) <= 60

    @pytest.mark.parametrize("command", [[], ["--help"], ["train", "--help"]])
    def test_no_colours(self, command):
        assert "\x1b" not in run(*command, FORCE_COLOR="1", NO_COLOR="1").stdout


class TestCompletion:
    def test_commands_options_and_values(self):
        assert completed(["kernline", "tr"]) == ["train"]
        assert completed(["kernline", "train", "--kern"]) == ["--kernel"]
        assert completed(["kernline", "train", "--kernel", "chi"]) == ["chi2"]
        assert completed(["kernline", "cv", "--scale", "r"]) == ["rank"]

    def test_named_data_sets(self):
        assert "@digits" in completed(["kernline", "train", "@dig"])

    def test_files_are_left_to_the_shell(self):
        assert [line for line in completed(["kernline", "train", "ir"]) if line] == []
        assert completed(["kernline", "train", "ir"], "zsh") == ["_files"]

    def test_fish(self):
        assert [line.split("\t")[0] for line in completed(["kernline", "eva"], "fish")] == ["evaluate"]

    def test_bash_itself(self, tmp_path):
        """The script that --show-completion prints, in a real bash."""
        code = "import sys; sys.argv = ['kernline']; from kernline.cli import main; main()"
        (tmp_path / "kernline").write_text(f'#!/bin/sh\nexec \'{sys.executable}\' -c "{code}" "$@"\n')
        (tmp_path / "kernline").chmod(0o755)
        script = subprocess.check_output(
            [sys.executable, "-c", code],
            env={**os.environ, "_KERNLINE_COMPLETE": "source_bash"},
            text=True,
        )
        test = f"{script}\nCOMP_WORDS=(kernline train --estimator bud); COMP_CWORD=3\n"
        test += '_kernline_completion kernline\necho "${COMPREPLY[@]}"\n'
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        ended = subprocess.run(
            ["bash", "-c", test], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
        )
        assert ended.stdout.split() == ["budgeted"], ended.stderr


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["train", "iris.svm", "m.kern", "--kernal", "chi2"], "--kernel"),
        (["trian", "iris.svm"], "train"),
        (["train", "iris.svm", "m.kern", "--loss", "lgo"], "log"),
        (["train", "iris.svm", "m.kern", "-p", "approximation=hat"], "hats"),
        (["train", "iris.svm", "m.kern", "--task", "regresion"], "regression"),
        (["train", "iris.svm", "m.kern", "--estimator", "nystrm"], "nystrom"),
        (["train", "iris.svm", "m.kern", "--kernel", "ch2"], "chi2"),
        (["train", "iris.csv", "m.kern", "--target", "Specis"], "species"),
        (["train", "iris.csv", "m.kern", "--target", "species", "--columns", "a,A1"], "a"),
        (["train", "iris.svm", "m.kern", "-p", "max_itr=3"], "max_iter"),
        (["train", "iris.svm", "m.kern", "--format", "cvs"], "csv"),
        (["train", "@digts", "m.kern"], "digits"),
        (["train", "iris.csv", "m.kern", "--target", "species", "--interactions", "a:dd"], "d"),
    ],
)
def test_errors_suggest_the_nearest_name(folder, arguments, suggestion):
    result = run(*arguments)
    assert result.exit_code != 0
    assert re.search(rf"Did you mean '{suggestion}'", result.stderr), result.stderr
    assert not (folder / "m.kern").exists()
