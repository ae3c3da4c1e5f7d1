"""Places: points with names, in the right coordinates.

Knows records and settings; knows nothing of questions, of models or of the page that draws a map.
"""
