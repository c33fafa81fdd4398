"""Notes and errors, for people: on stderr, wrapped to the width of a terminal."""

import shutil
import sys
import textwrap


def say(message: str) -> None:
    """Print one message; lines stay whole if nobody looks at a terminal."""
    if sys.stderr.isatty():
        width = max(shutil.get_terminal_size().columns, 20)
        message = textwrap.fill(message, width, break_on_hyphens=False, break_long_words=False)
    print(message, file=sys.stderr, flush=True)
