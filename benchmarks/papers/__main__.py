"""``python -m benchmarks.papers [NAME ...]``: write docs/papers/NAME.md and its pictures; all pages if none is named.

Measurements are kept in build/papers: an interrupted run continues, and a page can be written again at once. ``--fresh``
measures again. ``--quick FOLDER`` writes the pages there from a few generated rows, to see that they can be written.
"""

import argparse
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from . import bsgd, nystrom, plame, pmsvm, pmsvm_lut
from .common import Scope

PAGES = {
    "pmsvm": pmsvm.main,
    "pmsvm-lut": pmsvm_lut.main,
    "plame": plame.main,
    "nystrom": nystrom.main,
    "bsgd": bsgd.main,
}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(PAGES)}")
parser.add_argument("--fresh", action="store_true", help="measure again")
parser.add_argument("--quick", type=Path, metavar="FOLDER", help="write pages of a few generated rows")
given = parser.parse_args()
if unknown := [name for name in given.names if name not in PAGES]:
    parser.error(f"no page {unknown[0]!r}; there are {', '.join(PAGES)}")
warnings.simplefilter("ignore", ConvergenceWarning)
scope = Scope() if given.quick is None else Scope(given.quick, None, quick=True)
for name in given.names or PAGES:
    if given.fresh:
        scope.results(name).clear()
    PAGES[name](scope)
