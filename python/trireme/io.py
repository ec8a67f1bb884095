"""Saved models."""

from trireme._core import SavedModel, load_model, save_model

__all__ = ["SavedModel", "load_model", "save_model"]
