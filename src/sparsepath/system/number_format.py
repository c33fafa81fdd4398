"""Number formats for messages and tables."""

import math

LARGEST_PLAIN, LEAST_PLAIN = 1e7, 1e-4  # beyond these a power of ten says more than a row of digits


def brief(value: float, of: float | None = None) -> str:
    """Format a number with four digits, or with the decimals that ``of`` has at four digits.

    >>> brief(2996.71), brief(187.43, of=2996.71), brief(0.0123456), brief(1234567.8)
    ('2997', '187', '0.01235', '1234568')
    >>> brief(342513167.0), brief(59927470.0, of=342513167.0), brief(3.5e-6, of=342513167.0)
    ('3.425e+08', '5.993e+07', '0')
    """
    size = abs(value if of is None else of)
    if of is not None and abs(value) < 1e-9 * size:
        return "0"
    if not LEAST_PLAIN < size < LARGEST_PLAIN:
        return f"{value:.4g}"
    return f"{value:.{max(3 - math.floor(math.log10(size)), 0)}f}"
