"""A report that is hard to set: 200 sources, formulas, code, six scripts and more, emoji, tables, a map."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from research.citations.registry import evidence_id
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Passage,
    PassageReference,
    Place,
    Report,
    Run,
    RunOptions,
    Span,
    Task,
)

SOURCES, SECTIONS = 200, 24
MADE = datetime(2026, 11, 1, 8, 30, tzinfo=UTC)
QUESTION = "How does $E=mc^2$ bear on 𠮷田's harbours, and what does it cost ($5 or $10)?"
# What the same says in scripts that ship with the program, as a reader copies it.
SCRIPTS = {
    "Hangul": "항구는 매년 성장했다",
    "Arabic": "نما الميناء كل عام",
    "Hebrew": "הנמל גדל מדי שנה",
    "Thai": "ท่าเรือเติบโตทุกปี",
    "Devanagari": "बंदरगाह हर साल बढ़ा",
    "Cyrillic": "Порт рос каждый год",
    "Greek": "Το λιμάνι μεγάλωνε",
    "Han": "𠮷田港逐年擴大，龘與𪚥皆在其中",
}
EMOJI = (
    "👩‍👩‍👧",
    "🇩🇪",
    "👍🏽",
    "1️⃣",
    "❤️‍🔥",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
)
INLINE = (
    r"\bar{x}\pm s", r"p<0.05", r"\frac{a}{b}\,c", r"x_1^2+\sqrt[3]{y}", r"\mathbb{R}^n", r"25^\circ\mathrm{C}",
    r"\hat{\beta}=(X^\top X)^{-1}X^\top y", r"\lim_{n\to\infty}a_n",
)  # fmt: skip
DISPLAYED = (
    "\\begin{aligned}\na &= b^2 \\\\\n  &= c\\,d\n\\end{aligned}",
    r"\sum_{i=1}^{n} \int_0^1 f_i(x)\,dx \le \left( \frac{1}{n} \right]",
    r"f(x)=\begin{cases} x & x>0 \\ -x & \text{else} \end{cases}",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \binom{n}{k}",
)
CODE = {
    "python": 'def freight(tonnes: float) -> str:\n    return f"{tonnes:,.1f} t"  # 吞吐量\n',
    "sql": "SELECT port, sum(tonnes)\nFROM freight\nWHERE year >= 1990\nGROUP BY port;\n",
    "": "x" * 140 + "\n\tan indented line\n",
}
ADDRESS = "https://example.org/" + "a-rather-long-segment/" * 6 + "?q=" + "%E6%B8%AF" * 12
TOWNS = [
    ("拙政园", 120.6295, 31.3243), ("留园", 120.5936, 31.3165), ("Tiger Hill", 120.5797, 31.3352), ("𠮷田", 120.60, 31.33),
]  # fmt: skip


def _source(n: int) -> Evidence:
    url = f"https://example.org/report/{n}" if n % 9 else f"{ADDRESS}&n={n}"
    text = f"In {1900 + n % 120} district {n} handled {1_000 + 37 * n} tonnes. 第{n}区吞吐量为{1_000 + 37 * n}吨。"
    if n < 2:  # about which two sources disagree
        text += f" Aldwick Lighthouse is {40 + 5 * n} metres high."
    script = [*SCRIPTS.values()][n % len(SCRIPTS)]
    return Evidence(
        id=evidence_id("web", url, ""), kind="news" if n % 4 == 3 else "web",
        title=f"Report {n}: {script} & <b>“quoted”</b> {EMOJI[n % len(EMOJI)]}", url=url,
        publisher=f"Sons & Daughters {n % 7} {{Ltd}}", retrieved=MADE, published=date(2026, 1, 1 + n % 28),
        passages=(Passage(id=f"p{n}", text=text, end=len(text)),),
    )  # fmt: skip


def _town(name: str, lng: float, lat: float) -> Evidence:
    place = Place(id=name, name=name, lng=lng, lat=lat, provider="amap", address="苏州", rating=4.5)
    text = f"{name} lies there."
    return Evidence(
        id=evidence_id("place", "", name), kind="place", title=name, locator=name, retrieved=MADE,
        place=place, passages=(Passage(id=f"at-{name}", text=text, end=len(text)),),
    )  # fmt: skip


def _section(number: int, sources: list[Evidence]) -> Iterator[Span]:
    def said(text: str, at: int) -> Span:
        item = sources[at % len(sources)]
        cites = (PassageReference(evidence=item.id, passage=item.passages[0].id),)
        return Span(kind="text", text=text, references=cites)

    first = number * 9
    yield Span(kind="text", text=f"\n\n## Section {number + 1}: ${INLINE[number % len(INLINE)]}$\n\n")
    for at in range(first, first + 9):
        yield said(f"In {1900 + at % 120} district {at} handled {1_000 + 37 * at} tonnes.", at)
        yield Span(kind="text", text=" ")
    name, script = [*SCRIPTS.items()][number % len(SCRIPTS)]
    yield said(f"\n\n{script}.", first)
    yield said(f"\n\nIn {name} it is “{script}” and *leaning* **{script}** ~~gone~~ ${INLINE[number % len(INLINE)]}$.", first)  # fmt: skip
    tex = DISPLAYED[number % len(DISPLAYED)]
    yield Span(kind="text", text=f"\n\n$$\n{tex}\n$$\n\n")
    language = [*CODE][number % len(CODE)]
    yield Span(kind="text", text=f"```{language}\n{CODE[language]}```\n\n")
    yield Span(kind="text", text=f"- [ ] open {EMOJI[number % len(EMOJI)]}\n- [x] done\n  - deeper\n\n> Quoted `a|b`: {ADDRESS[:60]} it costs $5.\n\n")  # fmt: skip
    yield Span(kind="text", text="| District | Freight | Share |\n|---|--:|:-:|\n")
    for at in range(first, first + 8):
        yield said(f"| {script} {at} | {at * 37:,} t | ${at % 9}\\,\\%$ |", at)
        yield Span(kind="text", text="\n")


def hard() -> Report:
    """The report. Its answer is in English, with 24 sections."""
    sources = [_source(n) for n in range(SOURCES)]
    towns = [_town(*town) for town in TOWNS]
    spans = [span for number in range(SECTIONS) for span in _section(number, sources)]
    answer = Answer(
        title=r"Harbours and $\alpha_s$",
        language="en",
        author="made up",
        spans=tuple(spans),
        created=MADE,
    )
    findings = tuple(
        Finding(
            task=Task(id=f"1.{at}", source="web", query=f"harbours {at}"),
            evidence=(*sources[at::10], *(towns if at == 0 else [])),
            started=MADE,
        )
        for at in range(10)
    )
    run = Run(
        id="hard", conversation="c", owner="o", question=QUESTION, options=RunOptions(), status="done", created=MADE
    )  # fmt: skip
    return Report(run=run, findings=findings, answer=answer, evidence=(*sources, *towns))
