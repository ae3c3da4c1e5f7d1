"""Questions to a database of scenic areas, or to one of the analyst's own: read-only by construction."""
