"""Citations in any style of other people: their marks in a Markdown text and its own list of sources."""
