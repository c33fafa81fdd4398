"""Columns of a table: types, and the encoding of text, dates and missing values."""
