"""Exact leave-one-out: engines in memory."""
