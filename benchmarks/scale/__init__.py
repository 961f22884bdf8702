"""Data larger than memory: python -m benchmarks.scale."""
