"""Atomic writes: an output file is either complete or unchanged.

The content goes to a temporary file in the same folder, which is renamed over the target once all of it is on the disk.
Pipes, devices and files that are already open (/dev/stdout, /dev/fd/3, the file that standard output was redirected to)
cannot be replaced: they are written in place.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

_STANDARD_STREAMS = (1, 2)
_MOST_LINKS = 40
_LONGEST_NAME = 255

# Temporary files that are being written, and those whose removal was interrupted.
_unfinished: set[str] = set()
# The last files that were to be replaced: the name by which the user knows each, its path, and the new file's inode.
_replaced: deque[tuple[str, str, int]] = deque(maxlen=16)


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends; after an error, the old file is unchanged.

    The new file has the permissions of the old one. A read-only file is not replaced: PermissionError. An OSError in
    the block that names no file, such as that of a full disk, gets the name of this one.
    """
    with errors_of(path):
        number = open_descriptor(path)
        if number is not None:
            with _duplicate(number) as file:
                yield file
        elif os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                yield file
        else:
            target = os.path.realpath(path)  # a symbolic link stays one
            _check_replaceable(path, target)
            with _temporary(target, os.fspath(path)) as file:
                yield file
            _sync_folder(target)


def check_writable(path: PathLike) -> None:
    """Raise the OSError that writing to `path` would raise, as far as it can be known beforehand."""
    number = open_descriptor(path)
    if number is not None:
        _check_descriptor(path, number)
        return
    try:
        target = os.path.realpath(path)
    except FileNotFoundError:  # os.getcwd
        raise FileNotFoundError(f"{path}: the current folder has been deleted. Change to another one.") from None
    if os.path.isdir(target):
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    _check_replaceable(path, target)
    if not os.path.exists(target) or os.path.isfile(target):
        _check_folder(path, target)


