"""Chinese word segmentation by rjieba's dictionary. The functions have the names of jieba's.

The dictionary takes a fifth of a second to load and is loaded at the first call.
"""

from __future__ import annotations


def cut(text: str, hmm: bool = True) -> list[str]:
    """Split a text into words. With `hmm`, words missing in the dictionary are guessed (by a hidden
    Markov model); otherwise they become single characters."""
    import rjieba

    return rjieba.cut(text, hmm)


def cut_for_search(text: str) -> list[str]:
    """Split into words of the dictionary, with the shorter words inside long ones before them."""
    import rjieba

    return rjieba.cut_for_search(text, False)


def tag(text: str) -> list[tuple[str, str]]:
    """Split a text into words, guessing those that the dictionary lacks. Pair each with its
    part-of-speech tag (ICTCLAS)."""
    import rjieba

    return rjieba.tag(text, True)
