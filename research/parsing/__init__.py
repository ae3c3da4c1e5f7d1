"""Parsers of files from outside, run in child processes with limits (`pool`, `worker`)."""
