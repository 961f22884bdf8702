"""``python -m benchmarks.papers NAME``: write docs/papers/NAME.md and its pictures."""

import argparse
import warnings

from sklearn.exceptions import ConvergenceWarning

from . import bsgd, nystrom, plame, pmsvm, pmsvm_lut

PAGES = {
    "pmsvm": pmsvm.main,
    "pmsvm-lut": pmsvm_lut.main,
    "plame": plame.main,
    "nystrom": nystrom.main,
    "bsgd": bsgd.main,
}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("name", choices=PAGES)
warnings.simplefilter("ignore", ConvergenceWarning)
PAGES[parser.parse_args().name]()
