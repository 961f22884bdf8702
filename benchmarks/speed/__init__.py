"""Kernline against its peers, one table line per measurement: ``python -m benchmarks.speed [names]``."""
