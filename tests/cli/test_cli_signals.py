"""Signals: Ctrl-C with --keep, ignored signals, and removal of temporary files."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("typer")
from sklearn.datasets import dump_svmlight_file

import kernline
from kernline.cli import _silence_interrupted_threads
from kernline.cli.output import Output
from kernline.cli.watch import Watch, _stopped_by_interrupt
from kernline.io import atomic

from .test_cli import TestProcesses as Processes
from .test_cli import run


class InterruptedWrite(io.RawIOBase):
    """A stream that is interrupted by Ctrl-C during the first write."""

    def __init__(self):
        self.text = b""

    def writable(self):
        return True

    def write(self, data):
        if not self.text:
            signal.raise_signal(signal.SIGINT)
        self.text += bytes(data)
        return len(data)


class TestKeep:
    def test_ctrl_c_during_a_message(self, monkeypatch):
        raw = InterruptedWrite()
        watch = Watch(Output(quiet=False, json=False))
        with monkeypatch.context() as patch, _stopped_by_interrupt(watch):
            patch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(raw), write_through=True))
            watch.out.note("1 of 3 problems fitted")
        assert watch.stopping
        assert raw.text == b"1 of 3 problems fitted\n"

    def test_the_second_ctrl_c_ends(self):
        watch = Watch(Output(quiet=True, json=False))
        with pytest.raises(KeyboardInterrupt), _stopped_by_interrupt(watch):  # noqa: PT012
            signal.raise_signal(signal.SIGINT)
            assert watch.stopping
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_ctrl_c_while_the_model_is_saved(self, folder, monkeypatch):
        save = kernline.save

        def interrupted(model, path):
            signal.raise_signal(signal.SIGINT)
            save(model, path)

        monkeypatch.setattr(kernline, "save", interrupted)
        result = run("train", "iris.svm", "m.kern", "--keep")
        assert result.exit_code == 130, result.stderr
        assert kernline.load("m.kern").n_features_in_ == 4

    def test_nothing_is_saved_without_it(self, folder, monkeypatch):
        def interrupted(*_):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(kernline, "save", interrupted)
        result = run("train", "iris.svm", "m.kern")
        assert result.exit_code == 130
        assert not (folder / "m.kern").exists()


class TestIgnored:
    """nohup ignores SIGHUP; background jobs of a shell ignore SIGINT."""

    @pytest.mark.parametrize("name", ["INT", "HUP"])
    def test_the_fit_continues(self, folder, name):
        rng = np.random.default_rng(0)
        dump_svmlight_file(rng.random((2000, 5)), rng.integers(2, size=2000), str(folder / "hard.svm"))
        ignoring = ["sh", "-c", f'trap "" {name}; exec "$@"', "sh", sys.executable, "-m", "kernline", "train"]
        process = subprocess.Popen([*ignoring, *Processes.ENDLESS, "--keep"], stderr=subprocess.PIPE)
        ended = threading.Timer(300, process.kill)
        ended.start()
        for _ in range(2):
            while b"problems fitted" not in (line := process.stderr.readline()):
                assert line, "the fit ended"
            process.send_signal(getattr(signal, f"SIG{name}"))
        while b"problems fitted" not in (line := process.stderr.readline()):
            assert line, "the fit ended"
            assert b"Stopping" not in line
        process.send_signal(signal.SIGTERM)
        process.communicate()
        ended.cancel()
        assert process.returncode == -signal.SIGTERM
        assert not (folder / "m.kern").exists()


class TestTemporaryFiles:
    def test_an_interrupted_removal_is_done_at_exit(self, tmp_path, monkeypatch):
        def interrupted(_):
            raise KeyboardInterrupt

        def fail(patch):
            with atomic.replacing(tmp_path / "x"):
                patch.setattr(os, "unlink", interrupted)
                raise ValueError("which starts the removal")

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            fail(patch)
        assert len(list(tmp_path.iterdir())) == 1
        atomic.discard_unfinished()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_a_forked_child_does_not_remove_those_of_its_parent(self, tmp_path):
        code = (
            "import os, runpy, sys\n"
            f"replacing = runpy.run_path({atomic.__file__!r})['replacing']\n"
            "with replacing('x') as file:\n"
            "    file.write(b'content')\n"
            "    child = os.fork()\n"
            "    if child == 0:\n"
            "        import atexit\n"
            "        atexit._run_exitfuncs()\n"
            "        os._exit(0)\n"
            "    os.waitpid(child, 0)\n"
        )
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
        assert (tmp_path / "x").read_bytes() == b"content"

    def test_two_signals_at_once(self, folder):
        """Such as SIGTERM and SIGHUP from a service manager."""
        code = (
            "import os, signal, sys, time, kernline.cli, kernline.cli.app\n"
            "import kernline.io as io\n"
            "def slow(stream, *_, **__):\n"
            "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP})\n"
            "    os.kill(os.getpid(), signal.SIGTERM)\n"
            "    os.kill(os.getpid(), signal.SIGHUP)\n"
            "    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})\n"
            "    time.sleep(100)\n"
            "io.write = slow\n"
            "sys.argv = ['kernline', 'convert', 'iris.svm', 'out.svm']\n"
            "kernline.cli.main()\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert -ended.returncode in (signal.SIGTERM, signal.SIGHUP)
        assert ended.stderr == b""
        assert {path.name for path in folder.iterdir()} == {"iris.svm", "iris.csv"}


class TestMessages:
    def test_ctrl_c_after_the_file_is_complete(self, folder, monkeypatch):
        save = kernline.save

        def interrupted(model, path):
            save(model, path)
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(atomic, "_replaced", deque())  # without those of other tests
        monkeypatch.setattr(kernline, "save", interrupted)
        result = run("train", "iris.svm", "m.kern")
        assert result.exit_code == 130
        assert result.stderr.splitlines()[-1] == "kernline: interrupted; m.kern had been written"
        assert kernline.load("m.kern").n_features_in_ == 4

    def test_ctrl_c_during_an_import_on_first_use(self, folder):
        """CPython drops exceptions of a module that is loaded on first use, and then cannot import from it."""
        code = (
            "import signal, sys\n"
            "from kernline.cli import main\n"
            "class Interrupt:\n"
            "    def find_spec(self, name, *_):\n"
            "        if name == 'scipy.stats._stats_py':\n"
            "            sys.meta_path.remove(self)\n"
            "            signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupt())\n"
            "main()\n"
        )
        command = [sys.executable, "-c", code, "cv", "iris.csv", "--target", "species", "-v", "3", "-c", "1", "-q"]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (130, "kernline: interrupted; nothing was written\n")

    def test_ctrl_c_while_the_interpreter_exits(self, folder):
        code = (
            "import atexit, signal\n"
            "from kernline.cli import main\n"
            "atexit.register(signal.raise_signal, signal.SIGINT)\n"
            "main()\n"
        )
        command = [sys.executable, "-c", code, "inspect", "iris.svm", "-q"]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")

    def test_ctrl_c_while_a_thread_starts(self, monkeypatch):
        """CPython then may release the lock of the new thread. Other errors that cannot be raised are printed."""
        printed = []
        monkeypatch.setattr(sys, "unraisablehook", printed.append)
        _silence_interrupted_threads()
        other = SimpleNamespace(exc_value=ZeroDivisionError())
        for unraisable in (SimpleNamespace(exc_value=RuntimeError("release unlocked lock")), other):
            sys.unraisablehook(unraisable)
        assert printed == [other]
