"""The analyst's own documents: files become text, text becomes passages that can be found and quoted.

Knows files and the index; knows nothing of questions, plans or runs.
"""
