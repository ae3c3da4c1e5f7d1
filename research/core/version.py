"""The program's version, as in CHANGELOG.md."""

VERSION = "0.23.0"
