"""How strangers are talked to: what the sources that ask services over HTTP have in common.

Knows text that comes from outside, addresses that may be asked, bodies of bounded size, the ways in
which a conversation fails, and Tavily's wire, which two sources speak. Knows no source, no evidence
and no run.
"""
