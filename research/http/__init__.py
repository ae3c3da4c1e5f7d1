"""Outgoing HTTP: address checks, bounded bodies, pacing, retries and failover."""
