"""Regularised least squares on data that are read in passes: files, clusters."""
