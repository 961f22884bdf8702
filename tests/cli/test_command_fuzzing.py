"""A few command lines of the fuzzer (`make fuzz-commands`)."""

import subprocess
import sys
from pathlib import Path

FUZZER = Path(__file__).parents[1] / "fuzz" / "commands.py"


def test_some_command_lines():
    done = subprocess.run([sys.executable, FUZZER, "--lines", "15"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "15 command lines, 0 of which broke the rule\n"), done.stderr
