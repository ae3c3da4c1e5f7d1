"""What is said of a search for news, in the language of what was searched for."""

from __future__ import annotations

from research.text import language

_NOTES = {
    "feeds": (
        "来自自选的 {count} 个订阅源，其中只有最近的报道",
        "from {count} of your own feeds, which hold the latest only",
    ),
    "another language": (
        "订阅源中还有 {count} 篇英文报道，中文检索词一般匹配不到，可改用英文再查",
        "your feeds also hold pieces in Chinese ({count}), which English words hardly match: "
        "ask in Chinese as well",
    ),
    "seen": (
        "GDELT 只提供标题和收录时间，不提供发布时间",
        "GDELT tells titles and when it saw them, not when they were published",
    ),
    "seen days": (
        "所限日期按 GDELT 的收录时间计算",
        "its days are those on which GDELT saw an article",
    ),
    "shortened": ("检索词已截短为 {count} 个字符", "query shortened to {count} characters"),
    "no address": (
        "{all} 条结果中有 {count} 条没有可用的网址",
        "without a usable address: {count} of {all} results",
    ),
    "no dates": (
        "{tool} 不按日期检索，所给日期未使用",
        "{tool} takes no dates; those given were not used",
    ),
    "swapped": (
        "起止日期颠倒，已按 {start} 至 {end} 检索",
        "the days were in the wrong order: {start} to {end} was searched",
    ),
    "to come": (
        "{end} 尚未到来，已检索至 {today}",
        "{end} is still to come: it was searched to {today}",
    ),
    "outside": (
        "{all} 篇中有 {count} 篇不在所限日期之内",
        "outside the days asked for: {count} of {all}",
    ),
    "undated": ("{all} 篇中有 {count} 篇日期不明", "without a date: {count} of {all}"),
}


def noted(key: str, query: str, **values: object) -> str:
    """A note on a search for a query."""
    return _NOTES[key][language(query) == "en"].format(**values)


def joined(notes: list[str], query: str) -> str:
    """Several notes as one text."""
    return ("；" if language(query) == "zh" else "; ").join(notes)
