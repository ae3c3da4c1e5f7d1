"""News: dated items from any feed or search, grouped into stories, and what the stories say.

Everything here is pure: text and records in, records out. It knows nothing of who fetched an item
(a search service, a feed), of models, of the network, of the clock or of the page that draws a
table. `items` is the noun, `dates` reads when it was published, `stories` groups, `timeline`,
`figures`, `changes` and `sentiment` tell about the groups.
"""
