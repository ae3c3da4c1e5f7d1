"""What is said of a search for news, in the language of who asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from research.records import Language

_NOTES = {
    "feeds": (
        "来自自选的 {count} 个订阅源，其中只有最近的报道",
        "from {count} of your own feeds, which hold the latest only",
    ),
    "in English": (
        "订阅源中还有 {count} 篇英文报道，中文检索词只按两种语言共有的名称和新闻用语匹配，可改用英文再查",
        "your feeds also have {count} reports in English, which Chinese words match only by names "
        "and news words that both languages share: try asking in English as well",
    ),
    "in Chinese": (
        "订阅源中还有 {count} 篇中文报道，英文检索词只按两种语言共有的名称和新闻用语匹配，可改用中文再查",
        "your feeds also have {count} reports in Chinese, which English words match only by names "
        "and news words that both languages share: try asking in Chinese as well",
    ),
    "seen": (
        "GDELT 只提供标题和收录时间，不提供发布时间",
        "GDELT gives titles and when it saw them, not when they were published",
    ),
    "seen days": (
        "所限日期按 GDELT 的收录时间计算",
        "days are counted by when GDELT saw an article",
    ),
    "shortened": ("检索词已截短为 {count} 个字符", "query shortened to {count} characters"),
    "no address": (
        "{all} 条结果中有 {count} 条没有可用的网址",
        "without a usable address: {count} of {all} results",
    ),
    "no dates": (
        "{tool} 不按日期检索，所给日期未使用",
        "{tool} does not search by date; the dates given were not used",
    ),
    "swapped": (
        "起止日期颠倒，已按 {start} 至 {end} 检索",
        "the dates were in the wrong order: {start} to {end} was searched",
    ),
    "to come": (
        "{end} 尚未到来，已检索至 {today}",
        "{end} is in the future: searched up to {today}",
    ),
    "outside": (
        "{all} 篇中有 {count} 篇不在所限日期之内",
        "outside the dates asked for: {count} of {all}",
    ),
    "undated": ("{all} 篇中有 {count} 篇日期不明", "without a date: {count} of {all}"),
    "no tool": (
        "没有名为 {tool} 的检索方式，已改用 {basic}",
        "there is no tool {tool}: {basic} was used instead",
    ),
    "no days": (
        "{tool} 需要起止日期，已改用 {basic}",
        "{tool} needs a start date and an end date: {basic} was used instead",
    ),
    "days to come": (
        "{tool} 的起始日期 {start} 尚未到来，已改用 {basic}",
        "the start date of {tool}, {start}, is in the future: {basic} was used instead",
    ),
}


@dataclass(frozen=True)
class Note:
    """A note by its name, with what it tells of."""

    name: str
    values: tuple[tuple[str, object], ...] = ()

    def said(self, tongue: Language) -> str:
        return _NOTES[self.name][tongue == "en"].format(**dict(self.values))


def noted(name: str, **values: object) -> Note:
    return Note(name, tuple(values.items()))


def joined(notes: Iterable[Note], tongue: Language) -> str:
    """Several notes as one text."""
    return ("；" if tongue == "zh" else "; ").join(note.said(tongue) for note in notes)
