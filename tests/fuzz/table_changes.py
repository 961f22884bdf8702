"""Small files of every table and array format and of encoded rows, and changes to them.

A mutant is a function of its number alone, so that a find can be made again from the number. Checksums are kept right
where there are any (the CRC-32 of a zip member), so that a damaged array gets past them.
"""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
from model_changes import Mutator

# Numbers that lengths, offsets and indices are replaced by.
_NUMBERS = [0, 1, -1, 2, 7, 127, 128, 255, 256, 1 << 15, 1 << 16, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 32]
_NUMBERS += [(1 << 40) + 1, (1 << 62) + 8, (1 << 63) - 1, -(1 << 63)]
_TEXTS = [
    b'"',
    b'""',
    b',"',
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b",",
    b",,",
    b"\t",
    b"\xff",
    b"\xef\xbb\xbf",
    b"nan",
    b"-inf",
]
_TEXTS += [
    b"1e999",
    b"1e-999",
    b"9" * 400,
    b"'",
    b"#",
    b" ",
    b"\xc3",
    b"x" * 300,
    b"(",
    b"{",
    b"L",
    b"True",
    b"<f8",
    b"|O",
]


def seeds() -> dict[str, bytes]:
    """Files by name; the target is always "y"."""
    return {**_text_files(), **_arrow_files(), **_array_files(), **_dataset_files()}


def mutant(files: dict[str, bytes], number: int) -> tuple[str, bytes]:
    """The name and the content of a changed file."""
    rng = random.Random(number)
    name = rng.choice(sorted(files))
    content = files[name]
    if name.endswith(".npz") and rng.random() < 0.7:
        return name, _changed_archive(content, rng)
    if name.endswith(".kdata"):
        mutator = Mutator(lambda some, largest: _changed(some, rng)[:largest])
        return name, mutator.mutate(content, 2 * len(content), rng.randrange(1 << 62))
    return name, _changed(content, rng)


def _dataset_files() -> dict[str, bytes]:
    golden = Path(__file__).parents[1] / "golden"
    return {path.name: path.read_bytes() for path in sorted(golden.glob("*.kdata"))}


def _text_files() -> dict[str, bytes]:
    rows = [f'{k},{k / 7},{"NA" if k % 5 == 0 else -k},"a, {k % 3}"' for k in range(30)]
    text = "\n".join(["age,income,hours,y", *rows]) + "\n"
    return {
        "plain.csv": text.encode(),
        "ends.csv": text.replace("\n", "\r\n").replace("\r\n3,", "\r\n\r\n3,").encode(),
        "numbers.csv": "".join(f"{k},{k % 2}\n" for k in range(40)).encode(),
        "plain.tsv": text.replace(",", "\t").encode(),
    }


def _arrow_files() -> dict[str, bytes]:
    n = 50
    columns = {
        "age": pa.array(range(n), pa.int16()),
        "income": pa.array([None if k % 7 == 0 else k / 3 for k in range(n)], pa.float64()),
        "good": pa.array([k % 2 == 0 for k in range(n)]),
        "y": pa.array(["yes" if k % 3 else "perhaps" for k in range(n)]),
    }
    table = pa.table(columns)
    coded = pa.table({**columns, "y": columns["y"].dictionary_encode()})
    large = pa.table({**columns, "y": columns["y"].cast(pa.large_string())})
    views = pa.table({**columns, "y": columns["y"].cast(pa.string_view())})
    files = {}
    for name, kind in {"text": table, "coded": coded, "large": large, "views": views}.items():
        files[f"{name}.arrow"] = _ipc(pa.ipc.new_file, kind)
        files[f"{name}-stream.arrow"] = _ipc(pa.ipc.new_stream, kind)
    files["lz4.arrow"] = _ipc(pa.ipc.new_file, table, pa.ipc.IpcWriteOptions(compression="lz4"))
    files["zstd.arrow"] = _ipc(pa.ipc.new_stream, table, pa.ipc.IpcWriteOptions(compression="zstd"))
    forms = {"dictionary": {}, "plain": {"use_dictionary": False}, "delta": {"use_dictionary": False}}
    forms["delta"]["column_encoding"] = {"age": "DELTA_BINARY_PACKED", "y": "DELTA_BYTE_ARRAY"}
    for name, form in forms.items():
        for compression in ("none", "snappy"):
            out = io.BytesIO()
            pa.parquet.write_table(table, out, compression=compression, **form)
            files[f"{name}-{compression}.parquet"] = out.getvalue()
    return files


