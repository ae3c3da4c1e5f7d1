"""What is said of each flaw, in Chinese and English. Knows words only."""

from __future__ import annotations

from typing import Literal

from research.records import Language

Severity = Literal["error", "warning", "info"]

# Kind: (severity, Chinese, English). `{what}` is what the flaw is about, `{other}` what it clashes with.
KINDS: dict[str, tuple[Severity, str, str]] = {
    "dangling": ("error", "引用 {what} 在来源列表中没有对应条目。", "{what} is cited, but no source has that name or number."),
    "no-list": ("error", "正文引用了 {what}，但全文没有来源列表。", "{what} is cited, but the report has no list of sources."),
    "unused": ("warning", "来源 {what} 从未被引用。", "Source {what} is never cited."),
    "duplicate": ("error", "{what} 被定义了两次（首次在第 {other} 行）。", "{what} is defined twice (first in line {other})."),
    "same-url": ("warning", "来源 {what} 与 {other} 是同一网址。", "Sources {what} and {other} have the same address."),
    "order": ("warning", "编号 {what} 出现在 {other} 之后，顺序不对。", "Number {what} comes after {other}: out of order."),
    "gap": ("warning", "来源编号缺少 {what}。", "Source numbers are missing: {what}."),
    "placeholder": ("error", "{what} 是占位符，不是来源。", "{what} is a placeholder, not a source."),
    "no-address": ("warning", "来源 {what} 没有网址或出处。", "Source {what} has no address."),
    "bad-address": ("error", "网址不可用：{what}", "Not a usable web address: {what}"),
    "mismatch": ("error", "编号 {what} 的链接与来源列表不一致：{other}", "The link of {what} does not match the listed address: {other}"),
    "unlisted": ("warning", "{what} 在正文中被引用，却不在来源列表里。", "{what} is cited but not in the list of sources."),
    "uncited": ("warning", "这一段含有数字，却没有任何引用。", "This paragraph gives figures but cites nothing."),
    "uncited-list": ("warning", "列出了来源，但正文没有任何引用。", "Sources are listed, but the text cites nothing."),
    "broken-link": ("error", "Markdown 链接写法有误。", "This Markdown link is broken."),
    "tracking": ("info", "网址带有跟踪参数或跳转：{what}", "This address has tracking parameters or redirects: {what}"),
    "bare-address": ("info", "正文中有裸网址：{what}", "A bare address in the text: {what}"),
    "in-heading": ("info", "标题里有引用 {what}。", "A heading cites {what}."),
    "leading": ("info", "引用 {what} 出现在它所支持的文字之前。", "{what} comes before any text that it could support."),
    "inconsistent": ("error", "导出的编号与来源不一致：{what}", "The numbers in the export do not match its sources: {what}"),
}  # fmt: skip


def message(kind: str, what: str, other: str, language: Language) -> str:
    """The sentence about a flaw."""
    _, chinese, english = KINDS[kind]
    return (chinese if language == "zh" else english).format(what=what, other=other)
