"""`python -m research`: the program of the terminal."""

import sys

from research.cli import run

if __name__ == "__main__":
    sys.exit(run())
