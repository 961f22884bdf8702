"""Model files: a fitted estimator as JSON and arrays in a safetensors file. No pickle, no code.

Versions of the format are major.minor. A file of the same major version is read: of an older minor one, what it lacks
has its default; of a newer minor one, parameters and fields that are not known here are passed over. A change that
older readers must not ignore is a new major version, and other major versions are refused with what to do about it.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..threads import thread_count
from .atomic import replacing
from .model_checks import check_estimator
from .model_tree import TreeReader, TreeWriter
from .tensor_file import DamagedFileError, TensorFile, write_tensors

FORMAT = (1, 0)

# What building a model from nonsense may raise.
_NONSENSE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, or a pipeline of these, to a file that `load` reads.

    The file holds numbers and text only, and is there as a whole or not at all. Functions of the user's own, as in
    ``kernels.Custom``, cannot be saved.

    The same data, parameters and seed give the same bytes, on one instruction set and version of the libraries. So the
    seconds in ``history_`` are not saved: after `load` they are NaN.

    >>> import kernline, tempfile, os
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = kernline.AdditiveSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.kern")
    ...     kernline.save(model, path)
    ...     same = kernline.load(path)
    >>> bool((same.decision_function(X) == model.decision_function(X)).all())
    True
    """
    from .. import __version__

    check_is_fitted(model)
    writer = TreeWriter()
    tree = writer._estimator(model, "model")
    described = {"format": f"{FORMAT[0]}.{FORMAT[1]}", "kernline": __version__, "model": tree}
    metadata = {"kernline": json.dumps(described, separators=(",", ":"), ensure_ascii=False, allow_nan=False)}
    with replacing(path) as file:
        write_tensors(file, writer.arrays, metadata)


def load(path: str | os.PathLike[str], *, n_jobs: int | None = -1) -> Any:
    """Read what `save` wrote. All of it is checked: a file that was cut, damaged or made up is a ValueError.

    `n_jobs` threads read and check large files (-1: one a processor).
    """
    try:
        with TensorFile(path, thread_count(n_jobs)) as file:
            described = json.loads(file.metadata["kernline"])
            minor = _minor_version(described)
            model = TreeReader(file, lenient=minor > FORMAT[1])._estimator(described["model"])
        check_estimator(model)
    except _UnknownVersionError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
    except _NONSENSE as error:
        reason = str(error) if isinstance(error, DamagedFileError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{os.fspath(path)}: not a model file of kernline, or a damaged one ({reason:.300})"
        ) from error
    return model


class _UnknownVersionError(Exception):
    pass


def _minor_version(described: dict[str, Any]) -> int:
    version = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", described["format"])
    if version is None:
        raise DamagedFileError(f"format {described['format']!r:.50}")
    major, minor = int(version[1]), int(version[2])
    if major != FORMAT[0]:
        remedy = "Update kernline" if major > FORMAT[0] else "Load and save it with a version of kernline in between"
        raise _UnknownVersionError(
            f"a model file of format {major}.{minor}, written by kernline {described['kernline']!s:.20}; this one "
            f"reads {FORMAT[0]}.x. {remedy}."
        )
    return minor
