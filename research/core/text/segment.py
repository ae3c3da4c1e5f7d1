"""Chinese words, by rjieba's dictionary.

The dictionary takes a fifth of a second to read, and is read with the first text that is cut.
"""

from __future__ import annotations


def cut(text: str, hmm: bool = True) -> list[str]:
    """The words of a text; with `hmm`, words that the dictionary does not have are guessed."""
    import rjieba

    return rjieba.cut(text, hmm)


def cut_for_search(text: str, hmm: bool = True) -> list[str]:
    """As `cut`, with the shorter words inside of long ones before them."""
    import rjieba

    return rjieba.cut_for_search(text, hmm)


def tag(text: str, hmm: bool = True) -> list[tuple[str, str]]:
    """The words of a text, each with its part of speech as ictclas names it."""
    import rjieba

    return rjieba.tag(text, hmm)
