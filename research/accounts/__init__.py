"""What belongs to a person: preferences, keys, usage, one export of everything, and its deletion."""
