"""What stands behind an answer: which sources there are, and which number each one has.

Only ids of the registry become numbers. Knows records; knows nothing of how evidence was found.
"""
