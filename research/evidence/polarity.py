"""What turns a statement round: negations, plans and possibilities, opposites, superlatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from research.evidence.lexicon import OPPOSED
from research.evidence.measures import Measure
from research.evidence.reading import Sentence, Term, is_place

_NOT = re.compile(
    r"没有|并未|尚未|从未|并非|不再|不是|不(?![仅但过少久论管足到超多低高同断错等]|得不|可或缺|止)|未(?!来|必|成年|满|知|婚)|取消|废除|错开|避开|避免|没(?!收)|无(?!论|锡|人机|人驾|人区|线|数|障|形|偿|疑)|非(?!洲|常|遗|法|凡)"
    r"|\b(?:not(?!\s(?:only|since|until|least))|never(?!\ssince)|without|neither|nor|cannot|can't|none|nobody|no(?!\s(?:fewer|less|more|later|earlier|doubt)\b|\.))\b|n't\b|\bfail(?:s|ed)?\sto\b|\bunable\b|\bno longer\b|\bden(?:y|ies|ied)\b|否认|拒绝|\brefus(?:e|es|ed)\b"
)
_DENIES = re.compile(r"禁止|严禁|不得|不准|不许|取消|废除|prohibit|forbid|bann?(?:s|ed|ing)|outlaw")
_THAN = re.compile(r"\bno\b.*\bthan\b|没有.*比")
_PLAN = re.compile(r"计划|拟(?!合)|将(?!军|近)|预计|打算|即将|规划|筹备|\b(?:will|plans?|planned|planning|expected\sto|aims?|intends?|proposed|proposes|scheduled|would|shall|set\sto|due\sto|hopes?\sto|seeks?\sto|should|(?:is|are)\s(?:to|\w+ing))\b|'ll\b")  # fmt: skip
_MAYBE = re.compile(r"可能|或许|也许|有望|或将|拟议|考虑|疑似|据传|传闻|\b(?:may(?!\s(?:\d|not\b))|might|could|possibly|perhaps|reportedly|allegedly|potentially|considering|likely)\b")  # fmt: skip
_SURE = re.compile(r"(?<!不)确定|必定|必然|一定(?!程度|的)|肯定|绝对|证明|永久|唯一|从不|总是|彻底|打破|创下|\b(?:certainly|definitely|always|prove[sd]?|proven|guarantee[sd]?|permanent(?:ly)?|undoubtedly|broke)\b")  # fmt: skip
_ALL = re.compile(r"所有|全部|一切|完全|\b(?:every|all|entire(?:ly)?|completely)\b")
_RANKED = re.compile(r"\b(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+th)[\s-](?:\w+est|most)\b|第[二三四五六七八九十\d]+[大高长老]")  # fmt: skip
_BEST = re.compile(r"最[大小高低长老早快]|\b(?:larg|bigg|tall|high|long|old|fast|small|deep)est\b|\bmost\s\w+\b")  # fmt: skip
_MORE_BEFORE = re.compile(r"(?:多|增|升|涨|高|增加|up|more)(?:了|出|约|by|近)?\s?$")
_LESS_BEFORE = re.compile(r"(?:少|减|降|跌|低|down)(?:了|约|by|近)?\s?$")
_MORE_AFTER = re.compile(r"\s?(?:more|higher|larger|longer|above|up)\b")
_LESS_AFTER = re.compile(r"\s?(?:less|fewer|lower|smaller|shorter|below|down)\b")
_STRONG_WORDS = """
largest smallest highest lowest longest oldest fastest record
"""
_STRONG = frozenset(_STRONG_WORDS.split())
_AT_MOST = re.compile(r"[可提达至不约为\d]")
_DONE = re.compile(r"已|了|建成|完成|\b(?:has|have|had|was|were|\w{2,}ed|won|lost|began|rose|fell|built|became|took|made|came|went|grew|sold|bought|paid|left|met|held|led|cut|spent|sent|set)\b")  # fmt: skip
_ONE_OF = re.compile(r"之一|\bone of\b|\bamong the\b")
_BETWEEN = tuple(
    re.compile(pattern)
    for pattern in (
        r"击败|战胜|力克|大胜|\b(?:beat|beats|defeat(?:s|ed)?|overc(?:o|a)me)\b",
        r"收购|并购|\b(?:acquire[sd]?|bought|buys|to buy|takes? over|took over)\b",
        r"起诉|状告|\b(?:sue[sd]?|suing)\b",
        r"取代|替代|\b(?:replace[sd]?)\b",
        r"高于|多于|大于|超过|比(?!例|较|赛|重|值|如|上|去|亚)|\bthan\b",
        r"低于|少于|小于",
        r"早于|先于|\bbefore\b",
        r"晚于|\bafter\b",
    )
)
_PASSIVE = re.compile(r"被|遭|\bby\b")
_WHEN = frozenset(("since", "until", "before", "after", "during"))
SCOPE = 3  # words that a negation reaches


@lru_cache(16_384)
def negated(sentence: Sentence) -> frozenset[int]:
    """The places of the terms that a negation of their clause reaches."""
    found: set[int] = set()
    for start, end in _negators(sentence):
        clause = sentence.clauses[sentence.clause(start)]
        if _THAN.search(sentence.text, clause[0]):
            continue
        after = [i for i, t in enumerate(sentence.terms) if end <= t.start < clause[1]]
        found.update(after[:SCOPE])
    return frozenset(found)


def _negators(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """What denies what follows: a negation that is no part of a word, and a ban."""
    for match in _NOT.finditer(sentence.text):
        if not any(
            term.start <= match.start() < term.end and term.known for term in sentence.terms
        ):
            yield match.span()
    for term in sentence.terms:
        if term.key in ("ban", "cancel") and _DENIES.match(sentence.text, term.start):
            yield term.start, term.end


def contrary(claim: Sentence, found: Sentence) -> tuple[Term, Term] | None:
    """A word of the claim that is negated in one of two sentences only, with its place in both."""
    mine, theirs = negated(claim), negated(found)
    if not mine and not theirs:
        return None
    places: dict[str, list[int]] = {}
    for i, term in enumerate(found.terms):
        places.setdefault(term.key, []).append(i)
    first = [i for i in sorted(mine) if _tells(claim.terms[i]) and claim.terms[i].key in places]
    for i in first[:1]:
        at = places[claim.terms[i].key]
        if not any(j in theirs for j in at):
            return claim.terms[i], found.terms[at[0]]
    denied = {claim.terms[i].key for i in mine}
    nearest = _first_of_each(found, theirs)
    doubted = []
    for term in claim.terms:
        at = places.get(term.key, [])
        if term.key in denied or not _tells(term) or not at or not set(at) <= theirs:
            continue
        doubted.append((term, found.terms[at[0]]))
        if at[0] in nearest:
            return doubted[-1]
    return doubted[0] if len(doubted) > 1 else None


def _tells(term: Term) -> bool:
    return term.weight > 0.35 and not is_place(term.key) and term.key not in _WHEN


def _first_of_each(sentence: Sentence, reached: frozenset[int]) -> set[int]:
    """The first word of each clause that a negation reaches."""
    first: dict[int, int] = {}
    for i in sorted(reached):
        first.setdefault(sentence.clause(sentence.terms[i].start), i)
    return set(first.values())


def opposite(
    claim: Sentence, clause: tuple[int, int], found: Sentence, theirs: tuple[int, int]
) -> tuple[Term, Term] | None:
    """A word of a clause whose contrary stands in the other, where neither has both; not allowed is
    no contrary of prohibited."""
    mine = {term.key: term for term in reversed(claim.inside(clause))}
    its = {term.key: term for term in reversed(found.inside(theirs))}
    for key, term in mine.items():
        against = OPPOSED.get(key, frozenset())
        if not against or key in its or against & mine.keys() or term.weight <= 0.4:
            continue
        for other in sorted(against & its.keys()):
            if _denied(claim, term) == _denied(found, its[other]):
                return term, its[other]
    return None


def _denied(sentence: Sentence, term: Term) -> bool:
    return any(sentence.terms[i] == term for i in negated(sentence))


def reversed_roles(claim: Sentence, found: Sentence) -> tuple[Term, Term] | None:
    """A word that stands before what one does to the other, or before "than", where the passage has
    it behind, and another the other way round."""
    for pattern in _BETWEEN:
        mine, theirs = _sides(claim, pattern), _sides(found, pattern)
        if not mine or not theirs:
            continue
        (before, after), (first, second) = mine, theirs
        if before.keys() & first.keys() or after.keys() & second.keys():
            continue
        crossed = [key for key in before if key in second]
        if crossed and after.keys() & first.keys():
            return before[crossed[0]], second[crossed[0]]
    return None


def _sides(sentence: Sentence, pattern: re.Pattern[str]) -> tuple[dict[str, Term], dict[str, Term]] | None:  # fmt: skip
    match = pattern.search(sentence.text)
    if not match or _PASSIVE.search(sentence.text):
        return None
    before = {t.key: t for t in sentence.terms if t.end <= match.start() and t.weight > 0.5}
    after = {t.key: t for t in sentence.terms if t.start >= match.end() and t.weight > 0.5}
    return before, after


def standing(claim: Sentence, found: Sentence) -> int:
    """How certain a sentence is of what the claim says: as certain as the surest of the clauses that
    have something of it."""
    shared = []
    for clause in found.clauses:
        terms = found.inside(clause)
        own = sum({t.key: t.weight for t in terms if t.key in claim.keys}.values())
        figures = sum(clause[0] <= m.start < clause[1] for m in found.measures)
        if len(terms) + figures >= SCOPE and own:
            shared.append((own, certainty(found.text[slice(*clause)])))
    most = max((weight for weight, _ in shared), default=0.0)
    sure = [level for weight, level in shared if weight >= 0.4 * most]
    return max(sure, default=certainty(found.text))


def certainty(text: str) -> int:
    """1 for what may be, 2 for what is planned, 3 for what is said to be so."""
    if _MAYBE.search(text):
        return 1
    return 2 if _PLAN.search(text) else 3


def claimed(text: str) -> int:
    """The certainty of a claim, which is that of a fact only if it speaks of something done."""
    return min(certainty(text), 3 if _DONE.search(text) else 2)


def direction(sentence: Sentence, measure: Measure) -> int:
    """1 if a figure is said to be that much more, -1 if less, 0 if neither."""
    before, after = sentence.text[: measure.start], sentence.text[measure.end :]
    if _MORE_BEFORE.search(before) or _MORE_AFTER.match(after):
        return 1
    return -1 if _LESS_BEFORE.search(before) or _LESS_AFTER.match(after) else 0


def sweeping(claim: str, found: str, *, figures: bool) -> str:
    """A word of the claim that allows no exception, where the passage has none such. What all or
    every one does is left to the figures if there are some."""
    for pattern in (_SURE,) if figures else (_SURE, _ALL):
        match = pattern.search(claim)
        if match and not (_SURE.search(found) or _ALL.search(found)):
            return match[0]
    if best := _BEST.search(claim):
        for pattern in (_ONE_OF, _RANKED):
            if pattern.search(found) and not pattern.search(claim) and _BEST.search(found):
                return best[0]
    return ""


def strong(claim: Sentence, keys: frozenset[str]) -> Term | None:
    """A superlative of the claim where the passage has none."""
    if keys & _STRONG:
        return None
    return next(
        (
            t
            for t in claim.terms
            if t.key in _STRONG and t.weight > 0.5 and not _AT_MOST.match(claim.text, t.end)
        ),
        None,
    )
