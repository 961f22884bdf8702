"""Damaged model files, and files of other kinds, raise an error that names the file."""

import hashlib
import json
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kernline

HEADERS = [
    b"",
    b"\x00" * 7,
    struct.pack("<Q", 1 << 60) + b"{}",
    struct.pack("<Q", 2) + b"{}",
    struct.pack("<Q", 100_000) + b"[" * 100_000,
    struct.pack("<Q", 4) + b"null",
    struct.pack("<Q", 18) + b'{"__metadata__":1}',
    b"PK\x03\x04" + b"\x00" * 100,
]


@pytest.mark.parametrize("content", HEADERS, ids=range(len(HEADERS)))
def test_other_files(content, tmp_path):
    (tmp_path / "model.kern").write_bytes(content)
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(tmp_path / "model.kern")


def lying(content, change):
    """The file with a changed header, with the right digest."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    change(header)
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header).encode()
    text = text.replace(b"0" * 64, hashlib.sha256(text).hexdigest().encode(), 1)
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


LIES = [
    lambda header: header["shapes_.weights"].update(shape=[1 << 40, 16, 3]),
    lambda header: header["shapes_.weights"].update(shape=[1 << 62, 1 << 62, 3]),
    lambda header: header["shapes_.weights"].update(shape=[-64, -16, 3]),
    lambda header: header["shapes_.weights"].update(shape=[64.0, 16, 3]),
    lambda header: header["shapes_.weights"].update(dtype="F64"),
    lambda header: header["shapes_.weights"].update(dtype="object"),
    lambda header: header["shapes_.weights"].update(data_offsets=[0, 1 << 50]),
    lambda header: header["shapes_.weights"].update(data_offsets=[-8, 16]),
    lambda header: header["shapes_.weights"].update(data_offsets="ab"),
    lambda header: header.update(more={"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}),
    lambda header: header.pop("shapes_.weights"),
    lambda header: header["__metadata__"].pop("crc32"),
    lambda header: header["__metadata__"].update(crc32="{}"),
    lambda header: header["__metadata__"].update(kernline="[]"),
]


@pytest.mark.parametrize("lie", LIES, ids=range(len(LIES)))
def test_headers_that_lie(lie, files, tmp_path):
    (tmp_path / "model.kern").write_bytes(lying(files["hats"], lie))
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(tmp_path / "model.kern")


def test_damage_is_found(files, tmp_path):
    content = bytearray(files["hats"])
    content[-5] ^= 1
    (tmp_path / "model.kern").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.kern.*checksum"):
        kernline.load(tmp_path / "model.kern")


@pytest.mark.parametrize("name", ["hats", "rank", "chi2 landmarks"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_and_missing_bytes_are_found(name, data, files, tmp_path):
    content = bytearray(files[name])
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4, unique=True)):
            content[place] ^= data.draw(st.integers(1, 255))
    (tmp_path / "model.kern").write_bytes(content)
    with pytest.raises(ValueError, match="not a model file"):
        kernline.load(tmp_path / "model.kern")
