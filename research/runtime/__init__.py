"""How runs execute: in this process, in worker processes, or on an Agent Server."""
