"""Records, settings, errors, texts and the reading of text: what every other package may import."""
