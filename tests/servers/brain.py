"""What a fake model says, whatever the wire it is asked over.

It knows a request by its schema: a plan has a route, a reflection says whether it is sufficient.
A request with tools is one for places, and is answered as a competent model would use a map.
All it says follows from what it was asked, so that two runs of a test are the same.
"""

from __future__ import annotations

import copy
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

Schema = Mapping[str, Any]
Grounded = tuple[list[str], dict[str, Any] | None]

REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
_STAGES = {
    "follow_ups": "reconsider", "is_sufficient": "reflect", "sections": "outline", "route": "plan",
    "tones": "tones", "answerable": "analyse", "sql": "sql",
    "columns": "tabulate", "cells": "cells", "colour": "check", "rulings": "rule", "rewritten": "rewrite",
}  # fmt: skip
_LOOSE = frozenset({"nulls", "loosejson", "listed", "boxed", "camel", "harmony"})
_WRAPPED = _LOOSE | {"fenced", "bom", "courtesy", "thoughts", "lonethink"}  # all is there, and more
TEXTS = _WRAPPED | {"wrongtypes", "wrongjson", "prose", "truncated", "maxtokens"}
THOUGHT = "Let me think step by step about what is wanted here."
TOOLS = frozenset({"nocall", "badargs", "loop", "invent", "parallel"})
_HANDLE = re.compile(r"\[@([0-9a-f]{4,8})\]")
_NEAR = re.compile(r"附近|周边|哪里有|(?i:\b(?:near|around)\b)")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_ROUND = r"(?i)%s[^\n]*?(?:补充资料|more details) (\d+)[. ]\d+"
_LABEL = (
    r"(?:^|[.。] ?)[ \t>#*]*(?:(?:the|user'?s?|analyst'?s?|current|research|search)[ \t]+){0,2}"
    r"(?:%s)[ \t*]*(?:[:：][ \t*]*(?:\n\s*)?|\n\s*)(\S.*)$"
)
_CLAIM = re.compile(r"Document: (.*)\nClaim: (.*)", re.S)  # of a model that says Yes or No
_FENCE = r"<<<%s (\w+)\n(.*?)\n\1 %s>>>"
_WORDS = {"question": "question|问题|用户问题", "query": "query|查询|搜索"}
_BEFORE = re.compile(r"(\S.*?)\s*的?\s*(?:附近|周边)")
_AFTER = re.compile(r"\b(?:near|around)\s+([^,，.。?？!！]+)", re.I)
_KEYWORDS = {"遛娃|亲子|kids|children": "亲子乐园|儿童乐园|博物馆|公园", "咖啡|coffee": "咖啡厅"}
_GREETING = re.compile(r"(?:你好|您好|嗨|谢谢|hello|hi|hey|thanks|thank you)(?:[ ,，]*there)?[\s!！。.~～?？]*", re.I)
_ASPECTS = {
    True: ("历史", "现状", "数据", "影响", "官方信息", "争议", "最新进展", "背景", "比较", "前景"),
    False: ("history", "today", "figures", "impact", "official site", "debate", "latest",
            "background", "comparison", "outlook"),
}  # fmt: skip
_PLAN: Schema = {
    "properties": {
        "route": {"type": "string"},
        "answer": {"type": "string"},
        "sub_questions": {"type": "array", "items": {"type": "string"}},
    }
}
_REFLECTION: Schema = {"properties": {"is_sufficient": {"type": "boolean"}, "knowledge_gap": {"type": "string"}}}


@dataclass(frozen=True)
class ToolCall:
    """A call that a model asks for, and the text that came of it once it was made."""

    name: str
    args: Mapping[str, Any]
    id: str = ""
    result: str | None = None


Round = tuple[ToolCall, ...]  # what one message asked for


