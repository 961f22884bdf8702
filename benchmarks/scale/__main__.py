"""Data larger than memory, and than one machine: python -m benchmarks.scale [names] [--write].

Results are kept in results.json beside this file, so that a few can be measured again. --write makes docs/scale.md of
all of them; `python -m benchmarks.scale page --write` measures nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..measure import machine
from .measurements import MEASUREMENTS, measured
from .page import PAGE, page

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    """Run the measurements named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MEASUREMENTS), help=f"page, {', '.join(MEASUREMENTS)}")
    parser.add_argument("--rows", type=int, default=20_000_000, help="of `large`; 100,000,000 take 5 GB of disk")
    parser.add_argument("--memory-rows", type=int, default=2_000_000)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the LIBSVM file")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="where to put files")
    parser.add_argument("--write", action="store_true", help="write docs/scale.md")
    options = parser.parse_args()
    print(machine(), flush=True)
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in options.names:
        if name == "page":
            continue
        found[name] = measured(name, options)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(f"\n{name}: {json.dumps(found[name], indent=1)}", flush=True)
    if options.write:
        PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
