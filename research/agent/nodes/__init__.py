"""The steps of a run, one module a step: plain functions from records to records.

They know the protocols of reasoners and sources, never which one they talk to."""