@dataclass(frozen=True)
class Ask:
    """A request without its wire: all of its text, the user's last words, and what is wanted.

    `pages` is whether those that are named may be opened. A request without a schema is known by the
    field names in its text. `formed` is whether JSON is asked for by more than words, `usage` whether a
    count of tokens is wanted, `context` how many tokens there is room for. `tools` are the names of what
    may be called, `rounds` the calls so far, and `problem` is why the wire's own server would
    refuse those.
    """

    prompt: str
    user: str
    model: str = ""
    schema: Schema | None = None
    streamed: bool = False
    search: bool = False
    pages: bool = False
    usage: bool = True
    formed: bool = False
    context: int = 0
    tools: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()
    problem: str = ""

    @cached_property
    def question(self) -> str:
        """The analyst's question, else the query, else the last line."""
        last = (self.user.strip() or self.prompt.strip() or "?").splitlines()[-1].strip()
        return self._told("question", "query") or last

    @cached_property
    def query(self) -> str:
        """What is to be searched."""
        return self._told("query", "question") or self.user.strip()

    def _told(self, *names: str) -> str:
        """The text of the first name that there is; what is fenced goes before what is labelled."""
        ways = (_fenced, _labelled)
        told = (way(n, t) for way in ways for t in (self.user, self.prompt) for n in names)
        return next(filter(None, told), "")


