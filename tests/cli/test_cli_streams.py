"""Standard streams that are closed, or redirected to a full disk."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("typer")
import kernline

needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")

TRAIN = "train iris.svm m.kern"


def shell(arguments):
    """Run a command in a shell, which closes and redirects streams."""
    command = f'"{sys.executable}" -m kernline {arguments}'
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


class TestClosed:
    def test_standard_error(self, folder):
        ended = shell(f"{TRAIN} 2>&-")
        assert ended.returncode == 0
        assert "m.kern: AdditiveSVC, 3 classes" in ended.stdout
        assert kernline.load("m.kern").n_features_in_ == 4

    def test_standard_output(self, folder):
        ended = shell("inspect iris.svm >&-")
        assert ended.returncode == 1
        assert ended.stderr == "kernline: standard output is closed. Redirect it to a file, or to /dev/null.\n"

    def test_standard_input(self, folder):
        ended = shell("inspect iris.svm <&-")
        assert ended.returncode == 0, ended.stderr
        ended = shell("inspect - <&-")
        assert ended.returncode == 1
        assert "standard input is closed" in ended.stderr

    @pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
    def test_files_do_not_get_the_number_of_a_stream(self, folder, closed):
        """Bytes written to descriptors 0 to 2 do not end up in an open file."""
        code = (
            "import os, sys, kernline.cli, kernline.cli.app, kernline.io as io\n"
            "def read(*_, **__):\n"
            "    with open('precious', 'r+b'):\n"
            "        for number in (0, 1, 2):\n"
            "            try:\n"
            "                os.write(number, b'noise')\n"
            "            except OSError:\n"
            "                pass\n"
            "    os._exit(7)\n"
            "io.read = read\n"
            "sys.argv = ['kernline', 'inspect', 'iris.svm']\n"
            "kernline.cli.main()\n"
        )
        (folder / "precious").write_text("data")
        (folder / "program.py").write_text(code)
        ended = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" program.py {closed}'], capture_output=True, check=False
        )
        assert ended.returncode == (1 if ">&- " in f" {closed} ".replace("2>&-", "") else 7)
        assert (folder / "precious").read_text() == "data"


@needs_full
class TestFull:
    @pytest.mark.parametrize(
        "arguments",
        [
            *("--help", "--version", "train --help", "datasets list", "inspect iris.svm --json"),
        ],  # others: test_cli_outputs.py
    )
    def test_standard_output(self, folder, arguments):
        ended = shell(f"{arguments} >/dev/full")
        assert ended.returncode == 1
        lines = [line for line in ended.stderr.splitlines() if line.startswith("kernline: ")]
        assert lines == ["kernline: standard output: No space left on device"]
        assert "Traceback" not in ended.stderr
        assert "Exception" not in ended.stderr

    def test_standard_error_may_be_lost(self, folder):
        ended = shell(f"{TRAIN} 2>/dev/full")
        assert ended.returncode == 0
        assert kernline.load("m.kern").n_features_in_ == 4
