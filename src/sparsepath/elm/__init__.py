"""Extreme learning machines: exact leave-one-out, and selection paths for nonlinear problems."""
