"""The nearest names to one that is not known, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """Return "Did you mean 'a' or 'b'? ", or nothing if no name is near."""
    known = {str(one).lower(): str(one) for one in names}
    near = difflib.get_close_matches(str(name).lower(), known, n=2)
    return f"Did you mean {' or '.join(repr(known[one]) for one in near)}? " if near else ""
