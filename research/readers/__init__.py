"""Files from outside, turned into text and tables in child processes with limits."""
