"""The version of the program, as CHANGELOG.md has it."""

VERSION = "0.23.0"
