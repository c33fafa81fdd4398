"""Exact leave-one-out: the model, its blocks of rows, and what to add or drop next."""
