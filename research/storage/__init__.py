"""Runs, events, searches, evidence and answers in the tables of a SQLite file or of PostgreSQL."""
