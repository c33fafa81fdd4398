"""Exact cross-validation over any splits."""
