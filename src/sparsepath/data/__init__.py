"""Data: validation, file readers, row blocks, simulated problems."""
