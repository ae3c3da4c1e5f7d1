"""Execution of runs: in this process, in worker processes, or on an Agent Server."""
