"""The command line as a program: ``sparsepath``, ``python -m sparsepath``."""

import sys


def program() -> int:
    """Run the command line; Ctrl-C while modules are imported ends as quietly as later."""
    try:
        from sparsepath.cli import main
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("Interrupted.", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(program())
