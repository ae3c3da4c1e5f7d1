"""Configuration files of the data folder: reading, and what their entries have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, ValidationError

OFF = "off"  # value of the setting of a file: none is read
ShortText = Annotated[str, Field(min_length=1, max_length=200)]


class InvalidEntry(NamedTuple):
    """An unusable entry of a configuration file and the reason."""

    name: str
    reason: str


def read_config(file: Path, *, is_required: bool) -> str | None:
    """Return the text of a configuration file; None if it is missing and not required.

    Raises:
        ValueError: The file cannot be read; the message names it and the reason.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        if is_required:
            raise ValueError(f"{file} is not there") from None
        return None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{file} is not UTF-8") from None


def first_problem(error: ValidationError) -> str:
    """Return the first problem of an entry as "field: message", without the value, which may be secret."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message
