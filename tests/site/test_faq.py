"""The messages that docs/faq.md explains are those of the library."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAQ = ROOT / "docs" / "faq.md"
# Messages of scikit-learn and NumPy, which users meet too.
_OF_OTHERS = ("could not convert string to float", "The feature names should match those that were passed during fit")


@pytest.mark.skipif(not FAQ.is_file(), reason="the source distribution has no docs")
def test_messages_are_ours():
    files = [*(ROOT / "src" / "kernline").rglob("*.py"), *(ROOT / "native").rglob("*.hpp")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # texts that continue on the next line
    quoted = re.findall(r"^\*\*.*?`([^`]+)`.*\*\*$", FAQ.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(quoted) >= 12
    for message in quoted:
        pieces = [piece for piece in re.split(r"…|'[^']*'|\d[\d.x]*( GB)?|[A-Z_]+=", message) if piece]
        words = max(pieces, key=len).strip(" ,.;:")
        assert words in source or words in _OF_OTHERS, f"{message!r}: {words!r} is in no message"
