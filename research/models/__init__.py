"""Chat models: providers, roles, limits, deadlines, errors and prices."""
