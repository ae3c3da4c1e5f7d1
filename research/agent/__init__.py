"""The graph of a run: its nodes, and the reasoners that plan, reflect and write."""
