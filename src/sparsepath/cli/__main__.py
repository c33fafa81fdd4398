"""Run the command line as ``python -m sparsepath.cli``."""

import sys

from sparsepath.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
