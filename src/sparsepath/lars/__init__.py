"""Least angle regression."""
