"""Questions to begin with: such as can be answered with what is there."""

from __future__ import annotations

from typing import NamedTuple

from pages.shared.login import owner
from pages.shared.words import lang
from research import runs

MOST = 4
LIBRARY = ":material/library_books:"
PLACES = ":material/map:"
WEB = ":material/public:"
Questions = dict[str, tuple[str, ...]]

FROM_SAMPLES: Questions = {
    "zh": (
        "故宫博物院的门票多少钱，周几闭馆？",
        "西湖和颐和园是哪一年列入世界遗产的？",
        "带孩子坐火车怎么买票，可以带多少行李？",
    ),
    "en": (
        "What does a ticket to the Palace Museum cost, and when is it closed?",
        "When were the Summer Palace and West Lake put on the World Heritage list?",
        "How do train tickets for children work in China, and how much luggage can they take?",
    ),
}
FROM_PLACES: Questions = {
    "zh": ("王府井附近适合遛娃的好去处",),
    "en": ("Where can I take kids near Wangfujing?",),
}
FROM_WEB: Questions = {
    "zh": (
        "固态电池离量产还有多远，哪些厂商已经装车？",
        "过去一年各国对人工智能生成内容的标识要求有哪些变化？",
        "国内外低空经济的商业模式有什么不同，规模各有多大？",
    ),
    "en": (
        "How far are solid-state batteries from mass production, and who ships them already?",
        "How have rules for labelling AI-generated content changed over the past year?",
        "How do Chinese and Western drone-delivery businesses differ, and how large are they?",
    ),
}


class Example(NamedTuple):
    """A question, and the icon of where its answer comes from."""

    question: str
    icon: str


def offered() -> list[Example]:
    """The examples in the page's language, at most four; none without anything to answer them."""
    ready, tongue = runs.readiness(owner=owner()), lang()

    def some(questions: Questions, icon: str) -> list[Example]:
        return [Example(question, icon) for question in questions[tongue]]

    found: list[Example] = []
    if ready["web"].state == "live":
        found += some(FROM_WEB, WEB)
    elif runs.desk().library.sample:
        found += some(FROM_SAMPLES, LIBRARY)
    if ready["places"].state != "missing":
        found[1:1] = some(FROM_PLACES, PLACES)
    return found[:MOST]
