"""Data: the door, readers of files, row blocks, problems with known answers."""
