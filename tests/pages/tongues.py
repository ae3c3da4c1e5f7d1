"""Whether all that a page says is in the page's language."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from research import EXPORT_FORMATS

# What holds words from outside: answers, rows, names of files, questions, drawings of data.
OUTSIDE = (
    ".sl-answer",
    "code, pre, kbd, samp, canvas, svg, iframe, textarea, script, style, noscript",
    '[role="grid"]',
    '[data-testid="stDataFrameGlideDataEditor"]',
    '[data-testid="stVegaLiteChart"]',
    '[data-testid="stChatMessageContent"]',
    '[data-testid="stFileUploaderFile"]',
    '[data-testid="stText"]',
    'a[href*="run="]',
    ".leaflet-marker-icon",
    '[class*="st-key-step_round"]',  # queries, and titles of what they found
    ".st-key-places_compared",
    ".sl-places, .st-key-next",  # names of places, and questions that are made of what was found
    "[data-outside]",
    '[class*="st-key-outside"]',
    '[data-testid="stIconMaterial"], [translate="no"]',  # their letters are drawn as pictures
)
ATTRIBUTES = ("aria-label", "title", "placeholder", "alt", "aria-description")
# Names and signs that are the same in every language.
_LABELS = {text for item in EXPORT_FORMATS for text in (item.label.zh, (item.short_label or item.label).zh)}
_FORMATS = "|".join(sorted({name for label in _LABELS for name in re.findall("[A-Za-z]{2,}", label)}))
_SUFFIXES = "|".join(sorted({item.suffix.rpartition(".")[2] for item in EXPORT_FORMATS}))
SAME = re.compile(
    rf"""
    https?://\S+ | (?<![\w/])/[\w./-]+ | [\w.-]+\.(?:com|org|net|cn|gov|edu|example|io)\b\S*
    | [\w()-]+\.(?:{_SUFFIXES}|htm|db|txt|toml|py)\b
    | \.[a-z]{{2,8}}\b                                   # endings of files
    | \b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b                # settings
    | \b[a-z_]+:[\w./-]+ | \b(?:gemini|gpt|qwen|deepseek)[\w.-]*   # models
    | \b(?:Sightline|Google|Gemini|Tavily|SearXNG|Wikipedia|GDELT|Amap|OpenStreetMap|OSM|Leaflet
      |OpenAI|Ollama|DeepSeek|Qwen|PostgreSQL|SQLite|Streamlit|LangSmith|LangGraph|Authlib
      |{_FORMATS}|SQL|RSS|Atom|WGS|GCJ|URL|API|OCR|GPS|Ctrl|Enter|Esc|Tab|Shift|Cmd|NULL|SELECT|UTC|English|tokens?)\b
    | \b(?:s|ms|min|h|m|km|B|kB|MB|GB|US)\b            # units
    """,
    re.VERBOSE,
)
HAN = re.compile("[\u4e00-\u9fff]")
LATIN = re.compile("[A-Za-z]{2,}")
SWITCH = ("中文", "English")  # each language is named in itself

_PIECES = """
([outside, attributes]) => {
  const found = new Set();
  const blocks = "p, li, button, a, label, h1, h2, h3, h4, h5, h6, td, th, summary, dt, dd, figcaption";
  const foreign = (element) => {
    for (let at = element; at; at = at.getRootNode().host) if (at.closest(outside)) return true;
    return false;
  };
  const clean = (text) => text.replace(/\\s+/g, " ").trim();
  const words = (block) => {
    const copy = block.cloneNode(true);
    copy.querySelectorAll(outside).forEach((part) => part.remove());
    return clean(copy.textContent);
  };
  const visit = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) visit(element.shadowRoot);
      if (!element.checkVisibility({ visibilityProperty: true })) continue;
      for (const name of attributes) {
        const own = element.getAttribute(name);
        if (own && own.trim() && (name === "placeholder" || !foreign(element))) found.add(`${name}: ${clean(own)}`);
      }
      if (foreign(element)) continue;
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (own) found.add(words(element.closest(blocks) ?? element));
    }
  };
  visit(document.body);
  return [...found];
}
"""


def pieces(page: Any) -> list[str]:
    """Every piece of text that a page shows or tells a screen reader, without what is from outside."""
    found: list[str] = page.evaluate(_PIECES, [", ".join(OUTSIDE), list(ATTRIBUTES)])
    return [piece for piece in found if piece]


def foreign(texts: Iterable[str], lang: str, known: Collection[str] = ()) -> list[str]:
    """The texts that are not in the language; `known` are words from outside, such as questions."""
    wrong = []
    for text in texts:
        left = text
        for word in (*SWITCH, *sorted(known, key=len, reverse=True)):
            left = left.replace(word, " ")
        if lang == "en" and HAN.search(left):
            wrong.append(text)
        if lang == "zh" and not HAN.search(left) and LATIN.search(SAME.sub(" ", _bare(left))):
            wrong.append(text)
    return wrong


def untranslated(page: Any, lang: str, known: Collection[str] = ()) -> list[str]:
    """What a page says in another language than its own (`zh` or `en`); empty if nothing."""
    return foreign(pieces(page), lang, known)


def _bare(piece: str) -> str:
    """A piece without the name of the attribute that it was found in."""
    return re.sub(rf"^(?:{'|'.join(ATTRIBUTES)}): ", "", piece)
