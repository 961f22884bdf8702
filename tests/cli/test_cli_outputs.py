"""Outputs of the command line: open streams, protected files and full disks, checked before training."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
import kernline

from .test_cli import run

needs_fd = pytest.mark.skipif(not os.path.exists("/dev/fd/1"), reason="this system has no /dev/fd")
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


def shell(command, **options):
    """Run a shell command in which `kernline` is the one under test."""
    text = f'kernline() {{ "{sys.executable}" -m kernline "$@"; }}\n{command}'
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, **options)


@pytest.fixture
def folder(folder):
    assert run("train", "iris.svm", "m.kern").exit_code == 0
    return folder


@pytest.fixture
def untrained(monkeypatch):
    """Make reading fail: outputs must be checked before."""
    monkeypatch.setattr("kernline.cli.data.Reading.rows", None)


@needs_fd
class TestStreams:
    @pytest.mark.parametrize(
        ("command", "alike"),
        [
            ("predict m.kern iris.svm -o /dev/stdout -q >> log.txt", "predict m.kern iris.svm -q"),
            ("predict m.kern iris.svm -o /dev/stderr -q 2>> log.txt", "predict m.kern iris.svm -q"),
            ("predict m.kern iris.svm -o log.txt -q >> log.txt", "predict m.kern iris.svm -q"),
            ("convert iris.svm /dev/stdout >> log.txt", "convert iris.svm -"),
            ("convert iris.svm /dev/fd/3 3>> log.txt", "convert iris.svm -"),
        ],
    )
    def test_are_appended_to(self, folder, command, alike):
        (folder / "log.txt").write_text("before\n")
        result = shell(f"kernline {command}")
        assert result.returncode == 0, result.stderr
        assert (folder / "log.txt").read_text() == "before\n" + run(*alike.split()).stdout

    def test_contain_only_the_output(self, folder):
        assert shell("kernline export m.kern /dev/stdout --to json > curves.json").returncode == 0
        assert shell("kernline train iris.svm /dev/stdout > model.kern").returncode == 0
        assert json.loads((folder / "curves.json").read_text())["classes"] == [0, 1, 2]
        weights = [kernline.load(name).shapes_.weights for name in ("model.kern", "m.kern")]
        np.testing.assert_array_equal(*weights)

    def test_results_go_to_standard_error(self, folder):
        result = shell("kernline predict m.kern iris.svm -o /dev/stdout --json > out.txt")
        assert json.loads(result.stderr)["rows"] == 150
        assert (folder / "out.txt").read_text().count("\n") == 150


class TestProtectedFiles:
    def test_a_mode_is_kept(self, folder):
        (folder / "m.kern").chmod(0o600)
        assert run("train", "iris.svm", "m.kern", "-c", "2").exit_code == 0
        assert kernline.load("m.kern").C == 2.0
        assert stat.S_IMODE(os.stat("m.kern").st_mode) == 0o600

    @pytest.mark.parametrize("command", ["train", "cv"])
    def test_a_read_only_model_is_refused_before_training(self, folder, untrained, command):
        before = (folder / "m.kern").read_bytes()
        (folder / "m.kern").chmod(0o444)
        result = run(command, "iris.svm", "m.kern", "--force")
        assert result.exit_code == 1
        assert "m.kern exists and is read-only (mode 0444)" in result.stderr
        assert (folder / "m.kern").read_bytes() == before


class TestBeforeTraining:
    @pytest.mark.parametrize(
        "command", ["train iris.svm OUT", "cv iris.svm OUT", "predict m.kern iris.svm OUT", "export m.kern OUT --to c"]
    )
    def test_a_missing_folder_behind_a_link(self, folder, untrained, command):
        (folder / "OUT").symlink_to("none/m.kern")
        result = run(*command.split())
        assert result.exit_code == 1
        assert "none does not exist" in result.stderr

    def test_a_name_that_is_too_long(self, folder, untrained):
        result = run("train", "iris.svm", "m" * 256)
        assert result.exit_code == 1
        assert "File name too long" in result.stderr

    def test_a_deleted_folder(self, folder):
        data = folder / "iris.svm"
        result = shell(f"mkdir gone; cd gone; rmdir ../gone; kernline train {data} m.kern")
        assert result.returncode == 1
        assert result.stderr == "kernline: m.kern: the current folder has been deleted. Change to another one.\n"

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_without_permission(self, folder, untrained):
        (folder / "closed").mkdir(mode=0o555)
        result = run("train", "iris.svm", "closed/m.kern")
        assert result.exit_code == 1
        assert "no permission to write into" in result.stderr


class TestStandardStreams:
    def test_a_closed_input(self, folder):
        result = shell("kernline train - n.kern <&-")
        assert result.returncode == 1
        assert "standard input is closed" in result.stderr

    @needs_full
    @pytest.mark.parametrize("command", ["inspect m.kern", "predict m.kern iris.svm -q", "convert iris.svm -"])
    def test_a_full_disk_behind_the_output(self, folder, command):
        result = shell(f"kernline {command} > /dev/full")
        assert result.returncode == 1
        assert result.stderr == "kernline: standard output: No space left on device\n"

    @needs_full
    def test_a_full_disk_behind_a_file(self, folder):
        result = shell("kernline predict m.kern iris.svm -o /dev/full")
        assert result.returncode == 1
        assert "/dev/full: No space left on device" in result.stderr

    @pytest.mark.parametrize("name", ["out.csv", "out.svm.gz", "out.parquet", "out.arrow", "out.npz"])
    def test_a_size_limit_error_names_the_file(self, folder, name):
        if "svm" not in name and "npz" not in name:
            pytest.importorskip("pyarrow")
        code = (
            "import resource, signal, sys, kernline.cli\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
            f"sys.argv = ['kernline', 'convert', 'iris.svm', {name!r}]\n"
            "kernline.cli.main()\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert ended.returncode == 1, ended.stderr
        assert f"kernline: {name}: File too large\n" in ended.stderr
        assert {path.name for path in folder.iterdir()} == {"iris.svm", "iris.csv", "m.kern"}

    def test_a_name_that_the_output_cannot_print(self, folder):
        environment = os.environ | {"PYTHONIOENCODING": "ascii"}
        result = shell("kernline train iris.svm é.kern", env=environment)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith("\\xe9.kern: AdditiveSVC")
