"""The sources of a run as a table: those that the answer cites and those that were only found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from pages.run import fragments
from pages.run import support as standing
from pages.run.answer import host, key_of, noticed
from pages.shared.safe import plain
from pages.shared.words import day_form, number, t
from research import CitedAnswer, Evidence, Report, Support

FEW = 6  # sources that need no filters
SHORT, HEIGHT = 10, 390  # rows that the table shows all, and else its height in pixels
PASSAGES, SHOWN = 3, 400  # passages, and characters of each, of a source that is not cited
SYMBOLS = {
    "quoted": "●",
    "supported": "●",
    "unclear": "◐",
    "unsupported": "×",
    "differs": "≠",
    "none": "○",
}


class Listed(NamedTuple):
    """A source in the table; one that the answer does not cite has no number."""

    number: int | None
    evidence: Evidence
    times: int = 0

    @property
    def kind(self) -> str:
        """What kind of source it is, in words."""
        return t("kind.sample") if self.evidence.sample else t(f"kind.{self.evidence.kind}")


class Wanted(NamedTuple):
    """Which sources are to be seen: empty choices leave out nothing."""

    kinds: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    days: tuple[date, ...] = ()  # the first and the last

    def has(self, one: Listed) -> bool:
        day = one.evidence.published
        return (
            (not self.kinds or one.kind in self.kinds)
            and (not self.domains or host(one.evidence) in self.domains)
            and (len(self.days) < 2 or bool(day and self.days[0] <= day <= self.days[1]))
        )


def draw(report: Report, cited: CitedAnswer) -> None:
    """The deduplicated sources in order of their numbers, and what the selected one is used for."""
    key = report.run.id[:8]
    found = standing.of(report, cited)
    every = listed(report, cited)
    if not every:
        st.caption(t("sources.none"))
        return
    shown, wanted = _filtered(every, key)
    if not shown:
        st.caption(t("sources.no_match"))
        return
    chosen = st.dataframe(
        pd.DataFrame([_row(one, found) for one in shown]),
        hide_index=True,
        # What is selected are places in the table, which mean other sources in another one.
        key=f"sources_{key}_{abs(hash((wanted, len(shown)))):x}",
        alt=t("sources.alt"),
        placeholder="",
        height=HEIGHT if len(shown) > SHORT else "content",
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={
            "number": st.column_config.NumberColumn(t("sources.number"), width=55),
            "name": st.column_config.TextColumn(t("sources.name"), width=380),
            "kind": st.column_config.TextColumn(t("sources.kind"), width=80),
            "domain": st.column_config.TextColumn(
                t("sources.domain"), width=150, help=t("sources.domain_help")
            ),
            "date": st.column_config.DateColumn(t("sources.date"), format=day_form(), width=115),
            "times": st.column_config.NumberColumn(t("sources.times"), width=85),
            "doubtful": st.column_config.NumberColumn(
                t("sources.doubtful"), width=85, help=t("sources.doubtful_help")
            ),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=50),
        },
    )
    picked = [*chosen.selection.rows, *(cell[0] for cell in chosen.selection.cells)]
    for at in picked[:1]:
        if at < len(shown):
            _one(shown[at], found, report, cited)
    if not picked:
        st.caption(t("sources.pick"))


def listed(report: Report, cited: CitedAnswer) -> list[Listed]:
    """The sources that are cited, then those that were found and are not."""
    numbered = [Listed(s.number, s.evidence, s.times) for s in cited.sources]
    known = {one.evidence.id for one in numbered}
    return numbered + [Listed(None, item) for item in report.evidence if item.id not in known]


def _filtered(every: Sequence[Listed], key: str) -> tuple[list[Listed], Wanted]:
    """The sources that the visitor wants to see; few of them need no filters."""
    own = [one for one in every if one.number is not None]
    some = len(every) > FEW
    if not some and len(own) in (0, len(every)):
        return list(every), Wanted()
    with st.container(horizontal=True, vertical_alignment="center", key=f"filters_{key}"):
        shown = list(every)
        if 0 < len(own) < len(every):
            only = st.segmented_control(
                t("sources.which"), ["cited", "all"], default="cited", required=True,
                format_func=lambda which: t(
                    "sources.cited" if which == "cited" else "sources.all",
                    n=number(len(own) if which == "cited" else len(every)),
                ),
                key=f"sources_which_{key}", label_visibility="collapsed",
            )  # fmt: skip
            shown = own if only != "all" else shown
        wanted = _wanted(every, key) if some else Wanted()
    return [one for one in shown if wanted.has(one)], wanted


def _wanted(every: Sequence[Listed], key: str) -> Wanted:
    kinds = list(dict.fromkeys(one.kind for one in every))
    domains = sorted({name for one in every if (name := host(one.evidence))})
    days = sorted({one.evidence.published for one in every if one.evidence.published})
    chosen: dict[str, Any] = {
        "kinds": _some(t("sources.kind"), kinds, 190, f"sources_kinds_{key}"),
        "domains": _some(t("sources.domain"), domains, 250, f"sources_domains_{key}"),
    }
    if len(days) > 1:
        chosen["days"] = tuple(
            st.date_input(
                t("sources.days"), value=(), min_value=days[0], max_value=days[-1],
                format="YYYY-MM-DD", width=260, key=f"sources_days_{key}",
                label_visibility="collapsed",
            )
        )  # fmt: skip
    return Wanted(**chosen)


def _some(words: str, values: Sequence[str], width: int, key: str) -> tuple[str, ...]:
    """What is chosen of some values; where there is one alone, nothing needs to be."""
    if len(values) < 2:
        return ()
    return tuple(
        st.multiselect(
            words, values, placeholder=words, width=width, key=key, label_visibility="collapsed"
        )
    )


def _row(one: Listed, found: Support) -> dict[str, Any]:
    used = found.of(one.number) if one.number is not None else ()
    return {
        "number": one.number,
        "name": " · ".join(filter(None, [noticed(one.evidence), one.evidence.title])),
        "kind": one.kind,
        "domain": _domain(one.evidence),
        "date": one.evidence.published,
        "times": one.times or None,
        "doubtful": sum(sentence.doubtful for sentence in used) or None,
        "link": _link(one, found) or None,
    }


def _domain(item: Evidence) -> str:
    """The domain of a source, with what the lists of domains say of it."""
    marks = {"preferred": " ★", "warned": " ⚠"}
    return host(item) + marks.get(item.standing, "")


def _link(one: Listed, found: Support) -> str:
    """The address of a source, at the passage that its first sentence uses."""
    passages = {passage.id: passage for passage in one.evidence.passages}
    for sentence in found.of(one.number) if one.number is not None else ():
        if sentence.evidence == one.evidence.id and sentence.passage in passages:
            passage = passages[sentence.passage]
            return fragments.address(one.evidence, passage, sentence.start, sentence.end)
    return fragments.address(one.evidence, next(iter(passages.values()), None))


def _one(one: Listed, found: Support, report: Report, cited: CitedAnswer) -> None:
    """The selected source: every sentence that uses it, or what it says if none does."""
    title = plain(one.evidence.title or host(one.evidence), 300)
    if notice := noticed(one.evidence):
        title = f":red[{notice}] · {title}"
    with st.container(border=True):
        if one.number is None:
            st.markdown(f"**{title}** · {t('sources.unused')}")
            for passage in one.evidence.passages[:PASSAGES]:
                st.markdown(f"> {plain(passage.text, SHOWN)}")
            return
        used = found.of(one.number)
        count = t("sources.sentences", n=number(len(used)))
        st.markdown(f"**\\[{one.number}\\] {title}** · {count}")
        lines = []
        for sentence in used:
            place = standing.place(sentence, one.number, cited)
            text = plain(sentence.text, standing.SHOWN)
            told = standing.why(sentence, cited)
            lines.append(
                f"{SYMBOLS[sentence.status]} [{text}](#{key_of(report)}-{place}-{one.number}-open)"
                f"  \n:gray[:small[{plain(told)}]]"
            )
        st.markdown("\n\n".join(lines))
