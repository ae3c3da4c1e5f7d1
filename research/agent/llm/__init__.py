"""The reasoner that calls chat models, and its prompts."""
