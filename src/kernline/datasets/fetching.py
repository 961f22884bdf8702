"""Find the files of a data set in the user's folder or in the cache, or download them."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from ..io.atomic import replacing
from .catalogue import RemoteFile
from .download import UNREACHABLE, Download, OnBytes


class OutOfReachError(OSError):
    """A data set that is not on this machine and cannot be downloaded."""


def cache_folder() -> Path:
    """KERNLINE_CACHE, or the cache folder of this system."""
    if folder := os.environ.get("KERNLINE_CACHE"):
        return Path(folder).expanduser()
    try:
        return _user_cache_folder()
    except RuntimeError as error:
        raise OutOfReachError("This user has no home folder to cache files in. Set KERNLINE_CACHE.") from error


def _user_cache_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kernline"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "kernline" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernline"


def local(file: RemoteFile) -> Path | None:
    """The path of the file on this machine, or None. In the user's folder it may be compressed: a9a.bz2 for a9a."""
    if folder := os.environ.get("KERNLINE_DATA"):
        for suffix in ("", ".bz2", ".gz", ".xz", ".zst"):
            found = Path(folder).expanduser() / (file.name + suffix)
            if found.exists():
                return found
    with suppress(OutOfReachError):  # no home folder
        cached = cache_folder() / file.name
        return cached if cached.exists() else None
    return None


def path(file: RemoteFile, on_bytes: OnBytes | None = None) -> Path:
    """Return the path of the file; download it if necessary."""
    found = local(file)
    if found is not None:
        return found
    remedy = "Put the file into a folder and set the environment variable KERNLINE_DATA to the folder"
    folder = os.environ.get("KERNLINE_DATA")
    where = f"{file.name} is not on this machine" + (f" (KERNLINE_DATA is {folder})" if folder else "")
    if not file.url:
        raise OutOfReachError(f"{where}, and is published nowhere as far as we know. {remedy}.")
    if os.environ.get("KERNLINE_OFFLINE", "0") not in ("", "0"):
        raise OutOfReachError(f"{where}, and KERNLINE_OFFLINE forbids fetching {file.url}. {remedy}, or unset it.")
    target = cache_folder() / file.name
    try:
        _fetch(file, target, on_bytes or (lambda _done, _all: None))
    except UNREACHABLE as error:
        reason = getattr(error, "reason", None) or error
        raise OutOfReachError(f"{where} and {file.url} cannot be reached ({reason}). {remedy}.") from error
    return target


def _fetch(file: RemoteFile, target: Path, on_bytes: OnBytes) -> None:
    """Download to a temporary file, check it, and only then rename it.

    So several processes can fetch the same file at once, and a file with the right name is always complete.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as out:
        download = Download(file.url, out, on_bytes)
        digest = download.run()
        if file.sha256 and digest != file.sha256:
            raise ValueError(f"{file.url} has SHA-256 {digest}, not {file.sha256}: this is not the published file.")
        if not file.sha256 and not download.is_bounded:
            raise ConnectionError("the server does not send its length, and no SHA-256 is known to check it")
    if not file.sha256:
        warnings.warn(f"{file.name} is unverified: no SHA-256 is known. That of this file is {digest}.", stacklevel=4)
