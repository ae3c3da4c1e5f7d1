"""The reasoner that asks a chat model, and its prompts."""
