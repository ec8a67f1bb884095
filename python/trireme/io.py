"""Saved models, and safetensors files."""

from trireme._core import (QuantizedLayer, QuantizedModel, SavedModel, load_model,
                           load_safetensors, safetensors_metadata, save_model, save_safetensors)

__all__ = ["QuantizedLayer", "QuantizedModel", "SavedModel", "load_model", "load_safetensors",
           "safetensors_metadata", "save_model", "save_safetensors"]
