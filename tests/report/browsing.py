"""Pages in a headless Chromium, and everything that it reports about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Opened:
    """A page, and everything that the browser reported about it."""

    def __init__(self, context, path: Path) -> None:
        self.page = context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.messages.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.documentElement.dataset.ready", timeout=20_000)

    def see_all(self) -> None:
        """Scroll through the page, so that every chart is drawn."""
        self.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.page.wait_for_timeout(200)

    def scores(self) -> list[float]:
        """The decision values under "What if", as the page computed them."""
        return self.page.evaluate("JSON.parse(document.getElementById('row-decision').dataset.scores)")

    def outside(self) -> list[str]:
        """Requests that leave the page."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


@contextmanager
def opened(context, path: Path) -> Iterator[Opened]:
    """Open a page, and close it."""
    page = Opened(context, path)
    try:
        yield page
    finally:
        page.page.close()
