"""Rules that make a follow-up question stand alone: 门票呢 after a question on 故宫 means 故宫门票.

A follow-up that names a subject of its own repeats the earlier question for it (那西湖呢), or stays
unchanged. One without a name gets the earlier question's name in place of a pronoun or in front.
"Which of them" stands for all names of the earlier question, "the second one" for its second name.
References to a list in an answer are not resolved; the user is asked what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.agent.extractive.concepts import find_concepts, remove_concepts
from research.agent.extractive.question_parts import parse_question
from research.agent.reasoner import Corpus
from research.core.records import Question, Turn
from research.core.text import segment
from research.core.text.hanzi import to_simplified
from research.core.text.numbers import HAN_NUMERALS, RANKS, parse_integer
from research.core.text.tokenizer import has_han, word_weights
from research.sources.places.questions import parse_place_query

MAX_FOLLOW_UP_CHARS = 60  # longer questions stand alone
_ZH_LEAD_IN = re.compile(r"^(?:那么|那|然后|还有|另外|再问一下|再问|顺便问一下|顺便|请问|嗯)+[，,、\s]*")
_ZH_PRONOUN = re.compile(
    r"它们|它|那里面?|那儿|那边|这里面?|这儿|该(?:馆|景点|景区|地|处|公园|寺|城市)|这(?:个|座|家)(?:地方|景点|景区|博物馆|公园)"
    r"|那(?:个|座|家)(?:地方|景点|景区|博物馆|公园)"
)
_ZH_WHAT_ABOUT = re.compile(r"^(?P<what>.{1,24}?)(?:又)?(?:呢|怎么样|如何)[？?。\s]*$")
_EN_LEAD_IN = re.compile(r"^(?:(?:and|also|then|so|ok|okay|thanks|thank you|well|but)\b[\s,.]*)+", re.I)
_EN_WHAT_ABOUT = re.compile(
    r"^(?:what about|how about|and)\s+(?:the\s+|its\s+|their\s+)?(?P<what>.{2,60}?)[?.\s]*$", re.I
)
_EN_POSSESSIVE = re.compile(r"\b(?:its|their)\b", re.I)
_EN_PRONOUN = re.compile(
    r"\b(?:it|they|them|that place|this place|the place|the museum|the palace|the park)\b"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )(?<!from )\bthere\b(?! (?:is|are|was|were)\b)",
    re.I,
)
# References to several things that were named or listed: 其中, which of them.
_OF_THEM = re.compile(
    r"(?:它们|他们|这些|那些)(?:当中|之中|中|里面|里)|其中|(?:这|那|上述|以上)(?:几|些)[个家座处间所条项种](?:当中|之中|中|里)?"
    r"|(?<=\bof )(?:them|these|those)\b",
    re.I,
)
_MEASURE_WORDS = "家个座处间所条项种本篇位款部只"
_ZH_ORDINAL = re.compile(
    rf"(?:(?<!倒数)第(?P<rank>[{HAN_NUMERALS}\d]{{1,3}})|(?P<first>前)(?=一)|(?P<last>最后|后)(?=[一那])"
    rf"|倒数第[{HAN_NUMERALS}\d]|[上下](?=一)|另外?(?=[一那几])|[前后](?=[两几]))[一那两几]?[{_MEASURE_WORDS}]"
    r"|(?P<former>前者)|(?P<latter>后者)"
)
_EN_CONTINUATION = r"\s*(?:[?.,;!]|$|(?:is|are|was|were|does|do|did|has|have|can|could|will|would|should)\b)"
_EN_ORDINAL = re.compile(
    rf"\bthe (?:(?P<former>former)|(?P<latter>latter)|(?P<last>last)|other|(?P<rank>{'|'.join(RANKS)}|\d{{1,2}}(?:st|nd|rd|th)))"
    rf"(?: ones?\b|(?={_EN_CONTINUATION}))|\bthe latter\b(?! (?:half|part|stages|days|years)\b)",
    re.I,
)


def make_standalone(question: Question, corpus: Corpus) -> str:
    """Return the question so that it can be understood without the earlier turns."""
    names, earlier = _latest_names(question.memory.turns, corpus)
    if not names or len(question.text) > MAX_FOLLOW_UP_CHARS:
        return question.text
    text = question.text.strip()
    if ordinal := _find_ordinal(text):
        name = "" if _first_name(text, corpus) else _choose_name(ordinal, names)
        return f"{text[: ordinal.start()]}{name}{text[ordinal.end() :]}" if name else question.text
    if plural_reference := _OF_THEM.search(to_simplified(text)):
        joined = ("和" if has_han(text) else " and ").join(names)
        if len(names) < 2 or _first_name(text, corpus):
            return question.text
        return f"{text[: plural_reference.start()]}{joined}{text[plural_reference.end() :]}"
    rewrite = _rewrite_chinese if has_han(text) else _rewrite_english
    return rewrite(text, names[0], earlier, corpus)


def find_unresolved(question: Question, corpus: Corpus) -> str:
    """Return the words of a follow-up that refer to an unknown thing, or to one of several.

    Return "" if there are none or if the question has a name.
    """
    text = question.text
    if not question.memory.turns or len(text) > MAX_FOLLOW_UP_CHARS or _first_name(text, corpus):
        return ""
    pronoun = _ZH_PRONOUN if has_han(text) else _EN_PRONOUN
    plain = to_simplified(text)
    reference = _find_ordinal(text) or _OF_THEM.search(plain) or pronoun.search(plain)
    return text[reference.start() : reference.end()] if reference else ""


def _find_ordinal(text: str) -> re.Match[str] | None:
    """Find a reference to one of several (第二家, 后者, "the second one"), but not 第二个皇帝.

    The offsets of the match refer to the text in simplified characters.
    """
    text = to_simplified(text)
    if not has_han(text):
        return _EN_ORDINAL.search(text)
    for ordinal in _ZH_ORDINAL.finditer(text):
        rest = text[ordinal.end() :]
        is_question = any(match.start == 0 and match.concept.question_words for match in find_concepts(rest))
        if is_question or not (rest and segment.tag(rest)[0][1].startswith("n")):
            return ordinal
    return None


def _choose_name(ordinal: re.Match[str], names: Sequence[str]) -> str:
    """Return the name that an ordinal refers to; "" if that is uncertain."""
    group = "latter" if "latter" in ordinal[0].lower() else ordinal.lastgroup
    count = len(names)
    if count < 2 or group is None or (group in ("former", "latter") and count > 2):
        return ""
    if group in ("former", "first"):
        return names[0]
    if group in ("latter", "last"):
        return names[-1]
    rank = ordinal["rank"].lower()
    number = RANKS.get(rank) or parse_integer(rank.rstrip("stndrh")) or 0
    return names[number - 1] if 0 < number <= count else ""


def _latest_names(turns: Sequence[Turn], corpus: Corpus) -> tuple[list[str], str]:
    """Return the names in the latest question that has any, and that question."""
    for turn in reversed(turns):
        if names := _find_names(turn.question, corpus):
            return names, turn.question
    return [], ""


def _find_names(text: str, corpus: Corpus) -> list[str]:
    """Return the names that a text is about, each once, in order."""
    parsed = parse_question(text, corpus)
    names = dict.fromkeys(name for clause in parsed.clauses for name in clause.subjects if name)
    return list(names) if parsed.has_names else []


def _first_name(text: str, corpus: Corpus) -> str:
    """Return the first name that a text is about; "" if there is none."""
    return next(iter(_find_names(text, corpus)), "")


def _rewrite_chinese(text: str, subject: str, earlier_question: str, corpus: Corpus) -> str:
    """Return a Chinese follow-up with its subject, from the earlier question if it has none."""
    lead = _ZH_LEAD_IN.match(to_simplified(text))
    bare = text[lead.end() :] if lead else text
    if not re.search(r"\w", bare):
        return text
    what_about = _ZH_WHAT_ABOUT.match(to_simplified(bare))
    topic = bare[: what_about.end("what")] if what_about else ""
    if name := _first_name(topic or bare, corpus):
        is_about_other_name = what_about and topic.strip("的，, ") in (name, "") and name != subject
        return _replace_subject(earlier_question, subject, name) if is_about_other_name else text
    if pronoun := _ZH_PRONOUN.search(to_simplified(bare)):
        return f"{bare[: pronoun.start()]}{subject}{bare[pronoun.end() :]}"
    return f"{subject}{topic or bare}" if lead or what_about or _is_dependent(bare) else text


def _rewrite_english(text: str, subject: str, earlier_question: str, corpus: Corpus) -> str:
    """Return an English follow-up with its subject, from the earlier question if it has none."""
    what_about = _EN_WHAT_ABOUT.match(text)
    topic = what_about["what"] if what_about else ""
    lead = _EN_LEAD_IN.match(text)
    bare = text[lead.end() :] if lead else text
    if not re.search(r"\w", bare):
        return text
    name = _first_name(topic or bare, corpus)
    if name and not (lead and name.lower() in bare[: len(name)].lower() and not what_about):
        is_about_other_name = what_about and topic.casefold() == name.casefold() and name != subject
        return _replace_subject(earlier_question, subject, name) if is_about_other_name else text
    if _EN_POSSESSIVE.search(bare):
        return _capitalise(_EN_POSSESSIVE.sub(lambda _: f"{subject}'s", bare, count=1))
    if topic:
        return f"{subject} {topic}?"
    if _EN_PRONOUN.search(bare):
        return _capitalise(_EN_PRONOUN.sub(lambda _: subject, bare, count=1))
    return f"{subject}: {bare}" if lead or _is_dependent(bare) else text


def _is_dependent(text: str) -> bool:
    """Return whether a question asks for a known kind of thing (hours) without a subject."""
    place_query = parse_place_query(text)
    if place_query is not None:
        return not (place_query.place or place_query.destination)
    concepts = find_concepts(text)
    things = [match for match in concepts if not match.is_question_word]
    return bool(concepts) and len(things) <= 1 and not word_weights(remove_concepts(text, concepts))


def _replace_subject(earlier_question: str, subject: str, name: str) -> str:
    """Return the earlier question with another subject."""
    return re.sub(re.escape(subject), lambda _: name, earlier_question, flags=re.I)


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
