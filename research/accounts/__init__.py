"""The data of an owner: preferences, keys, usage, data export and deletion."""
