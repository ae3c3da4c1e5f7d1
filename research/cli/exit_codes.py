"""Exit codes of the commands, and the exception that ends a command with one of them."""

from __future__ import annotations

EXIT_ANSWERED, EXIT_FAILED, EXIT_USAGE, EXIT_NOTHING_FOUND, EXIT_UNCHANGED, EXIT_STOPPED = 0, 1, 2, 3, 4, 130


class CommandError(Exception):
    """Error that ends the program with a message and an exit code."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)
