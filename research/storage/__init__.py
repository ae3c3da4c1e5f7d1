"""Runs, events, searches, evidence and answers in a SQLite file or a PostgreSQL database."""
