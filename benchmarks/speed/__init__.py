"""Kernline against its peers, one line of the table a measurement: ``python -m benchmarks.speed [names]``."""
