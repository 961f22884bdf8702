"""The printed verdicts of benchmarks. No time is asserted."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits

from benchmarks import command_line


@pytest.fixture
def digits_for_mnist(tmp_path, monkeypatch):
    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X[:300], y[:300], str(tmp_path / "train.svm"), zero_based=False)
    data = SimpleNamespace(X_test=X[300:400], y_test=y[300:400].astype(np.int64))
    monkeypatch.setattr(command_line.datasets, "load", lambda name: data)
    return tmp_path / "train.svm"


def test_without_liblinear_the_rest_is_measured(digits_for_mnist, monkeypatch, capsys):
    monkeypatch.setattr(command_line.importlib.util, "find_spec", lambda name: None)
    command_line.command_line(digits_for_mnist, 1, None)
    printed = capsys.readouterr().out
    assert "(target: 0.3 s met)" in printed or "(target: 0.3 s MISSED)" in printed
    assert "LIBLINEAR  not measured: its package is missing. Run pip install liblinear-official" in printed
    command_line.command_line(digits_for_mnist, 1, "no-such-program")
    assert "--liblinear no-such-program: program not found" in capsys.readouterr().out


def test_a_verdict_against_liblinear(digits_for_mnist, tmp_path, capsys):
    """A stand-in for its program writes a model of zeros."""
    program = tmp_path / "train"
    weights = "\n".join(["0 " * 9 + "0"] * 64)
    program.write_text(f"#!/bin/sh\ncat > \"$3\" <<'END'\nlabel 0 1 2 3 4 5 6 7 8 9\nw\n{weights}\nEND\n")
    program.chmod(0o755)
    command_line.command_line(digits_for_mnist, 1, str(program))
    assert "(target: 1× " in capsys.readouterr().out
