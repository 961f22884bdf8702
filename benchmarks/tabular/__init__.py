"""Ordinary tables, nothing set by hand: ours against linear models, EBM and LightGBM. Writes docs/tabular.md."""
