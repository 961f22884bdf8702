"""Model files: a safetensors container, objects as a tree of JSON, and the checks of loaded models."""
