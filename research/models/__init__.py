"""Which model speaks: providers, roles, limits, deadlines, errors in words, and what it all cost.

Knows records and settings. Knows nothing of questions, prompts or evidence: whoever calls brings the
text and takes the text.
"""
