"""News: how it is looked for. Knows providers of news, tools and dates; no evidence and no run."""
