"""The database that questions are put to in SQL."""
