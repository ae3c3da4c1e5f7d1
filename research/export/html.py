"""A report as one HTML file without scripts and without external resources.

Drawn from the tree of `research.export.document`, so it has the content of the Markdown. Additions
have the class `more`: a table of contents, the cited passages, links back to the citations, a sketch map if
there is one, and with `ExportOptions.export_pages` pictures of the pages of cited documents. All text is escaped, and links are http or https.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import takewhile
from typing import Any
from urllib.parse import quote

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer, CitedSource
from research.citations.support import AnswerSupport, CheckedSentence, check_support
from research.core.document_names import page_unit
from research.core.page_views import IMAGE_TYPE, CitedText, MissingPage, PageImage
from research.core.records import Evidence, Language, Passage, Report
from research.core.text.control_chars import replace_surrogates
from research.core.text.tokenizer import detect_language
from research.core.urls import canonical_url
from research.export.document import ReportDocument, build_document, has_tag, is_right_to_left, plain_text
from research.export.font_families import font_families
from research.export.formula_tree import escape_html, formula_mathml
from research.export.options import DEFAULT_OPTIONS, ExportOptions, listed_sources
from research.export.report_texts import report_translator
from research.export.sketch_map import places_on_map, sketch_svg

_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
_PLAIN_TAGS = {"ul", "tr", "em", "strong", "s", "code"}
_LANGUAGE_CODES: dict[Language, str] = {"en": "en", "zh": "zh-CN"}
_ALIGNMENTS = {"left", "center", "right"}
_MAX_WHOLE_FRAGMENT_CHARS = 80  # a longer text is identified by its two ends
_UNREMARKABLE_REASONS = {"no document", "no pages"}  # of sources and formats without pages
_FRAGMENT_END_WORDS, _FRAGMENT_END_CHARS = 6, 16  # size of those ends

_CSS = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5a6475; --line: #d8dde5; --paper: #fff;
  --tint: #f4f6f9; --link: #0b57b7; --mark: #fff1b8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #a2acbc; --line: #39414f;
  --paper: #14181f; --tint: #1d232d; --link: #8ab8ff; --mark: #5a4a10; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 1.5rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font-size: 1rem; line-height: 1.65; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.3; } h2 { font-size: 1.3rem; margin-top: 2.2em;
  border-bottom: 1px solid var(--line); } h3 { font-size: 1.1rem; margin-top: 1.6em; }
a { color: var(--link); unicode-bidi: isolate; }
sup { line-height: 0; white-space: nowrap; } sup a { text-decoration: none; padding: 0 .1em; }
:target { background: var(--mark); }
blockquote { margin: .8em 0; padding: .1em 1em; border-left: 3px solid var(--line); color: var(--soft); }
pre { background: var(--tint); padding: .8em 1em; overflow-x: auto; }
code { background: var(--tint); font-family: ui-monospace, Consolas, "Noto Sans Mono CJK SC", monospace; }
math { font-size: 1.08em; } math[display="block"] { margin: 1em 0; overflow-x: auto; }
code.math.display { display: block; margin: 1em 0; overflow-x: auto; white-space: pre-wrap; }
.wide { overflow-x: auto; margin: 1em 0; }
table { border-collapse: collapse; font-size: .92em; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .35em .6em; text-align: start; vertical-align: top; }
th { background: var(--tint); }
nav { background: var(--tint); padding: .6em 1.2em; font-size: .92em; }
nav ul { list-style: none; margin: .4em 0; padding: 0; } nav .l3 { padding-left: 1.4em; }
details { margin: .3em 0; font-size: .92em; } summary { cursor: pointer; color: var(--soft); }
details blockquote { white-space: pre-line; } mark { background: var(--mark); color: inherit; }
img.page { height: auto; border: 1px solid var(--line); } figcaption { color: var(--soft); }
.back { color: var(--soft); font-size: .85em; } figure { margin: 1em 0; } img { max-width: 100%; }
@page { margin: 18mm 16mm; }
@media print {
  :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --tint: #f4f4f4; --link: #000;
    --mark: #eee; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  h1, h2, h3, h4 { break-after: avoid; } tr, figure, li { break-inside: avoid; }
  thead { display: table-header-group; } .wide { overflow: visible; }
  p { orphans: 3; widows: 3; } nav { display: none; }
  a[href^="http"]::after { content: " (" attr(href) ")"; font-size: .8em; color: var(--soft); }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
_CSS += "".join(
    f":is(body, [lang]):lang({name}) {{ font-family: {font_families(name)}; }}\n" for name in _LANGUAGE_CODES
)


def report_html(report: Report, cited: CitedAnswer | None, options: ExportOptions = DEFAULT_OPTIONS) -> str:
    """Return the whole report as an HTML document, with a sketch map of its places, if there are any."""
    answer_support = check_support(cited) if cited else AnswerSupport()
    document = build_document(report, cited, options, answer_support=answer_support)
    numbered_places = places_on_map(report, cited)
    places, numbers = [place for _, place in numbered_places], [number for number, _ in numbered_places]
    sketch = sketch_svg(places, document.language, numbers=numbers)
    return _HTMLWriter(document, listed_sources(cited, options), answer_support, sketch, options).render()


class _HTMLWriter:
    """Renders a document as HTML. `_render_block` calls the method named after the tag of a node, such as `_p`."""

    def __init__(
        self,
        document: ReportDocument,
        sources: Sequence[CitedSource],
        answer_support: AnswerSupport,
        map_svg: str,
        options: ExportOptions,
    ) -> None:
        self._document = document
        self._translate = report_translator(document.language)
        self._sources = sources
        self._sentences_by_passage: dict[tuple[str, str], list[CheckedSentence]] = {}  # by source and passage
        for sentence in answer_support.sentences:
            self._sentences_by_passage.setdefault((sentence.evidence, sentence.passage), []).append(sentence)
        self._map_svg = map_svg
        self._page_viewer = options.page_viewer
        self._pages_left = self._max_pages = options.export_pages
        self._citation_counts: Counter[int] = Counter()  # how often each source was cited so far

    def render(self) -> str:
        """Return the document as a complete HTML page."""
        document = self._document
        title, *rest = (self._render_block(node) for node in document.nodes)
        body = "\n".join([title, self._render_contents(), *rest])
        return (
            f'<!DOCTYPE html>\n<html lang="{_LANGUAGE_CODES[document.language]}">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_SECURITY_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n'
            '<meta name="generator" content="Sightline">\n'
            f"<title>{escape_html(document.title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n"
            f"<main>\n{body}\n</main>\n</body>\n</html>\n"
        )

    def _render_contents(self) -> str:
        heads: list[Any] = [node for node in self._document.nodes if has_tag(node, "h")]
        lines = "\n".join(
            f'<li class="l{head["level"]}"><a href="#{head["id"]}">{escape_html(_heading_text(head))}</a></li>'
            for head in heads
            if head["level"] in (2, 3)
        )
        name = self._translate("contents")
        return f'<nav class="more" aria-label="{name}"><b>{name}</b>\n<ul>\n{lines}\n</ul></nav>'

    # Nodes

    def _render_nodes(self, nodes: Iterable[Node]) -> str:
        return "".join(self._render_node(node) for node in nodes)

    def _render_node(self, node: Node) -> str:
        return escape_html(node) if isinstance(node, str) else self._render_block(node)

    def _render_block(self, node: Any) -> str:
        kind = node["t"] if isinstance(node, dict) else ""
        if kind in _PLAIN_TAGS:
            return f"<{kind}>{self._render_nodes(node['c'])}</{kind}>"
        draw = getattr(self, f"_{kind}", None)
        return draw(node) if kind and draw else self._render_nodes([node] if not kind else node.get("c", ()))

    def _language_attribute(self, text: str) -> str:
        """Return a `lang` attribute for text in another language than that of the report."""
        language = detect_language(text)
        foreign = language != self._document.language and any(letter.isalpha() for letter in text)
        return f' lang="{_LANGUAGE_CODES[language]}"' if foreign else ""

    def _p(self, node: dict[str, Any]) -> str:
        attributes = self._language_attribute(plain_text(node["c"])) + _direction_attribute(node["c"])
        return f"<p{attributes}>{self._render_nodes(node['c'])}</p>"

    def _li(self, node: dict[str, Any]) -> str:
        return f"<li{_direction_attribute(node['c'])}>{self._render_nodes(node['c'])}</li>"

    def _blockquote(self, node: dict[str, Any]) -> str:
        inner = self._render_nodes(node["c"])
        return f"<blockquote{self._language_attribute(plain_text(node['c']))}>{inner}</blockquote>"

    def _h(self, node: dict[str, Any]) -> str:
        name = f"h{min(node['level'], 6)}"
        below = self._render_map() if plain_text(node["c"]) == self._translate("places") else ""
        attributes = f' id="{node["id"]}"' if "id" in node else ""
        attributes += _direction_attribute(node["c"])
        return f"<{name}{attributes}>{self._render_nodes(node['c'])}</{name}>{below}"

    def _ol(self, node: dict[str, Any]) -> str:
        if node.get("role") == "sources":
            entries = (self._render_source(at, item) for at, item in enumerate(node["c"], 1))
            return f"<ol>{''.join(entries)}</ol>"
        start = f' start="{int(node["start"])}"' if "start" in node else ""
        return f"<ol{start}>{self._render_nodes(node['c'])}</ol>"

    def _table(self, node: dict[str, Any]) -> str:
        rows = node["c"]
        head = [*takewhile(lambda row: all(cell["t"] == "th" for cell in row["c"]), rows)]
        parts = (("thead", head), ("tbody", rows[len(head) :]))
        drawn = "".join(f"<{name}>{self._render_nodes(group)}</{name}>" for name, group in parts if group)
        return f'<div class="wide"><table>{drawn}</table></div>'

    def _td(self, node: dict[str, Any]) -> str:
        tag, align = node["t"], node.get("align", "")
        style = f' style="text-align:{align}"' if align in _ALIGNMENTS else ""
        style += _direction_attribute(node["c"])
        return f"<{tag}{style}>{self._render_nodes(node['c'])}</{tag}>"

    _th = _td

    def _pre(self, node: dict[str, Any]) -> str:
        named = node.get("language", "")
        language = f' class="language-{escape_html(named)}"' if named else ""
        return f"<pre><code{language}>{escape_html(plain_text(node['c']))}</code></pre>"

    def _math(self, node: dict[str, Any]) -> str:
        """Render a formula as MathML, or as its source if it cannot be read."""
        tex, display = node["c"][0], bool(node["display"])
        drawn = formula_mathml(tex, is_display=display)
        if drawn:
            return drawn
        mode = "display" if display else "inline"
        return f'<code class="math {mode}">{escape_html(tex)}</code>'

    def _hr(self, _: dict[str, Any]) -> str:
        return "<hr>"

    def _br(self, _: dict[str, Any]) -> str:
        return "<br>"

    def _a(self, node: dict[str, Any]) -> str:
        inner = self._render_nodes(node["c"])
        address = canonical_url(node["href"])
        return _anchor(address, inner, self._language_attribute(plain_text(node["c"]))) if address else inner

    def _cite(self, node: dict[str, Any]) -> str:
        number = int(node["number"])
        self._citation_counts[number] += 1
        anchor_id = f"cite-{number}-{self._citation_counts[number]}"
        if number > len(self._sources):
            return f'<sup id="{anchor_id}">[{number}]</sup>'
        return f'<sup id="{anchor_id}"><a href="#source-{number}">[{number}]</a></sup>'

    # Sources

    def _render_source(self, number: int, node: Any) -> str:
        source = self._sources[number - 1]
        more = f"{self._render_backlinks(number)}{self._render_passages(source)}"
        return f'<li id="source-{number}">{self._render_nodes(node["c"])}{more}</li>'

    def _render_backlinks(self, number: int) -> str:
        """Link back to the citations before the list of sources."""
        links = (f'<a href="#cite-{number}-{at}">{at}</a>' for at in range(1, self._citation_counts[number] + 1))
        return f'<div class="more back">{self._translate("cited in")} {" ".join(links)}</div>'

    def _render_passages(self, source: CitedSource) -> str:
        passages = "".join(self._render_passage(source.evidence, p) for p in source.evidence.passages)
        title = f"{self._translate('cited passages')} ({len(source.evidence.passages)})"
        pages = "".join(self._render_pages(source.evidence))
        return f'<details class="more"><summary>{title}</summary>{passages}{pages}</details>'

    def _render_pages(self, evidence: Evidence) -> Iterator[str]:
        """Show the pages of the cited passages with their words marked, as far as the limit allows."""
        if self._page_viewer is None or self._max_pages == 0 or page_unit(evidence.locator) != "page":
            return  # slides and cells are not drawn
        texts: dict[int, list[CitedText]] = {}
        for passage in evidence.passages:
            if passage.page is not None:
                text = CitedText(passage, self._supporting_spans(evidence, passage))
                texts.setdefault(passage.page, []).append(text)
        for number, page_texts in sorted(texts.items()):
            if self._pages_left == 0:
                yield f"<p>{self._translate('pages left out', page=number, limit=self._max_pages)}</p>"
                return
            view = self._page_viewer(evidence, page_texts, paint_marks=True)
            if isinstance(view, PageImage):
                self._pages_left -= 1
                yield self._render_page(view)
            elif isinstance(view, MissingPage) and view.reason not in _UNREMARKABLE_REASONS:
                reason = self._translate(f"no page.{view.reason}")
                yield f"<p>{self._page_label(evidence, number)}: {reason}</p>"

    def _render_page(self, page: PageImage) -> str:
        caption = " · ".join(
            (self._translate("page", page=page.page, unit="page"), self._translate(f"page match.{page.match}"))
        )
        alternative = self._translate("page picture", page=page.page)
        data = b64encode(page.data).decode()
        return (
            f'<figure><img class="page" alt="{escape(alternative)}" width="{page.width}" height="{page.height}" '
            f'src="data:{IMAGE_TYPE};base64,{data}"><figcaption>{caption}</figcaption></figure>'
        )

    def _page_label(self, evidence: Evidence, page: int | str) -> str:
        return self._translate("page", page=page, unit=page_unit(evidence.locator))

    def _render_passage(self, evidence: Evidence, passage: Passage) -> str:
        spots = self._supporting_spans(evidence, passage)
        facts = [
            escape_html(passage.heading),
            "" if passage.page is None else self._page_label(evidence, passage.page_range),
            self._translate("grounding") if passage.origin == "grounding" else "",
            self._translate("ocr") if passage.ocr else "",
            self._link_to_passage(evidence, passage, spots),
        ]
        details = " · ".join(fact for fact in facts if fact)
        language = self._language_attribute(passage.text)
        return f"<blockquote{language}>{_highlight(passage.text, spots)}</blockquote>" + (
            f"<p>{details}</p>" if details else ""
        )

    def _supporting_spans(self, evidence: Evidence, passage: Passage) -> list[tuple[int, int]]:
        """Return the spans of a passage that support sentences, in order and without overlaps."""
        spans = sorted(
            (max(0, sentence.start), min(sentence.end, len(passage.text)))
            for sentence in self._sentences_by_passage.get((evidence.id, passage.id), ())
        )
        out: list[tuple[int, int]] = []
        for start, end in spans:
            begin = max(start, out[-1][1]) if out else start
            if begin < end:
                out.append((begin, end))
        return out

    def _link_to_passage(self, evidence: Evidence, passage: Passage, spans: Sequence[tuple[int, int]]) -> str:
        """Link to the words on their page, if the passage is the page's own text."""
        address = canonical_url(evidence.url)
        if not address or evidence.url_expires or passage.origin != "source":
            return ""
        start, end = spans[0] if spans else (0, len(passage.text))
        fragment = text_fragment(passage.text[start:end])
        if not fragment:
            return ""
        return _anchor(address + ("" if "#" in address else "#") + fragment, self._translate("see there"))

    def _render_map(self) -> str:
        if not self._map_svg:
            return ""
        data = b64encode(self._map_svg.encode()).decode()
        name = self._translate("sketch")
        return f'<figure class="more"><img alt="{name}" src="data:image/svg+xml;base64,{data}"></figure>'


