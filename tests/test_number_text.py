"""Numbers for people."""

import pytest

from kernline.number_text import aligned, short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.12345, "0.1235"),
        (9999.9, "10,000"),
        (906767.2, "906,800"),
        (-21363.4, "-21,360"),
        (3.2e12, "3.2e+12"),
        (1.5e-7, "1.5e-07"),
    ],
)
def test_short(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.49, -1.07, 0.0129], ["+0.490", "-1.070", "+0.013"]),
        ([635.0, -67.44], ["+635.0", " -67.4"]),
        ([123456.7, 1.0], ["+123457", "     +1"]),
        ([0.0, 0.0], ["+0", "+0"]),
        ([1e-9, 2e-8], ["+1e-09", "+2e-08"]),
        ([], []),
    ],
)
def test_aligned(values, texts):
    assert aligned(values) == texts
