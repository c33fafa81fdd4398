"""Below everything else: array types, files, JSON, threads, interrupts, settings of the machine."""
