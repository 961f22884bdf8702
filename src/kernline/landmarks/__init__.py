"""Landmark models: kernels between rows and landmarks, how landmarks are chosen and merged, and the Nyström map."""
