"""``python -m benchmarks.tabular``: compare on all tables, and write docs/tabular.md.

With ``--quick``, ``--sets`` or ``--contestants``, the tables are printed only. Contestants that are not named appear
from the cache. ``python -m benchmarks.tabular large`` fits ours to ten million generated rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from kernline.datasets import OutOfReachError

from .cache import Cache
from .contestants import CLASSIFIERS, NAMES
from .data import TABLES
from .former import former_results
from .large import large
from .page import PAGE, render
from .run import Options, Results, run_table

CACHE = Path(__file__).resolve().parents[2] / "build" / "tabular_cache.json"


def main(arguments: list[str] | None = None) -> None:
    """Parse the arguments and run."""
    options = _parser().parse_args(arguments)
    if options.command == "large":
        names = options.contestants or ["kernline"]
        large(options.rows, [name for name in names if name in CLASSIFIERS], options.threads)
        return
    most_rows = None if options.full else 20_000
    found = _run(options, most_rows)
    page = render(
        found, command=_command(options), threads=options.threads, most_rows=most_rows, has_former=options.former
    )
    print("\n" + page)
    if not (options.quick or options.sets or options.contestants):
        PAGE.write_text(page)


def _command(options: argparse.Namespace) -> str:
    """The command that writes the same page."""
    threads = f" --threads {options.threads}" if options.threads != 1 else ""
    flags = [name for name in ("full", "cached", "former") if getattr(options, name)]
    return "python -m benchmarks.tabular" + threads + "".join(f" --{name}" for name in flags)


def _run(options: argparse.Namespace, most_rows: int | None) -> list[Results]:
    every = [name for name, one in CLASSIFIERS.items() if one.ours] if options.cached else NAMES
    choice = Options(
        frozenset(options.contestants or every),
        options.threads,
        Cache(options.cache),
        again=options.again,
        most_rows=most_rows,
        quick=options.quick,
        former=former_results(PAGE.read_text()) if options.former else {},
    )
    found = []
    for name in options.sets or [table.name for table in TABLES.values() if table.quick or not options.quick]:
        try:
            found.append(run_table(TABLES[name], choice))
        except OutOfReachError as error:
            print(f"{name}: skipped. {error}", flush=True)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tabular", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["compare", "large"], default="compare")
    parser.add_argument("--sets", type=_names(list(TABLES)), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--contestants", type=_names(NAMES), help=f"run only some of {','.join(NAMES)}")
    parser.add_argument("--threads", type=int, default=1, help="threads of every contestant (1)")
    parser.add_argument("--quick", action="store_true", help="small tables, and EBM from the cache only")
    parser.add_argument("--full", action="store_true", help="all training rows, not 20,000 at most")
    parser.add_argument("--cached", action="store_true", help="run ours only, and take all peers from the cache")
    parser.add_argument("--former", action="store_true", help="take EBM from the page as it stands, if not cached")
    parser.add_argument("--again", action="store_true", help="run the peers again, too")
    parser.add_argument("--cache", type=Path, default=CACHE, help="results of the peers (build/tabular_cache.json)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of large (10,000,000)")
    return parser


def _names(allowed: list[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        unknown = [name for name in text.split(",") if name not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(allowed)}")
        return text.split(",")

    return parse


if __name__ == "__main__":
    main()