class Brain:
    """A model's replies; the attributes are there to be set.

    `sufficient_after` is the reflection of a question that is content, `follow_ups` the number of
    queries that each of the others asks for. `answer` is what is written instead of the usual, or
    what makes it of the prompt; `grounded` makes text and metadata of a search query. `values`
    replaces fields of a stage's JSON, as in `brain.values["plan"] = {"route": "direct"}`. `caller`
    says which tools are called instead of the usual ones; without any, the reply is a text.
    `statements` are the SQL that it writes for a question, one after the other.
    `cell` is the value of a cell by the name of its column and the sentence that it rests on.
    `judge` makes a ruling of a sentence and its passages, and `rewriter` other words of them;
    `verifier` says Yes or No of a document and a claim.
    `chapters` are the titles of an outline, `tools` the fields with which its searches are made;
    `section` is what is written of a section instead of the usual, or what makes it of the prompt.
    """

    def __init__(self) -> None:
        self.sufficient_after = 2
        self.follow_ups = 1
        self.answer: str | Callable[[str], str | None] | None = None
        self.grounded: Callable[[str], Grounded] = grounded
        self.values: dict[str, dict[str, Any]] = {}
        self.chapters: list[str] = []
        self.tools: list[dict[str, str]] = []
        self.section: str | Callable[[str], str | None] | None = None
        self.statements: list[str] = []
        self.judge: Callable[[str, list[str]], dict[str, Any]] = _supported
        self.verifier: Callable[[str, str], str] = lambda document, claim: "Yes"
        self.rewriter: Callable[[str, list[str]], str] = lambda sentence, passages: passages[0]
        self.cell: Callable[[str, str], str] = lambda column, sentence: sentence
        self.caller: Callable[[Ask], Sequence[ToolCall]] | None = None
        self._reflected: dict[str, list[str]] = {}

    def stage(self, ask: Ask) -> str:
        if ask.search:
            return "search"
        if _CLAIM.fullmatch(ask.prompt):
            return "verify"
        named = _properties(ask.schema) if ask.schema else ()
        for field, stage in _STAGES.items():
            if field in named or (not ask.schema and f'"{field}"' in ask.prompt):
                return stage
        if ask.schema:
            return "other"
        if ask.tools:
            return "tools"
        named = {name for name in ("query", "question", "section") if _fenced(name, ask.user)}
        if ask.streamed:  # as Ollama is whatever is asked
            return "summarise" if "query" in named and "question" not in named else "write"
        return "write" if named == {"question"} else "summarise"

    def calls(self, ask: Ask, fault: str = "") -> list[ToolCall]:
        """The tools that a reply asks for; if there are none it is a text.

        Faults are a text at once ("nocall"), arguments and a tool that do not exist ("badargs"),
        a call whatever was found ("loop"), several searches in one message ("parallel"), and a
        last text with a place that no tool named ("invent").
        """
        if self.stage(ask) != "tools" or fault in TEXTS | {"nocall"}:
            return []
        made = self.caller(ask) if self.caller else _steps(ask, fault)
        number = len(ask.rounds) + 1
        return [replace(call, id=f"call_{number}_{n}") for n, call in enumerate(made, 1)]

    def reply(self, ask: Ask, fault: str = "") -> str:
        """The text of a reply, with a fault that is the model's own.

        Searches are answered by `grounded` instead, and tools are asked for by `calls`.
        """
        if self.stage(ask) == "tools":
            return spoilt(_last_words(ask, fault), fault, ask)
        if fault not in TEXTS - _WRAPPED:
            return spoilt(self._said(ask), fault, ask)
        before = copy.deepcopy(self._reflected)
        text = spoilt(self._said(ask), fault, ask)
        self._reflected = before  # nobody could read that reflection
        return text

    def _said(self, ask: Ask) -> str:
        stage = self.stage(ask)
        if stage == "verify":
            claim = _CLAIM.fullmatch(ask.prompt)
            return self.verifier(*claim.groups()) if claim else ""
        if stage == "write":
            return self._write(ask)
        if stage == "summarise":
            said = self.section if _fenced("section", ask.user) else None
            said = said(ask.prompt) if callable(said) else said
            return _summary(ask) if said is None else said
        schema = ask.schema or _told(ask.prompt) or _named(stage, ask.prompt)
        told = {
            "plan": self._plan, "reflect": self._reflect,
            "outline": self._outline, "reconsider": self._reconsider, "tones": _tones,
            "analyse": _analysis, "sql": self._sql, "rule": self._rule, "rewrite": self._rewrite,
            "tabulate": _tabulated, "cells": self._cells,
        }  # fmt: skip
        values = told.get(stage, _check)(ask, schema)
        return json.dumps(_fitting(values | self.values.get(stage, {}), schema, schema), ensure_ascii=False)

    def _plan(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        question = ask.question
        self._reflected.pop(question, None)
        if _GREETING.fullmatch(question):
            answer = "你好！想查什么，请告诉我。" if _han(question) else "Hello! What shall I look up?"
            return {"route": "direct", "answer": answer}
        lists: dict[str, Any] = {"sub_questions": _queries(question, 2, 200, 0)}
        for at, (name, part) in enumerate(_query_lists(schema)):
            count = int(_bound(part, "maxItems", 3))
            limit = int(_bound(part.get("items") or {}, "maxLength", 200))
            asks = [question[:limit]] if _NEAR.search(question) else []
            lists[name] = asks if _for_a_map(name) else _queries(question, count, limit, at * 3)
        return {"route": "search", "answer": ""} | lists | {"ask_back": "", "choices": []}

    def _reflect(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        round_ = self._round(ask)
        if round_ >= self.sufficient_after:
            return {"is_sufficient": True, "knowledge_gap": ""}
        zh, topic = _han(ask.question), _topic(ask.question)
        gap = f"还缺少关于“{topic}”的细节。" if zh else f"Details on {topic} are still missing."
        lists: dict[str, Any] = {}
        number = 0
        for name, part in _query_lists(schema):
            if _for_a_map(name):
                lists[name] = []
                continue
            limit = int(_bound(part.get("items") or {}, "maxLength", 200))
            count = min(self.follow_ups, int(_bound(part, "maxItems", self.follow_ups)))
            word = "补充资料" if zh else "more details"
            ends = [f"{word} {round_}.{number + n}" for n in range(1, count + 1)]
            lists[name] = [_joined(topic, end, limit) for end in ends]
            number += count
        return {"is_sufficient": False, "knowledge_gap": gap} | lists

    def _outline(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        """Three sections, or as many as `chapters` has titles; `tools` are how they are searched."""
        topic, zh = _topic(ask.question), _han(ask.question)
        titles = self.chapters or list(_ASPECTS[zh][:3])
        return {
            "sections": [
                {
                    "title": title,
                    "content": f"{topic}: {title}",
                    "query": _joined(topic, title, 200),
                }
                | (self.tools[n % len(self.tools)] if self.tools else {})
                for n, title in enumerate(titles)
            ]
        }

    def _reconsider(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        title = (_fenced("section", ask.user) or "?")[:40]
        mark = f"{ask.question}\n{title}"
        seen = self._reflected.setdefault(mark, [])
        prompt = hashlib.sha256(utf8(ask.prompt)).hexdigest()
        if prompt not in seen:
            seen.append(prompt)
        round_ = seen.index(prompt) + 1
        if round_ >= self.sufficient_after:
            return {"is_sufficient": True, "knowledge_gap": "", "follow_ups": []}
        word = "补充资料" if _han(ask.question) else "more details"
        topic = _topic(ask.question)
        queries = [
            {"query": _joined(topic, f"{title} {word} {round_}.{n}", 200)}
            | (self.tools[n % len(self.tools)] if self.tools else {})
            for n in range(1, self.follow_ups + 1)
        ]
        return {"is_sufficient": False, "knowledge_gap": f"{title}?", "follow_ups": queries}

    def _sql(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        """The statement after those that the prompt shows as tried."""
        tried = len(re.findall(r"<<<sql \w+\n", ask.user))
        if not self.statements:
            return {"sql": "SELECT COUNT(*) AS n FROM a_sight", "why": "all of them"}
        return {
            "sql": self.statements[min(tried, len(self.statements) - 1)],
            "why": f"try {tried + 1}",
        }

    def _rule(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        rows = [{"number": n} | self.judge(s, p) for n, s, p in _sentences(ask.user)]
        return {"rulings": rows}

    def _rewrite(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        rows = [{"number": n, "text": self.rewriter(s, p)} for n, s, p in _sentences(ask.user)]
        return {"rewritten": rows}

    def _cells(self, ask: Ask, schema: Schema) -> dict[str, Any]:
        """For each column the first sentence with a handle that was found for it."""
        told = {name: _fenced_text(name, ask.user) for name in ("material", "columns")}
        groups = re.split(r"^### ", told["material"], flags=re.M)
        lines = re.findall(r"^(\d+)\. (.*?)(?:: .*)? \(.*\)$", told["columns"], re.M)
        cells = []
        for number, name in lines:
            own = next((group for group in groups if name in group.partition("\n")[0]), "")
            if said := re.search(r"([^\[\]\n.。:：]+)\[@([0-9a-f]{4,8})\]", own.partition("\n")[2]):
                text = said[1].strip()
                cell = {"column": int(number), "value": self.cell(name, text), "quote": text}
                cells.append(cell | {"source": said[2]})
        return {"cells": cells, "which": []}

    def _round(self, ask: Ask) -> int:
        """Which reflection of its run this is.

        A prompt that shows earlier follow-ups says so itself, which holds for several runs of one
        question at once; else the different prompts of the question are counted.
        """
        own = _ROUND % re.escape(_topic(ask.question)[:8])
        shown = [int(number) for number in re.findall(own, ask.prompt)]
        if shown:
            return max(shown) + 1
        seen = self._reflected.setdefault(ask.question, [])
        mark = hashlib.sha256(utf8(ask.prompt)).hexdigest()
        if mark not in seen:
            seen.append(mark)
        return seen.index(mark) + 1

    def _write(self, ask: Ask) -> str:
        said = self.answer(ask.prompt) if callable(self.answer) else self.answer
        return _answer(ask) if said is None else said


def _supported(sentence: str, passages: list[str]) -> dict[str, Any]:
    return {"verdict": "supported", "quote": passages[0][:40], "reason": ""}


def _sentences(text: str) -> list[tuple[int, str, list[str]]]:
    """The numbered sentences of a prompt, each with its passages."""
    out: list[tuple[int, str, list[str]]] = []
    for name, _, content in re.findall(r"<<<(sentence|passage) (\w+)\n(.*?)\n\2 \1>>>", text, re.S):
        if name == "sentence":
            out.append((len(out) + 1, content, []))
        else:
            out[-1][2].append(content)
    return out


def _analysis(ask: Ask, schema: Schema) -> dict[str, Any]:
    """What a question wants of a database: whatever it says, and its names in Chinese."""
    names = re.findall(r"浙江|江苏|北京|杭州|颐和园", ask.question)
    return {"answerable": True, "meant": ask.question, "names": names, "clarify": ""}


def _fenced_text(name: str, text: str) -> str:
    """The text between the marks of a name, with its lines."""
    found = re.search(_FENCE % (name, name), text, re.S)
    return found[2] if found else ""


def _tabulated(ask: Ask, schema: Schema) -> dict[str, Any]:
    """Two things, and two things that are asked of both."""
    zh, topic = _han(ask.question), _topic(ask.question)
    rows = [{"name": f"{topic[:20]} {n}", "about": ""} for n in (1, 2)]
    columns = [{"name": name, "question": "", "type": "text", "unit": "", "choices": []} for name in _ASPECTS[zh][:2]]
    return {"title": topic, "rows": rows, "columns": columns}


def _tones(ask: Ask, schema: Schema) -> dict[str, Any]:
    """How numbered headlines sound, by a few plain words."""
    fenced = re.search(_FENCE % ("headlines", "headlines"), ask.user, re.S)
    rows = re.findall(r"^(\d+)\. (.*)$", fenced[2] if fenced else "", re.M)
    bad = re.compile(r"(?i)close|fall|dead|fire|关闭|下降|死亡|事故")
    good = re.compile(r"(?i)open|rise|record|grow|开放|增长|新高")
    return {
        "tones": [
            {
                "number": int(number),
                "tone": "negative" if bad.search(text) else "positive" if good.search(text) else "neutral",
            }
            for number, text in rows
        ]
    }


def spoilt(text: str, fault: str, ask: Ask) -> str:
    """A reply as a model gets it wrong, or the reply itself."""
    if fault == "fenced":
        return f"```json\n{text}\n```"
    if fault == "bom":
        return f"\ufeff{text}"
    if fault == "courtesy":
        return f"Sure! Here it is:\n\n```json\n{text}\n```\nLet me know what else you need."
    if fault in ("thoughts", "lonethink"):
        return f"{'<think>' * (fault == 'thoughts')}\n{THOUGHT}\n</think>\n\n{text}"
    if fault == "harmony":
        return f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{text}<|return|>"
    if fault in _LOOSE and (told := _parsed_object(text)):
        return _loose(told, fault)
    if fault == "wrongtypes":
        schema = ask.schema or _parsed(text)
        return json.dumps(_wrong(schema)) if schema else text
    if fault == "wrongjson":
        return '{"nope": 1}'
    if fault == "prose":
        return "Certainly! Here is what I think about it, in my own words."
    if fault == "othershape":
        return '{"result": {"summary": "as this server likes it", "items": []}}'
    if fault in ("truncated", "maxtokens"):
        return text[: max(1, len(text) * 2 // 3)]
    return text


def _parsed_object(text: str) -> dict[str, Any]:
    """The object that a text is; {} if it is none."""
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _loose(told: dict[str, Any], fault: str) -> str:
    """An object as models write it that take a schema for a suggestion."""
    if fault == "nulls":
        told = {name: None if value in ("", [], False) else value for name, value in told.items()}
    if fault == "boxed":
        told = {"result": told}
    if fault == "camel":
        told = {re.sub("_([a-z])", lambda m: m[1].upper(), name): v for name, v in told.items()}
    if fault == "loosejson":  # as Python writes it, with a comment and a comma too many
        return "{ // as you wished\n" + repr(told)[1:-1] + ",\n}"
    text = json.dumps(told, ensure_ascii=False)
    return f"[{text}]" if fault == "listed" else text


def grounded(query: str) -> Grounded:
    """Text in two parts and the metadata that a search with Google would bring for it.

    Offsets are bytes of UTF-8 over all parts, as on the real wire.
    """
    zh, topic = _han(query), _topic(query)
    if zh:
        said = [
            (f"🏛️ 关于“{topic}”：", ()), ("公开资料称其建立于1925年", (0,)), ("。", ()),
            ("开放时间为每天9点至17点 🕘", (0, 1)), ("。\n\n", ()),
            ("另有来源估计每年约有120万人到访——café 与展厅都算在内", (1, 2)), ("。\n", ()),
        ]  # fmt: skip
    else:
        said = [
            (f"🏛️ On “{topic}”: ", ()), ("public records date it to 1925", (0,)), (". ", ()),
            ("It is open from 9:00 to 17:00 🕘", (0, 1)), (".\n\n", ()),
            ("Another source counts 1.2 million visitors – the café included", (1, 2)), (".\n", ()),
        ]  # fmt: skip
    text = "".join(part for part, _ in said)
    first = text.index("\n\n") + 2
    return [text[:first], text[first:]], _metadata(query, said)


def _metadata(query: str, said: Sequence[tuple[str, tuple[int, ...]]]) -> dict[str, Any]:
    mark = hashlib.sha256(utf8(query)).hexdigest()[:16]
    supports, at = [], 0
    for text, chunks in said:
        end = at + len(utf8(text))
        if chunks:
            segment = ({"startIndex": at} if at else {}) | {"endIndex": end, "text": text}
            supports.append({"segment": segment, "groundingChunkIndices": list(chunks)})
        at = end
    chip = f'<a class="chip" href="https://www.google.com/">{html.escape(query)}</a>'
    rendered = f'<style>.container{{}}</style><div class="container">{chip}</div>'
    return {
        "groundingChunks": [
            {"web": {"uri": REDIRECT + f"{mark}-{n}", "title": domain}}
            for n, domain in enumerate(("museum.example.org", "example.com", "stats.example.net"))
        ],
        "groundingSupports": supports,
        "webSearchQueries": [query, "", f"{query} {_ASPECTS[_han(query)][0]}"],
        "searchEntryPoint": {"renderedContent": rendered},
    }


# What is written


def _answer(ask: Ask) -> str:
    """Markdown in the question's language that cites the first handles of the prompt."""
    zh, topic, cites = _han(ask.question), _topic(ask.question), _cites(ask.prompt)
    if not cites:
        return f"关于“{topic}”，没有找到资料。" if zh else f"Nothing was found on {topic}."
    spare = cites + cites[:1] * 2
    if zh:
        head = f"## {topic}\n\n现有资料表明，它于1925年建立{spare[0]}。此后一直对公众开放{spare[1]}。"
        line = "第{}项资料补充了细节{}。"
    else:
        head = (
            f"## {topic}\n\nThe sources say that it was founded in 1925 {spare[0]}. "
            f"It has been open to the public since {spare[1]}."
        )
        line = "Source {} adds details {}."
    items = [line.format(n, cite) for n, cite in enumerate(cites[2:] or cites, 1)]
    return head + "\n\n" + "\n".join(f"- {item}" for item in items) + "\n"


def _summary(ask: Ask) -> str:
    """Two sentences with the handles of the prompt."""
    zh, topic, cites = _han(ask.question), _topic(ask.question), _cites(ask.prompt)
    first, rest = "".join(cites[:1]), "".join(cites[1:])
    if zh:
        return f"这些资料谈到“{topic}”{first}。其余内容可以互相印证{rest}。"
    return f"The sources speak of {topic} {first}. The rest of them agree {rest}."


def _cites(prompt: str) -> list[str]:
    return [f"[@{handle}]" for handle in dict.fromkeys(_HANDLE.findall(prompt))][:6]


def _queries(question: str, count: int, limit: int, skip: int) -> list[str]:
    """Different queries about a question, none of them longer than the limit."""
    aspects = _ASPECTS[_han(question)]
    ends = (
        aspects[n % len(aspects)] + (f" {n // len(aspects) + 1}" if n >= len(aspects) else "")
        for n in range(skip, skip + count)
    )
    return [_joined(_topic(question), end, limit) for end in ends]


def _for_a_map(field: str) -> bool:
    """Whether a field's queries are for a map, which only some questions want."""
    return field.startswith("places_")


def _joined(topic: str, end: str, limit: int) -> str:
    return f"{topic[: max(0, limit - len(end) - 1)].rstrip()} {end}".strip()[-limit:]


def _topic(question: str) -> str:
    return " ".join(question.split()).rstrip("?？。.!！ ")[:120] or "?"


def _han(text: str) -> bool:
    return bool(_HAN.search(text))


def _fenced(name: str, text: str) -> str:
    found = re.search(_FENCE % (name, name), text, re.S)
    return " ".join(found[2].split()) if found else ""


def _labelled(name: str, text: str) -> str:
    found = re.search(_LABEL % _WORDS[name], text, re.I | re.M)
    return found[1].strip() if found else ""


def utf8(text: str) -> bytes:
    """The bytes of a text, even of one with half a surrogate pair, which JSON can carry."""
    return text.encode("utf-8", "replace")


# Tools


def _steps(ask: Ask, fault: str) -> list[ToolCall]:
    """What to call next: where the place is, what is around it, and where that is."""
    place = place_of(ask.query)
    if fault == "loop":
        return [ToolCall("maps_text_search", {"keywords": f"{place} {len(ask.rounds) + 1}"})]
    if fault == "badargs" and not ask.rounds:
        asked = {"location": "somewhere", "radius": "2000", "keywords": keywords_of(ask.query)}
        return [ToolCall("maps_around_search", asked), ToolCall("maps_teleport", {"to": place})]
    calls = _found_out(ask, fault) if ask.rounds else [ToolCall("maps_geo", {"address": place})]
    return [call for call in calls if call.name in ask.tools]


def _found_out(ask: Ask, fault: str) -> list[ToolCall]:
    """What the last results lead to; nothing if one of them is an error."""
    last = ask.rounds[-1]
    values = [_object_of(call.result) for call in last]
    if not all(values):
        return []
    if last[0].name == "maps_geo":
        point = next(filter(None, (row.get("location") for row in _rows(values[:1]))), None)
        return _around(str(point), keywords_of(ask.query), fault) if point else []
    rows = [row for row in _rows(values) if row.get("id")]
    if last[0].name != "maps_around_search" or any(row.get("location") for row in rows):
        return []
    ids = dict.fromkeys(str(row["id"]) for row in rows)
    return [ToolCall("maps_search_detail", {"id": id}) for id in list(ids)[:3]]


def _around(point: str, keywords: str, fault: str) -> list[ToolCall]:
    wanted = [keywords]
    if fault == "parallel":
        wanted = keywords.split("|") if "|" in keywords else [keywords, "公园"]
    where = {"location": point, "radius": "2000"}
    return [ToolCall("maps_around_search", where | {"keywords": words}) for words in wanted]


def place_of(query: str) -> str:
    """The place that a query is about: what is before 附近 or 周边, or after near or around."""
    found = _BEFORE.search(query) or _AFTER.search(query)
    return (found[1] if found else query).strip()


def keywords_of(query: str) -> str:
    """What a map is searched for."""
    hits = (words for asked, words in _KEYWORDS.items() if re.search(asked, query, re.I))
    return next(hits, "景点")


def _last_words(ask: Ask, fault: str) -> str:
    if fault == "invent":
        return "月球乐园 is the best of them: 116.400000,39.900000, rated 5.0, open all night."
    return "I know this area well enough without a map." if fault == "nocall" else "done"


def _object_of(result: str | None) -> dict[str, Any] | None:
    """The JSON object that a tool answered, fenced or not; None if it failed."""
    fenced = re.fullmatch(r"<<<result (\w+)\n(.*)\n\1 result>>>", result or "", re.S)
    try:
        value = json.loads(fenced[2] if fenced else result or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) and not value.get("error") else None


def _rows(values: Sequence[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """The rows of several results, by whichever name a server has for them."""
    names = ("return", "results", "geocodes", "pois")
    lists = ((value or {}).get(name) for value in values for name in names)
    return [row for rows in lists if isinstance(rows, list) for row in rows if isinstance(row, dict)]


# Schemas


def _check(ask: Ask, schema: Schema) -> dict[str, Any]:
    return {"colour": "green"}


def _told(prompt: str) -> Schema | None:
    """A schema that the prompt spells out, for models that take none beside it."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r'\{\s*"', prompt):
        try:
            value, _ = decoder.raw_decode(prompt, found.start())
        except ValueError:
            continue
        fields = value.get("properties")
        if isinstance(fields, dict) and _STAGES.keys() & fields.keys():
            return dict(value)
    return None


def _named(stage: str, prompt: str) -> Schema:
    """A schema made of nothing but the names of fields in the prompt."""
    if stage == "check":
        return {"properties": {"colour": {"type": "string"}}}
    lists = dict.fromkeys(re.findall(r'"(\w*queries)"', prompt))
    text = {"type": "array", "items": {"type": "string"}}
    known = (_PLAN if stage == "plan" else _REFLECTION)["properties"]
    return {"properties": known | dict.fromkeys(lists, text)}


def _parsed(text: str) -> Schema | None:
    """A schema of the fields of a reply, none if that is no JSON."""
    kinds = {str: "string", list: "array", bool: "boolean"}
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    return {"properties": {k: {"type": kinds.get(type(v), "object")} for k, v in fields.items()}}


def _properties(schema: Schema | None) -> Mapping[str, Schema]:
    return (_resolved(schema, schema).get("properties") or {}) if schema else {}


def _resolved(schema: Schema, root: Schema) -> Schema:
    """A schema without references, alternatives to null, or Google's capital letters."""
    while "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).lstrip("#/").split("/"):
            target = target[step]
        schema = target
    for word in ("anyOf", "any_of", "oneOf", "allOf"):
        for option in schema.get(word) or ():
            if str(option.get("type")).lower() != "null":
                return _resolved(option, root)
    return schema


def _kind(schema: Schema) -> str:
    kind = schema.get("type") or ("object" if "properties" in schema else "string")
    return str(next((k for k in kind if k != "null"), "null") if isinstance(kind, list) else kind).lower()


def _bound(schema: Schema, name: str, default: float) -> float:
    """A bound of a schema; google-genai spells some with an underscore."""
    snake = re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), name)
    value = schema.get(name, schema.get(snake))
    return default if value is None else float(value)


def _query_lists(schema: Schema) -> list[tuple[str, Schema]]:
    """The properties that hold queries, with their schemas."""
    found = []
    for name, part in _properties(schema).items():
        whole = _resolved(part, schema)
        if name.endswith("queries") and _kind(whole) == "array":
            items = _resolved(whole.get("items") or {}, schema)
            found.append((name, {**whole, "items": items}))
    return found


def _fitting(value: Any, schema: Schema, root: Schema) -> Any:
    """The value as far as the schema allows it, else the least that it allows."""
    schema = _resolved(schema, root)
    kind = _kind(schema)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return value if value in schema["enum"] else schema["enum"][0]
    if kind == "object":
        return _object(value, schema, root)
    if kind == "array":
        return _array(value, schema, root)
    if kind == "string":
        text = value if isinstance(value, str) else ""
        text = text.ljust(int(_bound(schema, "minLength", 0)), "-")
        return text[: int(_bound(schema, "maxLength", len(text)))]
    if kind == "boolean":
        return bool(value)
    if kind in ("integer", "number"):
        number = value if isinstance(value, int | float) else 0
        number = max(number, _bound(schema, "minimum", number))
        number = min(number, _bound(schema, "maximum", number))
        return int(number) if kind == "integer" else number
    return None


def _object(value: Any, schema: Schema, root: Schema) -> dict[str, Any]:
    """An object; a text given for one stands in each of its text fields."""
    given = value if isinstance(value, dict) else {}
    return {
        name: _fitting(given.get(name, value if isinstance(value, str) else None), part, root)
        for name, part in (schema.get("properties") or {}).items()
    }


def _array(value: Any, schema: Schema, root: Schema) -> list[Any]:
    items = list(value) if isinstance(value, list) else []
    items += [None] * (int(_bound(schema, "minItems", 0)) - len(items))
    most = int(_bound(schema, "maxItems", len(items)))
    return [_fitting(item, schema.get("items") or {}, root) for item in items[:most]]


def _wrong(schema: Schema) -> dict[str, Any]:
    """A value of the wrong type for each property."""
    wrong = {"string": [17], "array": "many", "boolean": "perhaps", "object": []}
    return {name: wrong.get(_kind(_resolved(part, schema)), "a lot") for name, part in _properties(schema).items()}
