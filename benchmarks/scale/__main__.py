"""Data larger than memory, on one machine: python -m benchmarks.scale [mapped rounds large text kills] [--write].

Each measurement runs in a process of its own; --write puts the results of all into docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from pathlib import Path

from ..measure import machine
from .one_machine import MEASUREMENTS, measure
from .page import PAGE, page, shown


def main() -> None:
    """Run the measurements named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MEASUREMENTS), help=", ".join(MEASUREMENTS))
    parser.add_argument("--rows", type=int, default=20_000_000, help="of `large`; 100,000,000 take 5 GB of disk")
    parser.add_argument("--memory-rows", type=int, default=2_000_000)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the LIBSVM file")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="where to put files")
    parser.add_argument("--results", default=None, help="a JSON file of results, which is added to")
    parser.add_argument("--cluster", default=None, help="that of benchmarks.scale.cluster, for --write")
    parser.add_argument("--write", action="store_true", help="write docs/scale.md")
    options = parser.parse_args()
    if options.write and options.cluster is None:
        parser.error("--write needs the results of benchmarks.scale.cluster, --cluster FILE.")
    print(machine(), flush=True)
    kept = Path(options.results) if options.results else None
    found = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    for name in options.names:
        with tempfile.NamedTemporaryFile() as file:
            process = multiprocessing.get_context("spawn").Process(target=measure, args=(name, options, file.name))
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(f"{name} failed.")
            found[name] = json.loads(Path(file.name).read_text())
        if kept is not None:
            kept.write_text(json.dumps(found, indent=1))
        print(f"\n{name}\n" + "\n".join(f"  {key}: {shown(value)}" for key, value in found[name].items()), flush=True)
    if options.write:
        PAGE.write_text(page(found | {"cluster": json.loads(Path(options.cluster).read_text())}))


if __name__ == "__main__":
    main()
