import pytest

from .browsing import browser


@pytest.fixture(scope="session")
def chromium():
    with browser() as context:
        yield context
