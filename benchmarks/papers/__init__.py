"""The papers' tables and figures, on the available data: ``python -m benchmarks.papers pmsvm|pmsvm-lut|plame``.

Each page in docs/papers/ is written by its module, with the published numbers next to ours.
"""
