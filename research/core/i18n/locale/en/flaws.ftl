### What is said of each flaw of a report that others wrote: what it is about, and what that clashes with.

flaw-dangling = { $what } is cited, but no source has that name or number.
flaw-no-list = { $what } is cited, but the report has no list of sources.
flaw-unused = Source { $what } is never cited.
flaw-duplicate = { $what } is defined twice (first in line { $other }).
flaw-same-url = Sources { $what } and { $other } have the same address.
flaw-order = Number { $what } comes after { $other }: out of order.
flaw-gap = Source numbers are missing: { $what }.
flaw-placeholder = { $what } is a placeholder, not a source.
flaw-no-address = Source { $what } has no address.
flaw-bad-address = Not a usable web address: { $what }
flaw-mismatch = The link of { $what } does not match the listed address: { $other }
flaw-unlisted = { $what } is cited but not in the list of sources.
flaw-uncited = This paragraph gives figures but cites nothing.
flaw-uncited-list = Sources are listed, but the text cites nothing.
flaw-broken-link = This Markdown link is broken.
flaw-tracking = This address has tracking parameters or redirects: { $what }
flaw-bare-address = A bare address in the text: { $what }
flaw-in-heading = A heading cites { $what }.
flaw-leading = { $what } comes before any text that it could support.
flaw-inconsistent = The numbers in the export do not match its sources: { $what }
