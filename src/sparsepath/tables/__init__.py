"""Columns of a table: their types, how text, dates and gaps become numbers."""
