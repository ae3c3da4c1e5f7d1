"""The steps of a run, one module each: plain functions from records to records.

They depend on the protocols of reasoners and sources, not on their implementations.
"""
