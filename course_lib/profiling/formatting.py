"""Format times and sizes in a unit that suits them."""

__all__ = ["format_bytes", "format_seconds"]


def format_seconds(seconds: float) -> str:
    """Format a time to three digits.

    Examples
    --------
    >>> [format_seconds(t) for t in (0.00123456, 2e-6, 75, 0.0009996, 1234)]
    ['1.23 ms', '2.00 µs', '75.0 s', '1.00 ms', '1234 s']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{_format_digits(seconds / size)} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def format_bytes(count: int) -> str:
    """Format a size to three digits, in powers of 1024.

    Examples
    --------
    >>> format_bytes(100), format_bytes(16384), format_bytes(3 * 2**20), format_bytes(1000 * 2**10)
    ('100 B', '16.0 KiB', '3.00 MiB', '1000 KiB')
    """
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= 0.9995 * size:
            return f"{_format_digits(count / size)} {unit}"
    return f"{count} B"


def _format_digits(value: float) -> str:
    """Format a number to three digits, or to all digits before its point.

    Examples
    --------
    >>> _format_digits(1.0), _format_digits(99.96), _format_digits(999.96), _format_digits(1234.5)
    ('1.00', '100', '1000', '1234')
    """
    return f"{value:#.3g}".rstrip(".") if value < 999.5 else f"{value:.0f}"
