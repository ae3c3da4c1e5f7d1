"""News: how it is looked for, and what items say together.

`tools` is one table of ways to search, which `tavily`, `feeds` and `gdelt` serve. `dates` reads when
an item was published, `stories` groups items, `timeline`, `figures`, `changes` and `sentiment` tell
about the groups. Knows records and providers of news; no evidence, no model, no run and no page.
"""
