"""What happens to a question, stage by stage: plain functions from records to records.

A stage knows the protocols of reasoners and sources, never which one it talks to, and nothing of
the graph that calls it.
"""
