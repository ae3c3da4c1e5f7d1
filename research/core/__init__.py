"""Records, settings, errors, messages and text parsing: the base that every other package may
import."""
