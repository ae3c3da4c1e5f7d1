"""`python -m research`: the command line program."""

import sys

from research.cli import run

if __name__ == "__main__":
    sys.exit(run())
