"""Atomic writes: files are replaced in one step and keep their permissions; open files are written in place."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kernline.io import atomic
from kernline.io.atomic import _copy_permissions, check_writable, open_descriptor, replacing

# The file alone: with its package, each of the programs would import NumPy and scikit-learn.
HEADER = f"import os, runpy, sys\nreplacing = runpy.run_path({atomic.__file__!r})['replacing']\n"


def write(path, content):
    with replacing(path) as file:
        file.write(content)


def shell(command, code):
    """Run a shell command in which $RUN is replaced by Python code."""
    environment = os.environ | {"CODE": HEADER + code, "PYTHON": sys.executable}
    run = command.replace("$RUN", '"$PYTHON" -c "$CODE"')
    return subprocess.run(["sh", "-c", run], env=environment, capture_output=True, text=True, check=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.skipif(not os.path.exists("/dev/fd/1"), reason="this system has no /dev/fd")
class TestOpenFiles:
    @pytest.mark.parametrize(
        ("redirection", "path"),
        [
            (">>", "/dev/stdout"),
            (">>", "/dev/fd/1"),
            (">>", "/dev/../dev/stdout"),
            (">>", "link"),
            (">>", "fds/1"),
            (">>", "log.txt"),
            ("2>>", "/dev/stderr"),
            ("2>>", "log.txt"),
            ("3>>", "/dev/fd/3"),
        ],
    )
    def test_are_appended_to(self, folder, redirection, path):
        (folder / "log.txt").write_text("before\n")
        (folder / "link").symlink_to("/dev/stdout")
        (folder / "fds").symlink_to("/dev/fd")
        inode = os.stat("log.txt").st_ino
        code = f"with replacing({path!r}) as file:\n    file.write(b'content\\n')\n"
        shell(f"$RUN {redirection} log.txt", code)
        assert (folder / "log.txt").read_text() == "before\ncontent\n"
        assert os.stat("log.txt").st_ino == inode
        assert sorted(os.listdir()) == ["fds", "link", "log.txt"]

    def test_keep_the_order_of_what_was_printed(self, folder):
        code = "print('first')\nwith replacing('/dev/stdout') as file:\n    file.write(b'second\\n')\nprint('third')\n"
        shell("$RUN > log.txt", code)
        assert (folder / "log.txt").read_text() == "first\nsecond\nthird\n"

    def test_that_are_not_open_or_not_for_writing(self, folder):
        with pytest.raises(OSError, match="/dev/fd/999 is not open"):
            check_writable("/dev/fd/999")
        with open(os.devnull, "rb") as source, pytest.raises(OSError, match="open for reading only"):
            check_writable(f"/dev/fd/{source.fileno()}")

    def test_are_distinguished_from_others(self, folder):
        (folder / "1").write_text("")
        assert open_descriptor("1") is None
        assert open_descriptor("none/1") is None
        assert open_descriptor("/dev/stdout") == 1
        (folder / "loop").symlink_to("loop")
        assert open_descriptor("loop") is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
class TestPermissions:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
    def test_are_kept(self, folder, umask, mode):
        (folder / "m").write_bytes(b"old")
        (folder / "m").chmod(mode)
        umask(0o077)
        write("m", b"new")
        assert (folder / "m").read_bytes() == b"new"
        assert stat.S_IMODE(os.stat("m").st_mode) == mode

    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
    def test_of_a_new_file_are_those_of_the_umask(self, folder, umask, mask):
        umask(mask)
        write("m", b"new")
        assert stat.S_IMODE(os.stat("m").st_mode) == 0o666 & ~mask

    def test_are_as_narrow_while_the_file_is_written(self, folder):
        (folder / "m").write_bytes(b"old")
        (folder / "m").chmod(0o600)
        with replacing("m") as file:
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
    def test_the_owner_is_kept(self, folder):
        (folder / "m").write_bytes(b"old")
        os.chown("m", 12345, 54321)
        (folder / "m").chmod(0o640)
        write("m", b"new")
        found = os.stat("m")
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 54321, 0o640)

    def test_rights_of_a_group_that_cannot_be_kept_go_to_no_other(self, folder, monkeypatch):
        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr(os, "fchown", refuse)
        (folder / "m").write_bytes(b"")
        before = list(os.stat("m"))
        before[stat.ST_MODE], before[stat.ST_GID] = 0o100664, before[stat.ST_GID] + 1
        with (folder / "m").open("rb") as file:
            _copy_permissions(file.fileno(), os.stat_result(before))
        assert stat.S_IMODE(os.stat("m").st_mode) == 0o644

    def test_a_read_only_file_is_refused(self, folder):
        (folder / "m").write_bytes(b"old")
        (folder / "m").chmod(0o444)
        for attempt in (lambda: check_writable("m"), lambda: write("m", b"new")):
            with pytest.raises(PermissionError, match=r"m exists and is read-only \(mode 0444\)"):
                attempt()
        assert (folder / "m").read_bytes() == b"old"
        assert os.listdir() == ["m"]


class TestNames:
    @pytest.mark.parametrize("name", ["m" * 255, "m" * 243, "é" * 127])
    def test_as_long_as_allowed(self, folder, name):
        for content in (b"old", b"new"):
            check_writable(name)
            write(name, content)
            assert Path(name).read_bytes() == content
        assert os.listdir() == [name]

    def test_longer_ones_are_refused_beforehand(self, folder):
        with pytest.raises(OSError, match=r"File name too long: .*mmm"):
            check_writable("m" * 256)


class TestErrors:
    @pytest.mark.parametrize("name", ["m.kern", "/dev/full"])
    def test_a_full_disk_names_the_file(self, folder, name):
        if name == "/dev/full" and not os.path.exists(name):
            pytest.skip("this system has no /dev/full")
        (folder / "m.kern").write_bytes(b"old")
        code = (
            "import resource, signal\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
            "try:\n"
            f"    with replacing({name!r}) as file:\n        file.write(b'x' * 100)\n"
            "except OSError as error:\n    print(error.filename, error.errno, file=sys.stderr)\n"
        )
        result = shell("$RUN", code)
        number = errno.ENOSPC if name == "/dev/full" else errno.EFBIG
        assert result.stderr == f"{name} {number}\n"
        assert (folder / "m.kern").read_bytes() == b"old"
        assert os.listdir() == ["m.kern"]

    def test_no_error_names_the_temporary_file(self, folder):
        with pytest.raises(FileNotFoundError) as found:
            write("none/m", b"")
        assert found.value.filename == "none/m"

    def test_a_missing_folder_behind_a_link(self, folder):
        (folder / "link").symlink_to("none/m")
        with pytest.raises(FileNotFoundError, match=r"link: the folder .*none does not exist"):
            check_writable("link")

    def test_a_link_to_a_file_that_is_still_to_be_written(self, folder):
        (folder / "link").symlink_to("m")
        check_writable("link")
        assert os.listdir() == ["link"]

    def test_a_deleted_folder(self, folder):
        (folder / "gone").mkdir()
        os.chdir("gone")
        os.rmdir(folder / "gone")
        with pytest.raises(FileNotFoundError, match="m: the current folder has been deleted"):
            check_writable("m")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
class TestKilledWriters:
    BEGIN = "with replacing('m') as file:\n    file.write(b'partial')\n    file.flush()\n    print(flush=True)\n"

    @pytest.fixture
    def writer(self, folder):
        code = HEADER + self.BEGIN + "    sys.stdin.read()\n"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            yield process
            process.stdin.close()

    def test_leave_nothing_behind_after_the_next_write(self, folder, writer):
        writer.kill()
        writer.wait()
        assert len(list(folder.glob("m.*.tmp"))) == 1
        write("other", b"new")
        assert len(list(folder.glob("m.*.tmp"))) == 1
        write("m", b"new")
        assert sorted(os.listdir()) == ["m", "other"]

    def test_those_that_live_are_not_disturbed(self, folder, writer):
        write("m", b"new")
        assert len(list(folder.glob("m.*.tmp"))) == 1
        writer.stdin.close()
        writer.wait()
        assert writer.returncode == 0
        assert (folder / "m").read_bytes() == b"partial"
        assert os.listdir() == ["m"]

    def test_other_files_are_not_touched(self, folder):
        names = {"m.tmp", "m.12345678.tmp.kept", "m.1234567.tmp", "xm.12345678.tmp", "m.kern.12345678.tmp"}
        for name in names:
            (folder / name).write_bytes(b"")
        os.mkfifo("m.00000000.tmp")
        write("m", b"new")
        assert set(os.listdir()) == names | {"m", "m.00000000.tmp"}


def test_writers_of_one_file_at_once(folder):
    """The file is that of the last writer, and no writer fails."""
    code = (
        HEADER
        + "for k in range(50):\n    with replacing('m') as file:\n        file.write(sys.argv[1].encode() * 1000)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "abc"]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert (folder / "m").read_bytes() in {name * 1000 for name in (b"a", b"b", b"c")}
    assert os.listdir() == ["m"]
