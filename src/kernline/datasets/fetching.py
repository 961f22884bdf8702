"""From a published file to one on this machine: the user's folder, the cache, or a download that can be resumed."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .catalogue import RemoteFile

# What is told while a file arrives: bytes so far, and all of them (0: not known).
OnBytes = Callable[[int, int], None]

_TRIES = 3
_BLOCK = 1 << 18


class OutOfReachError(OSError):
    """A data set that is not at hand, and cannot be fetched."""


def cache_folder() -> Path:
    """KERNLINE_CACHE, or where this system keeps what can be fetched again."""
    try:
        return _cache_folder()
    except RuntimeError as error:  # no HOME, and no entry in the list of users
        raise OutOfReachError(f"no folder for data sets: {error} Name one in KERNLINE_CACHE.") from None


def _cache_folder() -> Path:
    if folder := os.environ.get("KERNLINE_CACHE"):
        return Path(folder).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kernline"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "kernline" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernline"


def local(file: RemoteFile) -> Path | None:
    """Where the file is on this machine, if it is. In the user's folder it may be compressed: a9a.bz2 for a9a."""
    if folder := os.environ.get("KERNLINE_DATA"):
        for suffix in ("", ".bz2", ".gz", ".xz", ".zst"):
            found = Path(folder).expanduser() / (file.name + suffix)
            if found.exists():
                return found
    try:
        cached = cache_folder() / file.name
    except OutOfReachError:
        return None
    return cached if cached.exists() else None


def path(file: RemoteFile, on_bytes: OnBytes | None = None) -> Path:
    """Return where the file is, fetching it if need be."""
    found = local(file)
    if found is not None:
        return found
    remedy = "Put the file into a folder and name that in the environment variable KERNLINE_DATA"
    folder = os.environ.get("KERNLINE_DATA")
    where = f"{file.name} is not at hand" + (f" (KERNLINE_DATA is {folder})" if folder else "")
    if not file.url:
        raise OutOfReachError(f"{where}, and is published nowhere that we know. {remedy}.")
    if os.environ.get("KERNLINE_OFFLINE", "0") not in ("", "0"):
        raise OutOfReachError(f"{where}, and KERNLINE_OFFLINE forbids fetching {file.url}. {remedy}, or unset it.")
    target = cache_folder() / file.name
    try:
        _fetch(file, target, on_bytes or (lambda _done, _all: None))
    except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        raise OutOfReachError(
            f"{where} and {file.url} cannot be reached ({reason}). {remedy}; what has arrived is kept, and a next "
            "try goes on from there."
        ) from error
    return target


def _fetch(file: RemoteFile, target: Path, on_bytes: OnBytes) -> None:
    """Download beside the target, check, and only then give it its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part, version = target.with_name(target.name + ".part"), target.with_name(target.name + ".part.version")
    for attempt in range(_TRIES):
        try:
            _download(file, part, version, on_bytes)
            break
        except urllib.error.HTTPError:  # an answer, which will be the same the next time
            raise
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError):
            if attempt == _TRIES - 1:
                if part.exists() and part.stat().st_size == 0:
                    part.unlink()
                raise
    with part.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    version.unlink(missing_ok=True)
    if file.sha256 and digest != file.sha256:
        part.unlink()
        raise ValueError(f"{file.url} has SHA-256 {digest}, not {file.sha256}: not the file that was published.")
    if not file.sha256:
        warnings.warn(f"{file.name} is unverified: we know no SHA-256 of it. This one has {digest}.", stacklevel=4)
    part.replace(target)


def _download(file: RemoteFile, part: Path, version: Path, on_bytes: OnBytes) -> None:
    """Bring `part` to its full length, going on where it ends if the server still has the same version."""
    begun = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(file.url)
    if begun and version.exists():
        request.add_header("Range", f"bytes={begun}-")
        request.add_header("If-Range", version.read_text())
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # nothing beyond what we have: it is complete, or not a beginning of this file
            raise
        part.unlink()
        response = urllib.request.urlopen(urllib.request.Request(file.url), timeout=30)
    with response:
        resumed = response.status == 206
        done = begun if resumed else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else 0
        _remember_version(response, version)
        with part.open("ab" if resumed else "wb") as out:
            while block := response.read(_BLOCK):
                out.write(block)
                done += len(block)
                on_bytes(done, total)
    if total and done < total:
        raise ConnectionError(f"the connection ended after {done:,} of {total:,} bytes")


def _remember_version(response: Any, version: Path) -> None:
    """What tells this version of the file from another: a strong ETag, or the time of its last change."""
    tag = response.headers.get("ETag")
    tag = response.headers.get("Last-Modified") if tag is None or tag.startswith("W/") else tag
    if tag:
        version.write_text(tag)
    else:
        version.unlink(missing_ok=True)
