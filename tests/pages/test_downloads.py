"""What can be taken away from a run says how it cites."""

from __future__ import annotations

from pages.run.downloads import formats
from tests.report.test_markdown import numbered, report


def test_markdown_is_offered_with_links_and_with_footnotes() -> None:
    made = report("Some words")
    offered = {one.kind: one for one in formats(made, numbered(made))}
    links, notes = offered["md"], offered["notes"]
    assert (links.group, notes.group) == ("first", "report")
    assert r"[\[1\]](#s1)" in str(links.make()) and '<a id="s1">' in str(links.make())
    assert "[^1]: " in str(notes.make())
    assert links.words != notes.words and links.suffix != notes.suffix
