"""Changes to model files that keep their digests right, so that a load gets to what they say.

A file is taken apart into its tree, which says what the model is, and its arrays; one or a few places are changed, and
all of it is put together with the checksums of what it now holds. Few changes lie in the header or are of any bytes.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from kernline import kernels
from kernline.landmarks import pairwise
from kernline.model_files import tree as model_tree
from kernline.model_files.tensor_file import DTYPES

_NO_DIGEST = b"0" * 64

INTEGERS = [0, 1, -1, 2, 3, 7, 16, 64, 255, 256, 257, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63]
INTEGERS += [-(2**31), -(2**63), 10**30, 10**400]
FLOATS = [0.0, 0.5, 1.0, 1e-300, 5e-324, 1e30, 1e38, 1e39, 1e150, 1e200, 1.7e308, float("nan"), float("inf")]
FLOATS += [-value for value in FLOATS]
TEXTS = ["", "x", "ä\n", "\ud800", "\x00", "nan", "inf", "f8", "float64", "int64", "bool", "object", "U1000000000"]
TEXTS += ["scale", "max", "minmax", "rank", "balanced", "passthrough", "drop", "factor"]
TEXTS += ["1.0", "1.1", "2.0", "3.0", "log", "joint"]
TEXTS += [*kernels.BY_NAME, *PAIRWISE_KERNEL_FUNCTIONS, *pairwise.FORMS]
KINDS = [*model_tree._READERS]
CLASSES = [*model_tree.estimators(), *model_tree._BY_NAME, *model_tree._RECORD_BY_NAME]


@dataclass
class ModelFile:
    """What a model file holds, or a file of encoded rows."""

    tree: Any
    arrays: dict[str, np.ndarray]
    key: str = "kernline"  # of the tree in the metadata; "kernline-data" for rows


def opened(content: bytes) -> ModelFile:
    """Take a file apart; what is none raises one of many errors."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__")
    (key,) = {"kernline", "kernline-data"} & set(metadata)
    tree = json.loads(metadata[key])
    arrays = {}
    for name, said in header.items():
        begin, end = said["data_offsets"]
        body = content[8 + length + begin : 8 + length + end]
        arrays[name] = np.frombuffer(body, DTYPES[said["dtype"]]).reshape(said["shape"]).copy()
    return ModelFile(tree, arrays, key)


def closed(file: ModelFile, lie: Callable[[dict[str, Any]], None] = lambda header: None) -> bytes:
    """Put it together with the right digests; `lie` may change the header before that."""
    checks = {name: [zlib.crc32(array.tobytes())] if array.size else [] for name, array in file.arrays.items()}
    metadata = {"sha256": _NO_DIGEST.decode(), "crc32": json.dumps(checks), file.key: json.dumps(file.tree)}
    header: dict[str, Any] = {"__metadata__": metadata}
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    position = 0
    for name, array in file.arrays.items():
        offsets = [position, position + array.nbytes]
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        position = offsets[1]
    lie(header)
    body = b"".join(array.tobytes() for array in file.arrays.values())
    return with_digest(json.dumps(header).encode(), body)


def with_digest(header: bytes, body: bytes) -> bytes:
    """A file of this header, in which zeros stand for the digest."""
    text = header.replace(_NO_DIGEST, hashlib.sha256(header).hexdigest().encode(), 1)
    return len(text).to_bytes(8, "little") + text + body


class Mutator:
    """`mutate_bytes(content, largest)` is the fuzzer's own change of bytes."""

    def __init__(self, mutate_bytes: Callable[[bytes, int], bytes]) -> None:
        self.mutate_bytes = mutate_bytes

    def mutate(self, content: bytes, largest: int, seed: int) -> bytes:
        """Another file, of at most so many bytes."""
        rng = random.Random(seed)
        try:
            file = opened(content)
            changed = self._changed(file, content, rng)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
            changed = self.mutate_bytes(content[:largest], largest)
        return changed if len(changed) <= largest else content[:largest]

    def cross(self, content: bytes, other: bytes, largest: int, seed: int) -> bytes:
        """A file with some node of another one in it, and the arrays that it needs."""
        rng = random.Random(seed)
        try:
            file, giver = opened(content), opened(other)
            place, key = rng.choice(list(places(file.tree)))
            taken, taken_key = rng.choice(list(places(giver.tree)))
            place[key] = taken[taken_key]
            file.arrays = giver.arrays | file.arrays if rng.random() < 0.5 else file.arrays | giver.arrays
            changed = closed(file)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
            return content[:largest]
        return changed if len(changed) <= largest else content[:largest]

    def _changed(self, file: ModelFile, content: bytes, rng: random.Random) -> bytes:
        dice = rng.random()
        if dice < 0.03:
            return self.mutate_bytes(content, len(content) + 64)
        if dice < 0.06:  # any bytes in the header, with the digest of them
            length = int.from_bytes(content[:8], "little")
            header = content[8 : 8 + length]
            digest = json.loads(header)["__metadata__"]["sha256"].encode()
            header = self.mutate_bytes(header.replace(digest, _NO_DIGEST, 1), length + 64)
            return with_digest(header, content[8 + length :])
        if dice < 0.16:
            return closed(file, lambda header: change_header(header, rng))
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            if file.arrays and rng.random() < 0.4:
                self._change_array(file, rng)
            else:
                change_tree(file, rng)
        return closed(file)

    def _change_array(self, file: ModelFile, rng: random.Random) -> None:
        name = rng.choice(sorted(file.arrays))
        array = file.arrays[name]
        if rng.random() < 0.2:
            mutated = self.mutate_bytes(array.tobytes(), array.nbytes)
            mutated = mutated[: array.nbytes].ljust(array.nbytes, b"\0")
            file.arrays[name] = np.frombuffer(mutated, array.dtype).reshape(array.shape)
            return
        file.arrays[name] = np.ascontiguousarray(rng.choice(ARRAY_CHANGES)(array, rng, file))


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree, as what it is in and its key there."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from places(node[key])


