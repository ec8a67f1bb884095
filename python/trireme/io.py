"""Saved models, and safetensors files."""

from trireme._core import (SavedModel, load_model, load_safetensors, safetensors_metadata,
                           save_model, save_safetensors)

__all__ = ["SavedModel", "load_model", "load_safetensors", "safetensors_metadata", "save_model",
           "save_safetensors"]
