"""Fitted models for other languages: Python, JavaScript, C, SQL, ONNX, JSON.

Every model is a formula of a few parts (``predictors.py``), and every language has a module
here that writes any formula: a new method is exported by saying what its formula is.
"""

from sparsepath.models.export.skl2onnx import register_skl2onnx
from sparsepath.models.export.writing import FORMATS, export

__all__ = ["FORMATS", "export", "register_skl2onnx"]
