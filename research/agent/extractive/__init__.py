"""The reasoner that needs no key: it plans by rules and answers with verbatim quotes."""
