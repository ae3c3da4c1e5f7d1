"""A run that is done, with sentences of every status: what its pages, files and tests are made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from research.citations.registry import evidence_id
from research.core.events import parse_event
from research.core.records import (
    Answer,
    Evidence,
    EvidenceKind,
    Finding,
    Language,
    Part,
    Passage,
    PassageReference,
    Place,
    Plan,
    QueryResult,
    Run,
    RunOptions,
    Span,
    Task,
    Usage,
)
from research.storage.store import Store

IDS: dict[str, str] = {"zh": "checkedzh-run", "en": "checkeden-run"}
ASKED = {"zh": "故宫怎么参观？", "en": "How does one visit the Palace Museum?"}
NOW = datetime(2026, 11, 20, 3, 4, tzinfo=UTC)
TASK = Task(id="1.1", source="web", query="palace museum")

# What each source says: a kind, a title, an address, a day and its passage.
Told = tuple[EvidenceKind, str, str, date | None, str]
SOURCES: dict[str, tuple[Told, ...]] = {
    "zh": (
        ("web", "故宫博物院参观须知", "https://www.dpm.org.cn/visit.html", date(2026, 10, 8),
         "故宫博物院实行全网实名预约购票。旺季门票为60元，淡季门票为40元。每周一闭馆，法定节假日除外。"
         "观众须从午门进入，从神武门或东华门离开。"),
        ("news", "故宫调整冬季开放时间", "https://news.example.cn/2026/gugong-winter", date(2026, 11, 1),
         "自11月1日起，故宫博物院执行淡季开放时间。8时30分开始检票，15时30分停止入场，16时30分闭馆。"),
        ("library", "北京旅游手册", "", date(2025, 5, 1),
         "参观全程约需半天。珍宝馆和钟表馆需要另外购票，各10元。"),
        ("web", "北京地铁一号线车站", "https://metro.example.cn/line1?station=tiananmen&x=1", None,
         "天安门东站有A、B、C、D四个出口，距离午门步行约十五分钟。"),
        ("web", "门票问答", "https://tickets.example.org/faq#prices", date(2024, 3, 2),
         "门票提前七天在网上放票，每天20时开始。未成年人免费，须同样预约。"),
    ),
    "en": (
        ("web", "Visiting the Palace Museum", "https://www.dpm.org.cn/visit.html", date(2026, 10, 8),
         "All tickets of the Palace Museum are booked online under a real name. A ticket costs 60 yuan in "
         "the high season and 40 yuan in the low season. The museum is closed on Mondays, except on public "
         "holidays. Visitors enter through the Meridian Gate and leave through the Gate of Divine Prowess."),
        ("news", "Palace Museum changes to winter hours", "https://news.example.com/2026/palace-winter",
         date(2026, 11, 1),
         "From 1 November the Palace Museum keeps its low-season hours. Admission begins at 8:30 and ends "
         "at 15:30, and the museum closes at 16:30."),
        ("library", "Beijing handbook", "", date(2025, 5, 1),
         "A visit takes about half a day. The Treasure Gallery and the Clock Gallery need a further ticket "
         "of 10 yuan each."),
        ("web", "Stations of line 1", "https://metro.example.com/line1?station=tiananmen&x=1", None,
         "Tiananmen East has four exits, A to D, and lies fifteen minutes on foot from the Meridian Gate."),
        ("web", "Questions about tickets", "https://tickets.example.org/faq#prices", date(2024, 3, 2),
         "Tickets are released online seven days ahead, at 20:00 each evening. Minors enter free and book "
         "like everybody else."),
    ),
}  # fmt: skip
# The text of an answer in pieces, each with the sources that it cites, by their places above. A
# source beyond the last is one that does not exist.
Pieces = tuple[tuple[str, tuple[int, ...]], ...]
WRITTEN: dict[str, Pieces] = {
    "zh": (
        ("## 门票与预约\n\n故宫博物院实行全网实名预约购票，每周一闭馆", (0,)),
        ("。门票在旺季为80元，淡季为40元", (0,)),
        ("。昆明的游客可以在车站窗口直接领取纸质门票", (4,)),
        ("。每年大约有1700万人参观故宫。\n\n## 时间\n\n- 8时30分开始检票，15时30分停止入场", (1,)),
        ("\n- 参观全程约需半天", (2,)),
        ("，下雨天人会少一半", (9,)),
        ("\n\n| 项目 | 内容 |\n|---|---|\n| 珍宝馆 | 另外购票10元", (2,)),
        (" |\n| 地铁 | 天安门东站，步行约十五分钟", (3,)),
        (" |\n| 停车 | 神武门外有三百个车位", (3,)),
        (" |\n", ()),
    ),
    "en": (
        ("## Tickets\n\nAll tickets of the Palace Museum are booked online under a real name, and the museum "
         "is closed on Mondays", (0,)),
        (". A ticket costs 80 yuan in the high season and 40 yuan in the low season", (0,)),
        (". Travellers from Kunming may collect paper tickets at a station counter", (4,)),
        (". About 17 million people visit the museum every year.\n\n## Hours\n\n- Admission begins at 8:30 "
         "and ends at 15:30", (1,)),
        ("\n- A visit takes about half a day", (2,)),
        (", and half as many people come when it rains", (9,)),
        ("\n\n| What | Detail |\n|---|---|\n| Treasure Gallery | a further ticket of 10 yuan", (2,)),
        (" |\n| Metro | Tiananmen East, fifteen minutes on foot from the Meridian Gate", (3,)),
        (" |\n| Parking | there are 300 spaces behind the northern wall", (3,)),
        (" |\n", ()),
    ),
}  # fmt: skip
QUOTED = {"zh": "每周一闭馆，法定节假日除外。", "en": "The museum is closed on Mondays, except on public holidays."}  # fmt: skip


def evidence(told: Told, **update: Any) -> Evidence:
    kind, title, url, day, text = told
    passage = Passage(id="p", text=text, end=len(text))
    return Evidence(
        id=evidence_id(kind, url, title), kind=kind, title=title, url=url, locator=title,
        retrieved=NOW - timedelta(minutes=3), published=day, passages=(passage,),
    ).model_copy(update=update)  # fmt: skip


def found(language: Language, uncited: int = 6) -> tuple[Evidence, ...]:
    """The sources, and some more that nothing cites: one is a place."""
    known = [evidence(told) for told in SOURCES[language]]
    title = {"zh": "另一份资料 {n}", "en": "Another document {n}"}[language]
    for n in range(uncited):
        url = f"https://site{n}.example.net/page"
        known.append(evidence(("web", title.format(n=n), url, date(2026, 1, 1 + n % 28), title * 2)))
    tower = Place(id="tower", name="午门" if language == "zh" else "Meridian Gate", lng=116.397, lat=39.913, provider="offline")  # fmt: skip
    known.append(evidence(("place", tower.name, "", None, tower.name), place=tower))
    return tuple(known)


def spans(pieces: Sequence[tuple[str, tuple[int, ...]]], known: Sequence[Evidence]) -> list[Span]:
    out = []
    for text, numbers in pieces:
        real = [known[n] for n in numbers if n < len(known) and n < 9]
        cites = tuple(PassageReference(evidence=e.id, passage="p", end=len(e.passages[0].text)) for e in real)
        out.append(Span(kind="text", text=text, references=cites, unsourced=len(real) < len(numbers)))
    return out


def answer(language: Language, known: Sequence[Evidence]) -> Answer:
    """An answer with a quote and with text that a model wrote."""
    cite = PassageReference(evidence=known[0].id, passage="p", end=len(known[0].passages[0].text))
    quote = Span(kind="quote", text=QUOTED[language], part="p1", references=(cite,))
    return Answer(
        title=ASKED[language], language=language, author="openai:gpt-fake",
        spans=(*spans(WRITTEN[language], known), quote), created=NOW,
    )  # fmt: skip


def put(store: Store, language: Language, written: Answer | None = None, known: Sequence[Evidence] = ()) -> str:  # fmt: skip
    """Stores the run as one that is done; returns its id."""
    known = known or found(language)
    written = written or answer(language, known)
    run_id = IDS[language]
    run = Run(
        id=run_id, conversation=run_id, owner="local", question=ASKED[language],
        options=RunOptions(sources=("web",)), status="running", created=NOW - timedelta(minutes=5),
    )  # fmt: skip
    plan = Plan(parts=(Part(id="p1", subject="palace", text=run.question),), tasks=(TASK,))
    assert store.add_run(run, None, "0" * 32)
    table = QueryResult(sql="select 1 as n", names=("n", "name"), types=("integer", "text"), rows=((1, "午门"),))  # fmt: skip
    finding = Finding(task=TASK, evidence=tuple(known), started=NOW, rows=table)
    store.finish_search(store.start_search(run_id, TASK), run_id, finding)
    told: list[tuple[str, dict[str, Any]]] = [
        ("status", {"status": "running"}),
        ("question", {"text": run.question, "language": language}),
        ("plan", {"plan": plan.model_dump(mode="json")}),
        ("search", {"task": TASK.model_dump(mode="json")}),
        ("found", {
            "task": TASK.model_dump(mode="json"), "passages": len(known), "titles": [item.title for item in known],
            "reason": None, "hint": "", "provider": "", "message": "", "seconds": 0.1, "reused": False, "cached": "",
        }),
        ("usage", Usage(stage="write", model="openai:gpt-fake", input=10, output=5).model_dump(mode="json")),
        ("writing", {}),
        ("answer", {"quotes": 1, "cites": 9, "failures": 0}),
        ("status", {"status": "done", "error": ""}),
    ]  # fmt: skip
    store.save_outcome(run_id, plan, (), written)
    store.append_events(run_id, [(NOW, parse_event(kind, data)) for kind, data in told], "done")
    return run_id
