"""Download one file, check its length and digest, and resume after a broken connection if that is safe."""

from __future__ import annotations

import hashlib
import http.client
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import IO, BinaryIO

# Called during a download with the number of bytes so far and the total (0: unknown).
OnBytes = Callable[[int, int], None]

# Errors after which another attempt may succeed.
UNREACHABLE = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)

_ATTEMPTS = 5
_BLOCK = 1 << 18


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Allow redirects from https to https only, and from http to http and https."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        allowed = {"https"} if req.type == "https" else {"http", "https"}
        if urllib.parse.urlsplit(newurl).scheme not in allowed:
            raise urllib.error.URLError(f"it redirects to {newurl}, which is not {' or '.join(sorted(allowed))}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Download:
    """A download of `url` into the open file `out`, which no other process writes to."""

    def __init__(self, url: str, out: BinaryIO, on_bytes: OnBytes) -> None:
        self.url, self.out, self.on_bytes = url, out, on_bytes
        self.opener = urllib.request.build_opener(_SafeRedirects)
        self.is_bounded = False  # whether a complete file can be distinguished from a broken connection
        self._begin_again()

    def run(self) -> str:
        """Download the whole file and return its SHA-256."""
        for attempt in range(_ATTEMPTS):
            try:
                self._attempt()
                break
            except urllib.error.HTTPError:  # another attempt would get the same answer
                raise
            except UNREACHABLE:
                if attempt == _ATTEMPTS - 1:
                    raise
        return self.digest.hexdigest()

    def _begin_again(self) -> None:
        self.out.seek(0)
        self.out.truncate()
        self.done, self.total, self.version = 0, 0, ""
        self.digest = hashlib.sha256()

    def _attempt(self) -> None:
        """Resume the last attempt if the server still has the same version, else start again."""
        request = urllib.request.Request(self.url)
        if self.done and self.version:
            request.add_header("Range", f"bytes={self.done}-")
            request.add_header("If-Range", self.version)
        try:
            response = self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            if error.code != 416 or not request.has_header("Range"):
                raise
            self._begin_again()
            raise ConnectionError("the server has no more bytes of the file") from error
        with response:
            if response.status == 206:
                self._check_part(response)
            else:
                self._begin_again()
                self.version = _version(response)
                self.total = _length(response)
                self.is_bounded = bool(self.total) or getattr(response, "chunked", False)
            while block := response.read(_BLOCK):
                self.out.write(block)
                self.digest.update(block)
                self.done += len(block)
                self.on_bytes(self.done, self.total)
        if self.total and self.done != self.total:
            raise ConnectionError(f"the connection ended after {self.done:,} of {self.total:,} bytes")

    def _check_part(self, response: http.client.HTTPResponse) -> None:
        """Start again if the response is not the next part of the file."""
        expected = f"bytes {self.done}-{self.total - 1}/{self.total}"
        found = response.headers.get("Content-Range", "")
        if found != expected or _version(response) not in ("", self.version):
            self._begin_again()
            raise ConnectionError(f"the server sent {found or 'an unnamed part'} instead of {expected}")


def _version(response: http.client.HTTPResponse) -> str:
    """An identifier of this version of the file: a strong ETag, or the time of its last change."""
    tag = response.headers.get("ETag")
    return (response.headers.get("Last-Modified") if tag is None or tag.startswith("W/") else tag) or ""


def _length(response: http.client.HTTPResponse) -> int:
    text = response.headers.get("Content-Length") or "0"
    if not re.fullmatch("[0-9]{1,18}", text):
        raise http.client.HTTPException(f"Content-Length is {text!r:.40}")
    return int(text)
