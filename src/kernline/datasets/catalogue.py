"""The known data sets, where they are published, and the SHA-256 of their files.

A hash is that of the published file. Files without one were never available to us: their hash is reported when they are
fetched, and cannot be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..array_types import Labels, Matrix

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"


class Dataset(NamedTuple):
    """A training part and a test part.

    Parameters
    ----------
    X_train, X_test : array or sparse matrix
        The rows.
    y_train, y_test : array
        Their labels.

    Examples
    --------
    >>> from kernline import datasets
    >>> X_train, y_train, X_test, y_test = datasets.load("digits")
    >>> len(y_train), len(y_test)
    (1257, 540)
    """

    X_train: Matrix
    y_train: Labels
    X_test: Matrix
    y_test: Labels


@dataclass(frozen=True)
class RemoteFile:
    """A file: its name in the data folder, and its URL, which is empty if we know of none."""

    name: str
    url: str
    sha256: str = ""


@dataclass(frozen=True)
class Entry:
    """A data set: the files of its training part and, if it has one, of its test part (images before labels)."""

    train: tuple[RemoteFile, ...]
    test: tuple[RemoteFile, ...]
    kind: str  # "svmlight", "idx" (MNIST's format), "npz", or "made" for generated data
    n_features: int
    n_classes: int
    dense: bool = False

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        """All files."""
        return self.train + self.test


_HASHES = {
    "a9a": "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
    "a9a.t": "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
    "covtype.bz2": "695d94f57cfebd4cd222cbf3c1eb9deabeaa96a7ddac5f448496b57c17f813e6",
    "letter.scale": "ce2c7df15cc5742dc4382d59079181c97c21e0beaa0af53c84cc5745c69f1020",
    "letter.scale.t": "07522ccbf54187fae6d560d1712b88c41ea1f7e8d19491c5adcc22ee37a075da",
    "mushrooms": "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
    "sector.scale.bz2": "cba3d66eed97803665eeb76379fe9d9955712ea0e5c61d7003f644713ed842b5",
    "sector.t.scale.bz2": "c8c26e073abd92dda9e2a7903546fbe3c783a8d6141ec3fad360de4c0a572cbc",
    "usps.bz2": "244904b7317bebde6fe8211874b1423d5a71e95a83fed5463ba9c238bc196b8a",
    "usps.t.bz2": "c4b4004e802dd5c1892efc977fc37438fc66b6b0616c98e81d5943c48641504a",
    "w8a": "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
    "mnist/train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "mnist/train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "mnist/t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "mnist/t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "fashion_mnist/train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "fashion_mnist/train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "fashion_mnist/t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "fashion_mnist/t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}

# The LIBSVM collection: folder, training file, test file ("" for none), features, classes. Data sets are named like the
# files, without the suffix of the compression.
_COLLECTION = [
    *(("binary", f"a{k}a", f"a{k}a.t", 123, 2) for k in range(1, 10)),
    *(("binary", f"w{k}a", f"w{k}a.t", 300, 2) for k in range(1, 9)),
    ("binary", "australian", "", 14, 2),
    ("binary", "breast-cancer", "", 10, 2),
    ("binary", "cod-rna", "cod-rna.t", 8, 2),
    ("binary", "covtype.libsvm.binary.bz2", "", 54, 2),
    ("binary", "diabetes", "", 8, 2),
    ("binary", "fourclass", "", 2, 2),
    ("binary", "german.numer", "", 24, 2),
    ("binary", "gisette_scale.bz2", "gisette_scale.t.bz2", 5_000, 2),
    ("binary", "heart", "", 13, 2),
    ("binary", "ijcnn1.bz2", "ijcnn1.t.bz2", 22, 2),
    ("binary", "ionosphere_scale", "", 34, 2),
    ("binary", "madelon", "madelon.t", 500, 2),
    ("binary", "mushrooms", "", 112, 2),
    ("binary", "news20.binary.bz2", "", 1_355_191, 2),
    ("binary", "phishing", "", 68, 2),
    ("binary", "rcv1_train.binary.bz2", "rcv1_test.binary.bz2", 47_236, 2),
    ("binary", "real-sim.bz2", "", 20_958, 2),
    ("binary", "skin_nonskin", "", 3, 2),
    ("binary", "sonar_scale", "", 60, 2),
    ("binary", "splice", "splice.t", 60, 2),
    ("binary", "svmguide1", "svmguide1.t", 4, 2),
    ("multiclass", "aloi.bz2", "", 128, 1_000),
    ("multiclass", "cifar10.bz2", "cifar10.t.bz2", 3_072, 10),
    ("multiclass", "connect-4", "", 126, 3),
    ("multiclass", "covtype.bz2", "", 54, 7),
    ("multiclass", "dna.scale", "dna.scale.t", 180, 3),
    ("multiclass", "glass.scale", "", 9, 6),
    ("multiclass", "iris.scale", "", 4, 3),
    ("multiclass", "letter.scale", "letter.scale.t", 16, 26),
    ("multiclass", "news20.bz2", "news20.t.bz2", 62_061, 20),
    ("multiclass", "pendigits", "pendigits.t", 16, 10),
    ("multiclass", "poker.bz2", "poker.t.bz2", 10, 10),
    ("multiclass", "protein.bz2", "protein.t.bz2", 357, 3),
    ("multiclass", "satimage.scale", "satimage.scale.t", 36, 6),
    ("multiclass", "sector/sector.scale.bz2", "sector/sector.t.scale.bz2", 55_197, 105),
    ("multiclass", "segment.scale", "", 19, 7),
    ("multiclass", "Sensorless", "", 48, 11),
    ("multiclass", "shuttle.scale", "shuttle.scale.t", 9, 7),
    ("multiclass", "usps.bz2", "usps.t.bz2", 256, 10),
    ("multiclass", "vehicle.scale", "", 18, 4),
    ("multiclass", "vowel.scale", "vowel.scale.t", 10, 11),
    ("multiclass", "wine.scale", "", 13, 3),
]
_SHORTER = {"sector.scale": "sector", "skin_nonskin": "skin", "letter.scale": "letter"}
_DENSE = {"usps", "skin", "covtype", "letter", "pendigits"}


def _remote(name: str, url: str) -> RemoteFile:
    return RemoteFile(name, url, _HASHES.get(name, ""))


def _collection() -> dict[str, Entry]:
    entries = {}
    for folder, train, test, n_features, n_classes in _COLLECTION:
        files = [_remote(file.split("/")[-1], f"{_LIBSVM}/{folder}/{file}") for file in (train, test) if file]
        name = files[0].name.removesuffix(".bz2")
        name = _SHORTER.get(name, name)
        parts = tuple(files[:1]), tuple(files[1:])
        entries[name] = Entry(*parts, "svmlight", n_features, n_classes, name in _DENSE)
    return entries


def _idx(folder: str, url: str) -> Entry:
    files = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    found = tuple(_remote(f"{folder}/{file}-ubyte.gz", f"{url}/{file}-ubyte.gz") for file in files)
    return Entry(found[:2], found[2:], "idx", 784, 10)


CATALOGUE: dict[str, Entry] = {
    **_collection(),
    "mnist": _idx("mnist", _MNIST),
    "fashion_mnist": _idx("fashion_mnist", _FASHION),
    # We know of no place that publishes these in this form: put them into KERNLINE_DATA.
    "r8": Entry((RemoteFile("r8.bz2", ""),), (RemoteFile("r8.t.bz2", ""),), "svmlight", 10_417, 8),
    "spambase": Entry((RemoteFile("spambase.bz2", ""),), (), "svmlight", 57, 2),
    "scene15_bow": Entry((RemoteFile("scene15_bow.npz", ""),), (), "npz", 2_000, 15),
    "digits": Entry((), (), "made", 64, 10),
    "bag_of_words": Entry((), (), "made", 2_000, 4),
}
