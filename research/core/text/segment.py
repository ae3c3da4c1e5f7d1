"""Chinese word segmentation by rjieba's dictionary.

The dictionary takes a fifth of a second to load and is loaded at the first call.
"""

from __future__ import annotations


def cut(text: str, hmm: bool = True) -> list[str]:
    """Split a text into words; with `hmm`, words missing in the dictionary are guessed."""
    import rjieba

    return rjieba.cut(text, hmm)


def cut_for_search(text: str, hmm: bool = True) -> list[str]:
    """Split like `cut`, with the shorter words inside long ones before them."""
    import rjieba

    return rjieba.cut_for_search(text, hmm)


def tag(text: str, hmm: bool = True) -> list[tuple[str, str]]:
    """Split a text into words, each with its part-of-speech tag (ICTCLAS)."""
    import rjieba

    return rjieba.tag(text, hmm)
