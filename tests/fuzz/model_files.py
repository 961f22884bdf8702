"""The fuzzer's target for model files, by atheris: `make fuzz`. model_use.py says what must hold, model_changes.py how
files are changed. The core is built with AddressSanitizer and UBSan, and the fuzzer sees what it covers too.
"""

import ctypes
import os
import sys
import tempfile
import warnings

import atheris
import numpy as np

with atheris.instrument_imports(include=["kernline"]):
    from model_changes import Mutator
    from model_use import load_and_use

    from kernline.model_files import files as model_files  # noqa: F401  otherwise imported when it is first used


def test_one_input(content: bytes) -> None:
    """Load the content as a file, and use it."""
    with open(PATH, "wb") as file:
        file.write(content)
    load_and_use(PATH)


def mutate_bytes(content: bytes, largest: int) -> bytes:
    """libFuzzer's own change of bytes; atheris.Mutate knows only the libFuzzer that it brings itself."""
    room = ctypes.create_string_buffer(content, max(largest, len(content), 1))
    size = ctypes.CDLL(None).LLVMFuzzerMutate(room, ctypes.c_size_t(len(content)), ctypes.c_size_t(max(largest, 1)))
    return room.raw[:size]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        PATH = os.path.join(folder, "model.kern")
        mutator = Mutator(mutate_bytes)
        atheris.Setup(sys.argv, test_one_input, custom_mutator=mutator.mutate, custom_crossover=mutator.cross)
        atheris.Fuzz()