def _ipc(writer: Callable[..., pa.RecordBatchFileWriter], table: pa.Table, options: object = None) -> bytes:
    out = io.BytesIO()
    with writer(out, table.schema, options=options) as file:
        file.write_table(table, max_chunksize=20)
    return out.getvalue()


def _array_files() -> dict[str, bytes]:
    X = np.arange(60, dtype=np.float64).reshape(20, 3)
    y = np.array(["a", "b"] * 10)
    files = {}
    for name, array in {"rows": X, "columns": np.asfortranarray(X), "small": X.astype(np.int8)}.items():
        out = io.BytesIO()
        np.save(out, array)
        files[f"{name}.npy"] = out.getvalue()
    for name, save in {"plain": np.savez, "packed": np.savez_compressed}.items():
        out = io.BytesIO()
        save(out, X=X, y=y)
        files[f"{name}.npz"] = out.getvalue()
    for form in ("csr", "csc", "coo", "bsr", "dia"):
        out = io.BytesIO()
        sp.save_npz(out, sp.csr_array(X[:6] * (X[:6] % 2)).asformat(form), compressed=False)
        files[f"{form}.npz"] = out.getvalue()
    return files


def _changed_archive(content: bytes, rng: random.Random) -> bytes:
    """A zip file of which one member was changed, with the right checksum, lost, or stored twice."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    dice = rng.random()
    if dice < 0.05:
        del members[name]
    elif dice < 0.1:
        members[rng.choice(["X.npy", "y.npy", "data.npy", "../x.npy", "x"])] = members.pop(name)
    else:
        members[name] = _changed(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for member, body in members.items():
            archive.writestr(member, body)
    return out.getvalue()


def _changed(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, in one to four places."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        place = rng.randrange(len(changed) + 1)
        if rng.random() < 0.3:
            place -= place % 4
        rng.choice(_CHANGES)(changed, place, rng)
    return bytes(changed)


def _flip(content: bytearray, place: int, rng: random.Random) -> None:
    if place < len(content):
        content[place] ^= 1 << rng.randrange(8)


def _number(content: bytearray, place: int, rng: random.Random) -> None:
    size = rng.choice([1, 2, 4, 4, 8, 8])
    number = rng.choice(_NUMBERS) % (1 << 8 * size)
    content[place : place + size] = number.to_bytes(size, "little")


def _text(content: bytearray, place: int, rng: random.Random) -> None:
    content[place:place] = rng.choice(_TEXTS)


def _overwrite(content: bytearray, place: int, rng: random.Random) -> None:
    text = rng.choice(_TEXTS)
    content[place : place + len(text)] = text


def _cut(content: bytearray, place: int, rng: random.Random) -> None:
    del content[place : place + rng.choice([1, 2, 4, 8, 100, len(content)])]


def _repeat(content: bytearray, place: int, rng: random.Random) -> None:
    content[place:place] = content[place : place + rng.choice([1, 4, 8, 64, 1000])]


def _move(content: bytearray, place: int, rng: random.Random) -> None:
    size = rng.choice([1, 4, 8, 32])
    start = rng.randrange(len(content) + 1)
    content[place : place + size] = content[start : start + size]


_CHANGES = [_flip, _flip, _number, _number, _text, _overwrite, _cut, _repeat, _move]
