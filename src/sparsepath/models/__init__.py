"""Fitted models as plain data: formulas, model files, export to other languages."""
