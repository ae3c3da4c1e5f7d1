"""What an outcome says in a sentence or two, in the language of the question. No model writes it."""

from __future__ import annotations

from research.database.agent import Outcome
from research.records import Language, Rows
from research.text import language

NAMES = 10  # things that are named
NAME = 60  # characters of one
_WORDS: dict[str, tuple[str, str]] = {
    "count": ("{meant}：共 {n}。", "{meant}: {n}."),
    "one": ("{meant}：{what}。", "{meant}: {what}."),
    "rows": ("{meant}：找到 {n} 行。", "{meant}: {n} rows."),
    "row": ("{meant}：找到 1 行。", "{meant}: 1 row."),
    "truncated": (
        "只取了前 {n} 行，还有更多。",
        "Only the first {n} rows were taken; there are more.",
    ),
    "named": ("依次为：{names}。", "In order: {names}."),
    "named some": ("前 {n} 个：{names}。", "The first {n}: {names}."),
    "empty": ("{meant}：没有符合条件的行。", "{meant}: no row fits."),
    "missing": ("缺：{what}。", "Missing: {what}."),
    "lack": ("{name}（{n} 行）", "{name} ({n} rows)"),
    "unclear": (
        "不用模型无法回答：没有读懂“{problem}”。可以换一种说法，或设置模型。",
        "This needs a model: “{problem}” was not understood. Say it in another way, or set a model.",
    ),
    "asks": ("无法回答：{problem}", "It cannot be answered: {problem}"),
    "refused": ("没有写出可以执行的查询：{problem}", "No statement could be run: {problem}"),
    "failed": ("查询失败：{problem}", "The query has failed: {problem}"),
}
_AND = {"zh": "、", "en": ", "}


def told(outcome: Outcome) -> str:
    """The outcome in words. It states nothing that is not in the rows."""
    tongue = language(outcome.question)

    def say(key: str, **values: object) -> str:
        return _WORDS[key][tongue == "en"].format(**values)

    meant = outcome.meant.rstrip("。. ") or outcome.question.rstrip("？? ")
    rows = outcome.rows
    if outcome.status == "unclear":
        by_rules = not any(step.kind == "understand" for step in outcome.steps)
        return say("unclear" if by_rules else "asks", problem=outcome.problem)
    if rows is None:
        return say("failed" if outcome.status == "failed" else "refused", problem=outcome.problem)
    if not rows.rows:
        return say("empty", meant=meant)
    parts = [_found(rows, meant, tongue)]
    if rows.truncated:
        parts.append(say("truncated", n=len(rows.rows)))
    if outcome.missing:
        what = _AND[tongue].join(say("lack", name=name, n=n) for name, n in outcome.missing)
        parts.append(say("missing", what=what))
    return ("" if tongue == "zh" else " ").join(parts)


def _found(rows: Rows, meant: str, tongue: Language) -> str:
    def say(key: str, **values: object) -> str:
        return _WORDS[key][tongue == "en"].format(**values)

    if len(rows.rows) == 1 and len(rows.names) == 1:
        return say("count", meant=meant, n=rows.rows[0][0])
    number = len(rows.rows)
    head = say("row" if number == 1 else "rows", meant=meant, n=number)
    at = next(
        (n for n, name in enumerate(rows.names) if name in ("name", "province", "city")), None
    )
    if at is None:
        return head
    names = [_short(str(row[at])) for row in rows.rows[:NAMES] if row[at]]
    if not names:
        return head
    key = "named" if number <= NAMES else "named some"
    text = say(key, names=_AND[tongue].join(names), n=len(names))
    return head + ("" if tongue == "zh" else " ") + text


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"