def text_fragment(text: str) -> str:
    """Return a URL fragment that highlights the text on its page, "" for empty text.

    A text directive: https://wicg.github.io/scroll-to-text-fragment/
    """
    lines = [" ".join(line.split()) for line in replace_surrogates(text).splitlines() if line.strip()]
    if not lines:
        return ""
    if len(lines) == 1 and len(lines[0]) <= _MAX_WHOLE_FRAGMENT_CHARS:
        return f":~:text={_encode_fragment(lines[0])}"
    return f":~:text={_encode_fragment(_line_end(lines[0], 1))},{_encode_fragment(_line_end(lines[-1], -1))}"


def _line_end(line: str, direction: int) -> str:
    """Return the first or last words of a line, or characters if words are few, as in Chinese."""
    words = line.split(" ")
    if len(words) > 2 * _FRAGMENT_END_WORDS:
        return " ".join(words[:_FRAGMENT_END_WORDS] if direction > 0 else words[-_FRAGMENT_END_WORDS:])
    return line[:_FRAGMENT_END_CHARS] if direction > 0 else line[-_FRAGMENT_END_CHARS:]


def _encode_fragment(words: str) -> str:
    return quote(words, safe="").replace("-", "%2D")  # a hyphen would mark a prefix


def _highlight(text: str, spans: Sequence[tuple[int, int]]) -> str:
    return "".join(_highlighted_pieces(text, spans))


def _highlighted_pieces(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    at = 0
    for start, end in spans:
        yield f"{escape_html(text[at:start])}<mark>{escape_html(text[start:end])}</mark>"
        at = end
    yield escape_html(text[at:])


def _direction_attribute(nodes: Iterable[Node]) -> str:
    return ' dir="rtl"' if is_right_to_left(nodes) else ""


def _anchor(address: str, inner: str, attributes: str = "") -> str:
    return f'<a href="{escape(address)}" rel="noopener noreferrer"{attributes}>{inner}</a>'


def _heading_text(head: dict[str, Any]) -> str:
    """Return a heading without its citation numbers."""
    return plain_text(node for node in head["c"] if not has_tag(node, "cite")).strip()