def nonsense(rng: random.Random, file: ModelFile) -> Any:
    """Any value a tree may have, known words and names more often than others."""
    names = sorted(file.arrays) or ["x"]
    simple = [None, True, False, [], {}, rng.choice(INTEGERS), rng.choice(FLOATS), rng.choice(TEXTS)]
    kinds = [
        {"kind": "tensor", "name": rng.choice(names)},
        {"kind": "float", "text": rng.choice(["nan", "inf", "-inf"])},
        {"kind": "scalar", "dtype": rng.choice(TEXTS), "value": rng.choice(INTEGERS + FLOATS)},
        {"kind": "texts", "items": [rng.choice(TEXTS) for _ in range(rng.randrange(4))]},
        {"kind": "objects", "items": [rng.choice(TEXTS) for _ in range(rng.randrange(4))]},
        {"kind": "tuple", "items": [rng.choice(FLOATS) for _ in range(rng.randrange(4))]},
        {"kind": "dict", "items": [[rng.choice(TEXTS), rng.choice(INTEGERS)]]},
        {"kind": "object", "of": rng.choice(CLASSES), "fields": {}},
    ]
    words = [rng.choice(KINDS), rng.choice(CLASSES), rng.choice(names)]
    return copy.deepcopy(rng.choice([rng.choice(simple), rng.choice(kinds), rng.choice(words)]))


def change_tree(file: ModelFile, rng: random.Random) -> None:
    """Change one place of the tree."""
    every = list(places(file.tree))
    place, key = rng.choice(every)
    dice = rng.random()
    if dice < 0.3:
        place[key] = nearby(place[key], rng)
    elif dice < 0.55:
        place[key] = nonsense(rng, file)
    elif dice < 0.75:
        source, name = rng.choice(every)
        place[key] = copy.deepcopy(source[name])
    elif dice < 0.85:
        del place[key]
    elif dice < 0.9:
        place[key] = rng.choice([{"kind": "tuple", "items": [place[key]]}, [place[key]], [place[key]] * 3])
    elif dice < 0.91:
        for _ in range(rng.choice([10, 500, 3000])):
            place[key] = [place[key]]
    elif isinstance(place, dict):
        source, name = rng.choice(every)
        place[name if isinstance(name, str) else rng.choice(TEXTS)] = copy.deepcopy(place[key])
    else:
        place.insert(key, copy.deepcopy(place[key]))


def nearby(value: Any, rng: random.Random) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, 2 * value, float(value), rng.choice(INTEGERS)])
    if isinstance(value, float):
        return rng.choice([-value, value * 1e6, value * 1e-6, rng.choice(FLOATS)])
    if isinstance(value, str):
        return rng.choice([value + "_", value[:-1], rng.choice(TEXTS), rng.choice(KINDS), rng.choice(CLASSES)])
    if isinstance(value, list):
        return rng.choice([value[:-1], value[1:], value + value[:1], value[::-1], rng.sample(value, len(value))])
    if isinstance(value, dict):
        keys = list(value)
        return dict(zip(keys, rng.sample(list(value.values()), len(keys)), strict=True))
    return rng.choice([0, False, "", []])


def _other_element(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    flat = array.copy().reshape(-1)
    for _ in range(min(flat.size, rng.choice([1, 1, 3]))):
        with np.errstate(all="ignore"):
            values = FLOATS if array.dtype.kind == "f" else [n for n in INTEGERS if abs(n) < 2**62]
            flat[rng.randrange(flat.size)] = np.array(rng.choice(values)).astype(array.dtype)
    return flat.reshape(array.shape)


def _other_value(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.full_like(array, np.array(rng.choice(FLOATS)).astype(array.dtype))


def _other_type(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(rng.choice(sorted(DTYPES.values())))


def _other_length(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    if not array.ndim:
        return array.reshape(1)
    axis = rng.randrange(array.ndim)
    kept = rng.choice([0, 1, array.shape[axis] - 1, array.shape[axis] + 1])
    return np.take(array, np.arange(kept), axis=axis, mode="wrap") if array.shape[axis] else array


def _other_axes(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    return rng.choice([array.T, array.ravel(), array[None], array[..., None]])


def _other_order(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    return array[::-1] if array.ndim else array


def _another(array: np.ndarray, rng: random.Random, file: ModelFile) -> np.ndarray:
    return file.arrays[rng.choice(sorted(file.arrays))].copy()


ARRAY_CHANGES = [_other_element, _other_element, _other_value, _other_type, _other_length, _other_axes, _other_order]
ARRAY_CHANGES += [_another]


def change_header(header: dict[str, Any], rng: random.Random) -> None:
    """One lie about the arrays, or the metadata."""
    place, key = rng.choice([pair for pair in places(header) if pair[1] != "sha256"])
    dice = rng.random()
    if dice < 0.5:
        place[key] = nearby(place[key], rng)
    elif dice < 0.8:
        place[key] = copy.deepcopy(
            rng.choice([None, [], {}, rng.choice(INTEGERS), rng.choice(FLOATS), rng.choice(TEXTS)])
        )
    elif dice < 0.9:
        source, name = rng.choice(list(places(header)))
        place[key] = copy.deepcopy(source[name])
    else:
        del place[key]
