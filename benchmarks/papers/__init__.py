"""The papers' tables and figures, on the data that can be had: ``python -m benchmarks.papers pmsvm|pmsvm-lut|plame``.

Each page in docs/papers/ is written by its module, with the numbers the paper prints beside ours.
"""
