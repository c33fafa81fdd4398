"""Number formats for messages and tables."""

import math

LARGEST_PLAIN, LEAST_PLAIN = 1e15, 1e-4  # beyond these a power of ten says more than digits
COMMAS = 1e4  # from here on


def brief(value: float, of: float | None = None) -> str:
    """Format a number with four digits, or with the decimals that ``of`` has at four digits.

    >>> brief(2996.71), brief(187.43, of=2996.71), brief(0.0123456), brief(1234567.8)
    ('2997', '187', '0.01235', '1,234,568')
    >>> brief(342513167.0), brief(103465.2, of=55.0), brief(3.5e-6, of=342513167.0)
    ('342,513,167', '103,465.20', '0')
    """
    size = abs(value if of is None else of)
    if of is not None and abs(value) < 1e-9 * size:
        return "0"
    if not LEAST_PLAIN < size < LARGEST_PLAIN:
        return f"{value:.4g}"
    return format_number(value, max(3 - math.floor(math.log10(size)), 0))


def format_number(value: float, decimals: int) -> str:
    """A number with so many decimals, and commas if it is large."""
    return f"{value:{',' if abs(value) >= COMMAS else ''}.{decimals}f}"


def seconds(value: float) -> str:
    """Seconds in a table.

    >>> seconds(0.00096), seconds(0.0512), seconds(41.3), seconds(1400.2)
    ('0.001', '0.051', '41', '1400')
    """
    return f"{value:.0f}" if value >= 10 else f"{max(value, 1e-3):.2g}"
