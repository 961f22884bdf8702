import pytest

from .models import all_kinds


@pytest.fixture(scope="session")
def kinds():
    return list(all_kinds())
