"""Model files: a fitted estimator as JSON and arrays in a safetensors file. No pickle, no code.

Versions of the format are major.minor. All files of a known major version can be read: what an older minor version
lacks gets its default, and unknown parameters and fields of a newer minor version are ignored. A change that older
readers must not ignore needs a new major version. Files of unknown major versions are refused, with advice. A file is
written in the lowest version that can represent it: 3.2 if there are tables of pairs of features or parameters of which
older versions know no such value, 2.3 if there are terms other than numbers or scaled columns of a landmark model, else
1.4. The latest minor versions have `n_candidates` and PLAME's `symmetric`, those before them facts of the training rows
and the history of edits, which older ones ignore.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..io.atomic import errors_of, replacing
from ..threads import thread_count
from .checks import check_estimator
from .tensor_file import JSON, DamagedFileError, TensorFile, as_object, damage, write_tensors
from .tree import TreeReader, TreeWriter

# Written versions: the second for other terms than numbers and for scaled columns, the third for pairs and for what is
# chosen by the data. Older versions cannot read these.
FORMAT, FORMAT_OF_TERMS, FORMAT_OF_PAIRS = (1, 4), (2, 3), (3, 2)
# The latest minor version of each major one.
_LATEST = dict([FORMAT, FORMAT_OF_TERMS, FORMAT_OF_PAIRS])

# Errors that building a model from a damaged file may raise.
_NONSENSE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator, or a pipeline of estimators, to a file that `load` reads.

    The file contains only numbers and text, and is written atomically. User-defined functions, as in
    ``kernels.Custom``, cannot be saved.

    The same data, parameters and seed give the same bytes, with the same instruction set and library versions. So the
    seconds in ``history_`` are not saved: after `load` they are NaN.

    Parameters
    ----------
    model : estimator or pipeline
        A fitted one.
    path : str or path
        Where to write.

    Examples
    --------
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
    tree = writer.estimator(model, "model")
    described = {"format": f"{writer.major}.{_LATEST[writer.major]}", "kernline": __version__, "model": tree}
    metadata = {"kernline": json.dumps(described, separators=(",", ":"), ensure_ascii=False, allow_nan=False)}
    with replacing(path) as file:
        write_tensors(file, writer.arrays, metadata)


def load(path: str | os.PathLike[str], *, n_jobs: int | None = -1) -> Any:
    """Read a file written by `save`. Its content is checked: a truncated, damaged or forged file raises ValueError.

    Large files are read and checked in `n_jobs` threads (-1: one per processor).

    Parameters
    ----------
    path : str or path
        The file.
    n_jobs : int or None, default=-1
        Threads.

    Returns
    -------
    estimator
        The model that was saved.

    Examples
    --------
    >>> import kernline, tempfile, os
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "wine.kern")
    ...     kernline.save(kernline.AdditiveSVC().fit(X, y), path)
    ...     model = kernline.load(path)
    >>> model.score(X, y) > 0.95
    True
    """
    try:
        with errors_of(path), TensorFile(path, thread_count(n_jobs)) as file:
            described = as_object(json.loads(file.metadata["kernline"]), "the description of the model")
            major, minor = _version(described)
            tree = as_object(described["model"], "the model")
            model = TreeReader(file, lenient=minor > _LATEST[major]).estimator(tree)
        check_estimator(model)
    except _UnknownVersionError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None
    except _NONSENSE as error:
        raise ValueError(
            f"{os.fspath(path)}: not a model file of kernline, or a damaged one ({damage(error)})"
        ) from error
    return model


class _UnknownVersionError(Exception):
    pass


def version_needed(writer: JSON) -> str:
    """The end of "Update kernline": the version that wrote a file reads it, if the file states one."""
    known = isinstance(writer, str) and re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}\w{0,8}", writer)
    return f" to {writer} or later" if known else ""


def _version(described: dict[str, JSON]) -> tuple[int, int]:
    version = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", str(described["format"]))
    if version is None:
        raise DamagedFileError(f"format {described['format']!r:.50} is not known.")
    major, minor = int(version[1]), int(version[2])
    if major not in _LATEST:
        remedy = "Load and save it with a version of kernline in between"
        if major > max(_LATEST):
            remedy = f"Update kernline{version_needed(described['kernline'])}"
        *known, last = (f"{version}.x" for version in sorted(_LATEST))
        raise _UnknownVersionError(
            f"a model file of format {major}.{minor}, written by kernline {described['kernline']!s:.20}; this one "
            f"reads {', '.join(known)} and {last}. {remedy}."
        )
    return major, minor
