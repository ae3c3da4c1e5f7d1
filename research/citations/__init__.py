"""Citations: the registry of evidence, the numbers in an answer, and the check of each sentence
against the passages that it cites."""
