"""Records, settings, errors, messages and text parsing: what every other package may import."""
