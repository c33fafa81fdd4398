"""The selection path: best subset, error and coefficients of every size."""
