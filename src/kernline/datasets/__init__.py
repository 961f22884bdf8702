"""Named data sets, for benchmarks and examples.

``load("mnist")`` looks for the files in the folder named by the environment variable KERNLINE_DATA, then in the cache
(KERNLINE_CACHE, or the user's cache folder). If they are in neither, it downloads them and checks their SHA-256;
KERNLINE_OFFLINE=1 disables downloads. ``make_bag_of_words`` and ``make_customers`` generate data of any size.
"""

from .catalogue import CATALOGUE, Dataset, Entry, RemoteFile
from .fetching import OutOfReachError, cache_folder, local, path
from .generated import make_bag_of_words, make_customers
from .loading import UnknownDatasetError, check_name, fetch, is_split, load, load_part, names

__all__ = [
    "CATALOGUE",
    "Dataset",
    "Entry",
    "OutOfReachError",
    "RemoteFile",
    "UnknownDatasetError",
    "cache_folder",
    "check_name",
    "fetch",
    "is_split",
    "load",
    "load_part",
    "local",
    "make_bag_of_words",
    "make_customers",
    "names",
    "path",
]
