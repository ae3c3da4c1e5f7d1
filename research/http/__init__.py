"""Outgoing HTTP: address checks, size limits, rate limits and failover; and limits on incoming connections."""
