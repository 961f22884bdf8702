import pytest

from .browsing import browser
from .models import all_kinds


@pytest.fixture(scope="session")
def chromium():
    with browser() as context:
        yield context


@pytest.fixture(scope="session")
def kinds():
    return list(all_kinds())
