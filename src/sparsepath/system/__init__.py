"""Low-level modules: array types, files, JSON, threads, interrupts, machine settings."""
