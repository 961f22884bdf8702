"""What the examples share: their options, the data folder, and where pictures go."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any


def options(about: str) -> argparse.Namespace:
    """Parse the options of an example."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="use few rows, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the pictures (default: this one)")
    found = parser.parse_args()
    found.out.mkdir(parents=True, exist_ok=True)
    return found


def data_file(name: str) -> Path | None:
    """A file in the folder KERNLINE_DATA, if it is there."""
    folder = os.environ.get("KERNLINE_DATA")
    file = Path(folder).expanduser() / name if folder else None
    return file if file is not None and file.exists() else None


def is_offline() -> bool:
    """Whether KERNLINE_OFFLINE forbids downloads."""
    return os.environ.get("KERNLINE_OFFLINE", "0") not in ("", "0")


def save(display: Any, file: Path) -> None:
    """Write the picture of a display, and print where it is."""
    import matplotlib.pyplot as plt

    display.figure_.savefig(file, dpi=110)
    plt.close(display.figure_)
    print(f"wrote {file}")