def open_descriptor(path: PathLike) -> int | None:
    """The number of the open file that `path` leads to: 1 for /dev/stdout, 3 for /dev/fd/3; None for other paths.

    A path to the regular file that standard output or standard error was redirected to is that stream.
    """
    current = os.fspath(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(current)
        if name.isdecimal() and os.path.realpath(folder or "/") in _descriptor_folders():
            return int(name)
        try:
            current = os.path.join(folder, os.readlink(current))
        except OSError:
            break
    for number in _STANDARD_STREAMS:
        with suppress(OSError):
            found = os.fstat(number)
            if stat.S_ISREG(found.st_mode) and os.path.samestat(found, os.stat(path)):
                return number
    return None


def _descriptor_folders() -> set[str]:
    return {"/dev/fd", os.path.realpath("/proc/self/fd")}


def _duplicate(number: int) -> BinaryIO:
    """Write at the position of the descriptor, as >> of a shell requires; opening its path would begin at 0."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return os.fdopen(os.dup(number), "wb")


def _check_descriptor(path: PathLike, number: int) -> None:
    try:
        os.fstat(number)
        writable = fcntl is None or fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        raise OSError(f"{path} is not open.") from None
    if not writable:
        raise OSError(f"{path} is open for reading only.")


def _check_replaceable(path: PathLike, target: str) -> None:
    try:
        before = os.stat(target)
    except (FileNotFoundError, NotADirectoryError):
        return
    # A file without any write bit is protected, even if root could write to it.
    if not before.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(
            f"{path} exists and is read-only (mode {stat.S_IMODE(before.st_mode):04o}). Make it writable (chmod u+w), "
            "or name another file."
        )


def _check_folder(path: PathLike, target: str) -> None:
    """Create a file and remove it: this also detects read-only and full file systems."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        where = folder if os.path.islink(path) else os.path.dirname(os.fspath(path))
        raise FileNotFoundError(f"{path}: the folder {where} does not exist.")
    try:
        with errors_of(path):
            temporary, number = _create(target, None)
    except PermissionError:
        raise PermissionError(f"{path}: no permission to write into {folder}.") from None
    os.close(number)
    _discard(temporary)


@contextmanager
def errors_of(path: PathLike) -> Iterator[None]:
    """Give errors that name no file, such as that of a full disk, the name of this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _temporary(target: str, name: str) -> Iterator[BinaryIO]:
    """A file that is renamed to `target` at the end, or removed."""
    before = os.stat(target) if os.path.exists(target) else None
    temporary, number = _create(target, before)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
            _replaced.append((name, target, os.fstat(number).st_ino))
            if fcntl is None:  # Windows renames no open file; elsewhere the lock is held until the rename
                file.close()
            os.replace(temporary, target)
    except BaseException:
        _discard(temporary)
        raise
    _unfinished.discard(temporary)


def written() -> list[str]:
    """Files that this process has replaced, even if it was interrupted right after the rename."""
    found = []
    for name, target, inode in list(_replaced):
        with suppress(OSError):
            if os.stat(target).st_ino == inode:
                found.append(name)
    return found


def discard_unfinished() -> None:
    """Remove the temporary files of this process, for an exit that skips or interrupts the usual cleanup."""
    for temporary in list(_unfinished):
        _discard(temporary)


def _discard(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)
    _unfinished.discard(temporary)


atexit.register(discard_unfinished)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unfinished.clear)  # the parent is still writing them


def _create(target: str, before: os.stat_result | None) -> tuple[str, int]:
    """Create and lock a temporary file beside `target`; those of writers that were killed are removed first."""
    folder, name = os.path.split(target)
    longest = _longest_name(folder) - len(".01234567.tmp")
    while len(os.fsencode(name)) > longest:
        name = name[:-1]
    _remove_stale(folder, name)
    while True:
        temporary = os.path.join(folder, f"{name}.{secrets.token_hex(4)}.tmp")
        _unfinished.add(temporary)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            number = os.open(temporary, flags, 0o666 if before is None else 0o600)
        except OSError as error:
            _unfinished.discard(temporary)
            error.filename = None  # `replacing` names the target, which the user knows
            raise
        if _lock(number) is not False and os.fstat(number).st_nlink:
            break
        os.close(number)  # another process removed it as stale before it was locked
        _unfinished.discard(temporary)
    if before is not None:
        _copy_permissions(number, before)
    return temporary, number


def _remove_stale(folder: str, name: str) -> None:
    """Remove temporary files that are not locked: their writer was killed."""
    pattern = re.compile(re.escape(name) + r"\.[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for entry in os.listdir(folder):
            if fcntl is not None and pattern.fullmatch(entry):
                _remove_if_stale(os.path.join(folder, entry))


def _remove_if_stale(temporary: str) -> None:
    with suppress(OSError):
        number = os.open(temporary, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(number).st_mode) and _lock(number):
                os.unlink(temporary)
        finally:
            os.close(number)


def _lock(number: int) -> bool | None:
    """Whether this process now holds the lock of an open file; None if the file system does not support locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _copy_permissions(number: int, before: os.stat_result) -> None:
    """Give the new file the owner and the mode of the old one; the owner only if the system allows it."""
    if not hasattr(os, "fchown"):  # Windows
        return
    mode = stat.S_IMODE(before.st_mode) & 0o777
    with suppress(OSError):
        os.fchown(number, -1, before.st_gid)
    with suppress(OSError):
        os.fchown(number, before.st_uid, -1)
    if os.fstat(number).st_gid != before.st_gid:  # permissions of one group do not apply to another
        mode &= 0o707 | (mode & 0o007) << 3
    with suppress(PermissionError):  # file systems without modes
        os.fchmod(number, mode)


def _longest_name(folder: str) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (OSError, ValueError, AttributeError):
        return _LONGEST_NAME


def _sync_folder(target: str) -> None:
    with suppress(OSError):  # some file systems have no folders to sync
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
