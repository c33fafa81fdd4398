"""Models around models: columns that enter and leave as one."""
