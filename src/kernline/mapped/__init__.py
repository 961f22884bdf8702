"""Data that is encoded once, and may be larger than memory: `Dataset` and its files."""
