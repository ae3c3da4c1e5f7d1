"""What turns a statement round: negations, plans and possibilities, opposites, superlatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from research.evidence.lexicon import OPPOSED
from research.evidence.reading import Sentence, Term, is_place
from research.language.quantities import Measure, agrees

_NOT = re.compile(
    r"没有|并未|尚未|从未|并非|不再|不是|不(?![满仅但过少久论管足到超多低高同断错等]|得不|可或缺|止)|未(?!来|必|成年|满|知|婚)|取消|废除|错开|避开|避免|没(?!收)|无(?!论|锡|人机|人驾|人区|线|数|障|形|偿|疑)|非(?!洲|常|遗|法|凡)"
    r"|\b(?:not(?!\s(?:only|since|until|least))|never(?!\ssince)|without|neither|nor|cannot|can't|none|nobody|no(?!\s(?:fewer|less|more|later|earlier|doubt)\b|\.))\b|n't\b|\bfail(?:s|ed)?\sto\b|\bunable\b|\brather\sthan\b|\binstead\sof\b|而非|而不是|\bno longer\b|\bden(?:y|ies|ied)\b|否认|拒绝|\brefus(?:e|es|ed)\b"
)
_DENIES = re.compile(r"禁止|严禁|不得|不准|不许|取消|废除|prohibit|forbid|bann?(?:s|ed|ing)|outlaw")
_THAN = re.compile(r"\bno\b.*\bthan\b|没有.*比")
_PLAN = re.compile(r"计划|拟(?!合)|将(?!军|近)|预计|预测|打算|即将|规划|筹备|力争|争取|目标|正在研究|研究制定|下一步|征求意见|草案|须经|尚需|有待|承诺|希望|旨在|预期|\b(?:will|plans?|planned|planning|expect(?:s|ed)?(?:\sto)?|aims?|intend(?:s|ed)?|propose[sd]?|scheduled|would|set\sto|due\sto|hope[sd]?|seeks?\sto|should|wants?\sto|projects?(?=\s(?:growth|a|an|that|the)\b)|projected|forecasts?|targets?|pledge[sd]?|promise[sd]?|draft|subject\sto|pending|awaits?|awaiting|needs?\s(?:the\s)?approval|under\s(?:review|consideration|study)|(?:is|are)\s(?:yet\s)?(?:to|\w+ing))\b|'ll\b")  # fmt: skip
_MAYBE = re.compile(r"可能|嫌疑|涉嫌|正在(?:核查|调查|研究|审理|协商|评估)|或许|也许|有望|或(?:将|会|达|致|可|因)|拟议|考虑|疑似|据传|传闻|据称|不排除|怀疑|似乎|\b(?:appears?|seems?|suspect(?:s|ed)?|believed\sto|thought\sto|unclear|unconfirmed|maybe|may(?!\s(?:\d|not\b))|might|could|possibly|perhaps|reportedly|allegedly|potentially|considering|likely)\b")  # fmt: skip
_SURE = re.compile(r"(?<!不)确定|必定|必然|一定(?!程度|的)|肯定|绝对|证明|永久|唯一|从不|总是|彻底|打破|\b(?:certainly|definitely|always|prove[sd]?|proven|guarantee[sd]?|permanent(?:ly)?|undoubtedly|broke)\b")  # fmt: skip
_ALL = re.compile(
    r"所有|全部|一切|完全|\b(?:every|(?<!above )(?<!after )(?<!at )all|entire(?:ly)?|completely)\b"
)
_MOST_OF = re.compile(r"大多数|大部分|绝大|多数|\b(?:most of|most|majority)\b(?=\s(?:of|the)\b)")
_MOST_LIKE = re.compile(r"[多大主全]|所有|[%％]|成|\b(?:most\w*|major\w*|main\w*|all|every|per cent|percent|half|larg\w*|chief\w*|usual\w*|typical\w*|general\w*|widespread)\b")  # fmt: skip
_RANKED = re.compile(r"\b(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+th)[\s-](?:\w+est|most)\b|第[二三四五六七八九十\d]+[大高长老]")  # fmt: skip
_BEST = re.compile(r"最[大小高低长老早快]|\b(?:larg|bigg|tall|high|long|old|fast|small|deep)est\b|\bmost\s(?!of\b)\w+\b")  # fmt: skip
_MORE_BEFORE = re.compile(r"(?:多|增|升|涨|高|增加|up|more)(?:了|出|约|by|近)?\s?$")
_LESS_BEFORE = re.compile(r"(?:少|减|降|跌|低|down)(?:了|约|by|近)?\s?$")
_MORE_AFTER = re.compile(r"\s?(?:more|higher|larger|longer|above|up)\b")
_LESS_AFTER = re.compile(r"\s?(?:less|fewer|lower|smaller|shorter|below|down)\b")
_STRONG_WORDS = """
largest smallest highest lowest longest oldest fastest record
"""
_STRONG = frozenset(_STRONG_WORDS.split())
_AT_MOST = re.compile(r"[可提达至不约为\d]")
_DONE = re.compile(r"已|了|建成|完成|\b(?:(?:has|have|had)\s(?:since|already|now)|(?:has|have|had)\s(?:\w+ly\s|also\s|since\s|already\s|now\s|not\s|yet\s)?(?:\w+n|\w+ed|made|become|begun|led|put|cut|set|held|lost|left|kept|got|met|paid|sold|bought|built|found|told|said)|was|were|\w{2,}ed|won|lost|began|rose|fell|built|became|took|made|came|went|grew|sold|bought|paid|left|met|held|led|cut|spent|sent|set)\b")  # fmt: skip
_ONE_OF = re.compile(r"之一|\bone of\b|\bamong the\b")
_BETWEEN = tuple(
    re.compile(pattern)
    for pattern in (
        r"击败|战胜|力克|大胜|\b(?:beat|beats|defeat(?:s|ed)?|overc(?:o|a)me)\b",
        r"收购|并购|\b(?:acquire[sd]?|bought|buys|to buy|takes? over|took over)\b",
        r"起诉|状告|控告|\b(?:sue[sd]?|suing|accuse[sd]?)\b",
        r"批评|指责|\b(?:criticis\w+|criticiz\w+|blame[sd]?|praise[sd]?)\b",
        r"任命|聘请|\b(?:appoint\w*|hire[sd]?|fire[sd]?)\b",
        r"供应|出售给|卖给|借给|捐赠给|\b(?:sells?|sold|supplie[sd]|lent|lends|donated|gave|paid|pays)\b",
        r"袭击|攻击|入侵|\b(?:attack\w*|invade[sd]?|killed)\b",
        r"领先|落后|\b(?:leads?|led|overt(?:akes?|ook)|trail\w*|outs(?:ells?|old))\b",
        r"不敌|负于|输给|败给|\blost to\b",
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
            term.start <= match.start() < term.end
            and term.known
            and term.end - term.start > len(match[0])
            for term in sentence.terms
        ):
            yield match.span()
    for term in sentence.terms:
        if term.key in ("ban", "cancel") and _DENIES.match(sentence.text, term.start):
            yield term.start, term.end


def contrary(claim: Sentence, found: Sentence) -> tuple[Term, Term] | None:
    """A word of the claim that is negated in one of two sentences only, with its place in both."""
    mine, theirs = negated(claim), negated(found)
    if (not mine and not theirs) or _unequalled(claim.text, found.text):
        return None
    places: dict[str, list[int]] = {}
    for i, term in enumerate(found.terms):
        places.setdefault(term.key, []).append(i)
    first = [i for i in sorted(mine) if _tells(claim.terms[i]) and claim.terms[i].key in places]
    for i in first[:1]:
        at = places[claim.terms[i].key]
        clauses = {found.clause(found.terms[j].start) for j in at}
        denied_there = any(
            found.clause(start) in clauses
            for start, end in _negators(found)
            if _OF_VERB.fullmatch(found.text, start, end)
        )
        if not denied_there and not any(j in theirs for j in at):
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


_OF_VERB = re.compile(r"not|never|no longer|n't|cannot|can't|不再|不|未|没有|尚未|并未|从未")


def _unequalled(claim: str, found: str) -> bool:
    """Whether one says that something never was so, the other that it is the most or the first."""
    never, most = _NEVER.search, _UTMOST.search
    return bool((never(claim) and most(found)) or (never(found) and most(claim)))


_NEVER = re.compile(r"从未|从来没|前所未有|没有.{0,12}(?:比|能)|\b(?:never|no other|nobody else|no one else|none|unprecedented)\b|\bno\b.*\b(?:ever|yet|before|than)\b")  # fmt: skip
_UTMOST = re.compile(r"最|首|第一|唯一|纪录|新高|新低|\b(?:\w+est|most|least|first|only|record)\b")


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
    mine = {term.sense or term.key: term for term in reversed(claim.inside(clause))}
    its = {term.sense or term.key: term for term in reversed(found.inside(theirs))}
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


def reversed_roles(claim: Sentence, found: Sentence, known: frozenset[str]) -> tuple[Term, Term] | None:  # fmt: skip
    """A word that stands before what one does to the other, or before "than", where the passage has
    it behind, and another the other way round."""
    for pattern in _BETWEEN:
        mine, theirs = _sides(claim, pattern, known), _sides(found, pattern, known)
        if not mine or not theirs:
            continue
        (before, after), (first, second) = mine, theirs
        if before.keys() & first.keys() or after.keys() & second.keys():
            continue
        crossed = [key for key in before if key in second]
        if crossed and after.keys() & first.keys():
            return before[crossed[0]], second[crossed[0]]
        turned = [key for key in after if key in first and key in known]
        if turned and before.keys() & known:
            return after[turned[0]], first[turned[0]]
    return _turned_way(claim, found)


def _turned_way(claim: Sentence, found: Sentence) -> tuple[Term, Term] | None:
    """Where a way begins in the claim, if it ends there in the passage, and the other way round."""
    mine, theirs = _way(claim), _way(found)
    if mine and theirs and mine[0].key == theirs[1].key and mine[1].key == theirs[0].key:
        return mine[0], theirs[1]
    return None


_WAY = (re.compile(r"\bfrom\s(?!\d)|从|自(?=[^\d])"), re.compile(r"\b(?:to|for|into|towards?)\s(?!\d)|到|至|往|向"))  # fmt: skip


def _way(sentence: Sentence) -> tuple[Term, Term] | None:
    ends = []
    for pattern in _WAY:
        at = {match.end() for match in pattern.finditer(sentence.text)}
        ends.append(next((t for t in sentence.terms if t.start in at), None))
    start, end = ends
    return (start, end) if start and end else None


def _sides(sentence: Sentence, pattern: re.Pattern[str], known: frozenset[str]) -> tuple[dict[str, Term], dict[str, Term]] | None:  # fmt: skip
    match = pattern.search(sentence.text)
    if not match:
        return None
    telling = [t for t in sentence.terms if t.weight > 0.5]
    left = [t for t in telling if t.end <= match.start()]
    right = [t for t in telling if t.start >= match.end()]
    before = {t.key: t for t in left if t in left[-_CLOSE:] or t.key in known}
    after = {t.key: t for t in right if t in right[:_CLOSE] or t.key in known}
    head, tail = sentence.text[: match.start()], sentence.text[match.end() :]
    if _BY.match(tail) or (_BE.search(head) and _PASSIVE.search(tail)):
        return after, before
    if struck := _STRUCK.search(head):
        agents = {t.key: t for t in sentence.terms if struck.end() <= t.start < match.start()}
        objects = {t.key: t for t in sentence.terms if t.end <= struck.start() and t.weight > 0.5}
        return (agents, objects) if agents else None
    return None if _PASSIVE.search(sentence.text) else (before, after)


_CLOSE = 4  # words on each side of what one does to the other
_BY = re.compile(r"\s(?:\w+\s)?by\b")
_BE = re.compile(r"\b(?:is|are|was|were|been|being|be)\s(?:\w+ly\s)?$")
_STRUCK = re.compile(r"被|遭|由")


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


def firmer(claim: Sentence, found: Sentence, known: frozenset[str]) -> bool:
    """Whether a clause of the claim is more certain than the clauses of a sentence that say it."""
    for clause in claim.clauses:
        words = {t.key: 0.3 if t.key in known else t.weight for t in claim.inside(clause)}
        figures = [m for m in claim.measures if clause[0] <= m.start < clause[1]]
        level = claimed(claim.text[slice(*clause)])
        if sum(words.values()) < (_STATEMENT if level == 3 else 2 * _STATEMENT) or level == 1:
            continue
        shared = []
        before = 3
        for theirs in found.clauses:
            text = found.text[slice(*theirs)]
            sure = certainty(text)
            if _GOES_ON.match(text) and not _DONE.search(text):
                sure = min(sure, before)
            before = sure
            keys = {t.key for t in found.inside(theirs)}
            there = [m for m in found.measures if theirs[0] <= m.start < theirs[1]]
            both = sum(any(agrees(mine, m) for m in there) for mine in figures)
            shared.append((both + sum(w for key, w in words.items() if key in keys), sure))
        most = max(weight for weight, _ in shared)
        if most >= 0.4 * sum(words.values()) and level > max(s for w, s in shared if w >= 0.8 * most):  # fmt: skip
            return True
    return False


_STATEMENT = 1.5  # words that make a clause say something
_GOES_ON = re.compile(r"\s?(?:and|with|并|且|,|，)")


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
    many = _MOST_OF.search(claim)
    if many and not figures and not _MOST_LIKE.search(found):
        return many[0]
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
            if t.key in _STRONG
            and t.weight > 0.5
            and not _AT_MOST.match(claim.text, t.end)
            and not claim.text.startswith("recorded", t.start)
        ),
        None,
    )


def swapped(claim: Sentence, found: Sentence, known: frozenset[str]) -> tuple[Term, Term] | None:
    """Two names of the claim of which each is said to be or do what the passage says of the other."""
    mine, theirs = _said_of(claim, known), _said_of(found, known)
    both = [key for key in mine if key in theirs]
    for i, one in enumerate(both):
        for other in both[i + 1 :]:
            a, b, c, d = mine[one], mine[other], theirs[one], theirs[other]
            either = a.keys() & b.keys() | c.keys() & d.keys()
            straight = len((a.keys() & c.keys() | b.keys() & d.keys()) - either)
            first, second = a.keys() & d.keys() - either, b.keys() & c.keys() - either
            if first and second and straight == 0:
                return a[min(first)], d[min(first)]
    return None


def _said_of(sentence: Sentence, known: frozenset[str]) -> dict[str, dict[str, Term]]:
    """What a sentence says of each name: the words of its stretch that stand nearest to it."""
    places = [i for i, t in enumerate(sentence.terms) if t.key in known]
    clauses = [sentence.clause(sentence.terms[i].start) for i in places]
    found: dict[str, dict[str, Term]] = {}
    for n, i in enumerate(places):
        if clauses.count(clauses[n]) > 1:
            continue
        until = clauses[n + 1] if n + 1 < len(places) else len(sentence.clauses)
        words = {
            t.key: t
            for t in sentence.terms
            if clauses[n] <= sentence.clause(t.start) < until
            and t.key not in known
            and t.weight > 0.5
        }
        found.setdefault(sentence.terms[i].key, words)
    return found


_CAUSE = re.compile(r"因为|由于|导致|造成|引发|得益于|归功于|\b(?:because|caus(?:e|es|ed|ing)|due to|owing to|thanks to|led to|leads to|result(?:s|ed)? in|triggered)\b")  # fmt: skip
_CAUSE_LIKE = re.compile(r"因|由于|导致|造成|引发|得益|归功|受.*影响|致|使|令|让|随着|带动|推动|后|为|\b(?:because|as|after|since|caus\w*|due|owing|thanks|led|leads|result\w*|trigger\w*|so|by|amid|following|blam\w*|driv\w*|drove|help\w*|for|with|reason|explain\w*|attribut\w*|cit(?:es|ed|ing)|when|from|through|effect\w*|affect\w*|made|makes?)\b")  # fmt: skip


def causal(claim: str, found: str) -> str:
    """A word of the claim that makes one thing the cause of another, where the passage has none."""
    match = _CAUSE.search(claim)
    return match[0] if match and not _CAUSE_LIKE.search(found) else ""


def displaced(claim: Sentence, own: frozenset[str], found: Sentence, others: frozenset[str]) -> tuple[Term, Term] | None:  # fmt: skip
    """A name of the claim that stands apart from what it is said to be, where the sentence says that
    of another name."""
    names = [t for t in claim.terms if t.key in own and t.key in found.keys]
    said = {t.key: t.weight for t in claim.terms if t.key not in own and t.weight > 0.5}
    if not names or len(said) < 2:
        return None
    shares = []
    for clause in found.clauses:
        terms = found.inside(clause)
        shared = sum(said.get(key, 0.0) for key in {t.key for t in terms})
        shares.append((shared, terms))
    most, best = max(shares, key=lambda pair: pair[0])
    if most < 0.6 * sum(said.values()) or any(t.key in own for t in best):
        return None
    rest = max((shared for shared, terms in shares if any(t.key in own for t in terms)), default=0)
    rival = next((t for t in best if t.key in others), None)
    return (names[0], rival) if rival and rest < 1 else None
