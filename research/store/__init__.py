"""What lasts: runs, events, searches, evidence and answers in tables, in a SQLite file or on PostgreSQL.

Knows nothing of how runs are worked on, and nothing of pages.
"""
