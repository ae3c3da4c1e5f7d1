"""Evidence registry, citation numbers, and the check of each sentence against its cited
passages."""
