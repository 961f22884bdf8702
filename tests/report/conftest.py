import pytest

from benchmarks.browser import browser, missing

from .models import all_kinds


@pytest.fixture(scope="session")
def chromium():
    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)
    with browser() as context:
        yield context


@pytest.fixture(scope="session")
def kinds():
    return list(all_kinds())
