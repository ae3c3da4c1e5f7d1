"""Watched topics, brought up to date on request."""
