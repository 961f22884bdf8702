"""Arrays that NumPy or SciPy saved: .npy, .npz with X and perhaps y, and sparse .npz."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .streams import Source


def read_npy(source: Source, *, mapped: bool) -> NDArray[Any]:
    """Read one array of numbers; `mapped`: leave it in its file, if it lies in one."""
    where: Any = source.path if source.path is not None else io.BytesIO(source.stream.read())
    return _matrix(source, _load(source, where, "r" if mapped and source.path is not None else None))


def read_npz(source: Source, target: str | None) -> tuple[Any, NDArray[Any] | None]:
    """X and y: the arrays of these names (or the only one, and `target`); X may be as scipy.sparse.save_npz has it."""
    where: Any = source.path if source.path is not None else io.BytesIO(source.stream.read())
    content = _load(source, where, None)
    if isinstance(content, np.ndarray):
        raise ValueError(f"{source.name} holds a single array: pass format='npy'.")
    with content:
        names = content.files
        is_sparse = {"format", "shape", "data"} <= set(names)
        found = "X" if "X" in names else names[0] if len(names) == 1 else None
        if (found is None and not is_sparse) or (target is not None and target not in names):
            wanted = "X" if target is None or target in names else target
            raise ValueError(f"{source.name} holds no array {wanted!r}. There are: {', '.join(names) or 'none'}.")
        label = target or ("y" if "y" in names else None)
        X: Any = _sparse(source, where) if is_sparse else _matrix(source, _member(source, content, str(found)))
        y = None if label is None else _member(source, content, label)
    if y is not None and (y.ndim != 1 or len(y) != X.shape[0]):
        raise ValueError(f"{source.name}: {label!r} has shape {y.shape}, where X has {X.shape[0]} rows.")
    return X, y


def _load(source: Source, where: Any, mmap_mode: Any) -> Any:
    try:
        return np.load(where, mmap_mode=mmap_mode, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{source.name} is not a file of numbers that NumPy wrote, or it is damaged.") from error


def _member(source: Source, content: Any, name: str) -> NDArray[Any]:
    try:
        return content[name]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{source.name}: array {name!r} cannot be read ({error}).") from error


def _sparse(source: Source, where: Any) -> sp.csr_array:
    try:
        if isinstance(where, io.BytesIO):
            where.seek(0)
        X = sp.csr_array(sp.load_npz(where))
        X.check_format(full_check=True)
    except (ValueError, EOFError, OSError, NotImplementedError, zipfile.BadZipFile) as error:
        raise ValueError(f"{source.name} is not a sparse matrix of SciPy's, or damaged ({error}).") from error
    X.sum_duplicates()
    return X


def _matrix(source: Source, X: NDArray[Any]) -> NDArray[Any]:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"{source.name}: expected a matrix of numbers, found shape {X.shape} of {X.dtype}.")
    return X
