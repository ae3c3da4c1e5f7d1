"""Sightline for other programs, over the Model Context Protocol.

Uses only the public names of `research`, which are loaded when a tool first needs them.
"""
