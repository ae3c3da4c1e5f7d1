"""Questions to a database: which statements may run, on which engine, within which limits."""
