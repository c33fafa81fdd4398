"""Export of fitted models to Python, JavaScript, C, SQL, ONNX and JSON.

Every model is a formula with a few kinds of terms (``predictors.py``). Each language has a module
here that writes any formula, so a new method can be exported once it provides its formula.
"""

from sparsepath.models.export.skl2onnx import register_skl2onnx
from sparsepath.models.export.writing import FORMATS, export

__all__ = ["FORMATS", "export", "register_skl2onnx"]
