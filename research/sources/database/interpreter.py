"""Questions about any described database to SQL, without a model: counts, sums, averages, highest and
lowest, by group, the first so many, lists with conditions, and trends over time.

A question is cut into what it mentions (`mentions`). Those pieces fill the places of a statement: what is
counted or summed, by what, of which rows, in which order. What fits no place, or could go to two, is named
and nothing is answered: so the interpreter can be at a loss, but not wrong in silence.

The table of what is counted or summed is the anchor. Others are joined to it by the relationships, on the
shortest way, if there is only one such. On the way to many rows (from a customer to invoices) figures would
be counted again and again: there conditions become subqueries, rows are counted once, and a sum is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from research.core.i18n import message, speaker
from research.core.records import Language
from research.core.text.nouns import plural
from research.core.text.numbers import number
from research.core.text.units import UNITS, Unit
from research.core.text.words import detect_language
from research.sources.database.asking import Interpretation, NotUnderstood
from research.sources.database.mentions import Forms, Item, Sense, asks, mentioned
from research.sources.database.schema import Column, Schema, Table, is_text
from research.sources.database.semantics import SemanticModel, TableModel, is_id

MOST = 500  # rows of a list or of groups
FIRST = 10  # of "the top customers", where nobody says how many
_AGGREGATES = {"sum": "SUM", "avg": "AVG", "max": "MAX", "min": "MIN"}
_SIGNS = {
    "more": ">", "less": "<", "at least": ">=", "at most": "<=", "exactly": "=",
    "or more": ">=", "or less": "<=",
}  # fmt: skip
_IDLE = frozenset(("span of", "whole", "which", "list", "and", "distinct", "to", "sum", "each", "between", "or", "spread"))  # fmt: skip
_HIGHEST = ("most", "max", "newest")
_LOWEST = ("least", "min", "oldest")
_UNSUMMED = re.compile("price|rate|ratio|percent|share|score|age|level|[价率比龄分]", re.I)
_BY = {"year": "by year", "quarter": "by quarter", "month": "by month", "day": "by day"}
_GRAINS = tuple(_BY)
_DATES = {
    "sqlite": {"month of year": "STRFTIME('%m', {0})", "day of year": "STRFTIME('%m-%d', {0})", "year": "STRFTIME('%Y', {0})", "month": "STRFTIME('%Y-%m', {0})", "day": "STRFTIME('%Y-%m-%d', {0})",
               "quarter": "STRFTIME('%Y', {0}) || '-Q' || ((CAST(STRFTIME('%m', {0}) AS INTEGER) + 2) / 3)"},
    "duckdb": {"month of year": "STRFTIME(CAST({0} AS TIMESTAMP), '%m')", "day of year": "STRFTIME(CAST({0} AS TIMESTAMP), '%m-%d')", "year": "STRFTIME(CAST({0} AS TIMESTAMP), '%Y')", "month": "STRFTIME(CAST({0} AS TIMESTAMP), '%Y-%m')", "day": "STRFTIME(CAST({0} AS TIMESTAMP), '%Y-%m-%d')",
               "quarter": "STRFTIME(CAST({0} AS TIMESTAMP), '%Y') || '-Q' || CAST(QUARTER(CAST({0} AS TIMESTAMP)) AS VARCHAR)"},
    "postgres": {"month of year": "TO_CHAR(CAST({0} AS TIMESTAMP), 'MM')", "day of year": "TO_CHAR(CAST({0} AS TIMESTAMP), 'MM-DD')", "year": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY')", "month": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-MM')", "day": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-MM-DD')",
                 "quarter": "TO_CHAR(CAST({0} AS TIMESTAMP), 'YYYY-\"Q\"Q')"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What the interpreter has to know of a database."""

    schema: Schema
    model: SemanticModel
    forms: Forms

    def table(self, called: str) -> Table:
        return next(table for table in self.schema.tables if table.called == called)

    def column(self, table: str, name: str) -> Column:
        return next(column for column in self.table(table).columns if column.name == name)

    def said(self, table: str) -> TableModel:
        return self.model.tables.get(table, TableModel())

    def row(self, table: str) -> tuple[str, ...]:
        """The columns by which a row is told, else its key."""
        keys = tuple(column.name for column in self.table(table).columns if column.key)
        return self.said(table).row or keys or (self.table(table).columns[0].name,)

    def key(self, table: str) -> str:
        """The one column by which rows are different, "" if there is none."""
        columns = self.table(table).columns
        keys = [column.name for column in columns if column.key]
        alone = keys if len(keys) == 1 else [c.name for c in columns if c.unique and c.needed]
        return alone[0] if alone else ""


def interpreted(question: str, lexicon: Lexicon) -> Interpretation:
    """A question as SQL.

    Raises:
        NotUnderstood: it has more in it, or less, than a statement is made of.
    """
    longest = max(map(len, lexicon.forms), default=0)
    items = mentioned(question, lexicon.forms, longest)
    if not items:
        raise NotUnderstood(question)
    return _Reader(question, lexicon, items).read()


@dataclass
class _Test:
    """A condition: what may be meant, of which one is taken, and what it must be."""

    senses: tuple[Sense, ...]
    said: str
    sign: str = "="
    figure: float = 0.0
    period: tuple[date | None, date | None] | None = None
    item: Item | None = None
    other: str = ""  # a column, in place of a figure


Measure = tuple[str, Item | None]  # an aggregate or "count" or "metric", and of what


@dataclass
class _Reader:
    whole: str
    lexicon: Lexicon
    items: list[Item]
    tests: list[_Test] = field(default_factory=list)
    values: list[Item] = field(default_factory=list)
    having: list[tuple[str, float]] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    groups: list[Item] = field(default_factory=list)
    grain: str = ""
    way: Literal["", "DESC", "ASC"] = ""
    limit: int = 0
    by: Item | None = None  # a column that rows are ordered by
    head: Item | None = None  # what is listed
    shown: list[Item] = field(default_factory=list)
    newest: bool = False  # ordered by the date of a row
    absent: list[Item] = field(default_factory=list)  # things of which a row has none
    parts: list[str] = field(default_factory=list)  # of the names of what is counted or listed
    units: tuple[Sense, ...] = ()  # in which figures are asked for
    spread: bool = False  # a distribution is asked for
    share: Item | None = None  # per what a figure is, on average

    @property
    def tongue(self) -> Language:
        return detect_language(self.whole)

    def read(self) -> Interpretation:
        for step in (
            self._periods, self._comparisons, self._lacking, self._parts, self._values, self._grains, self._counts,
            self._aggregates, self._ordinals, self._orders, self._grouped, self._heads, self._rest,
        ):  # fmt: skip
            step()
        return _Writer(self).written()

    # Looking around

    def _next(self, at: int, *over: str) -> Item | None:
        """The item after a place, but for those of the kinds `over`."""
        return next((i for i in self.items[at + 1 :] if i.kind not in over), None)

    def _before(self, at: int, *over: str) -> Item | None:
        return next((i for i in reversed(self.items[:at]) if i.kind not in over), None)

    def _open(self, *kinds: str) -> Iterator[tuple[int, Item]]:
        for at, item in enumerate(self.items):
            if not item.used and (not kinds or item.kind in kinds):
                yield at, item

    def _lost(self, *items: Item) -> NotUnderstood:
        return NotUnderstood(", ".join(item.text for item in items))

    def _figure(self, column: Sense) -> bool:
        """Whether a column has figures."""
        kind = self.lexicon.column(column.table, column.name).type
        return not (is_text(kind) or is_id(column.name) or self._dates(column))

    def _dates(self, column: Sense) -> bool:
        found = self.lexicon.column(column.table, column.name)
        return bool(re.search("DATE|TIME", found.type.upper())) or (
            self.lexicon.said(column.table).date == column.name
        )

    def _years(self, column: Sense) -> bool:
        """Whether a column has years as numbers."""
        label = self.lexicon.model.column(column.table, column.name).label
        said = f"{column.name} {label.en} {label.zh}"
        return self._figure(column) and bool(re.search(r"\byear\b|_year|年份|年度", said, re.I))

    def _narrow(self, item: Item, test: Callable[[Sense], bool]) -> bool:
        """Keeps the senses of an item that pass, if any does."""
        kept = tuple(sense for sense in item.senses if test(sense))
        item.senses = kept or item.senses
        return bool(kept)

    # Conditions

    def _periods(self) -> None:
        """Dates, and what stands before or behind them: since 2012, 2012 年以后, from one to another."""
        for at, item in self._open("date"):
            near = (self._touching(at, -1), self._touching(at, 1))
            if re.fullmatch(r"\d{4}", item.text) and item.measure and any(i is not None and i.kind in _SIGNS for i in near):  # fmt: skip
                year = float(item.text)  # more than 2000 is no year
                item.kind, item.period = "figure", None
                item.measure = replace(item.measure, kind="", low=year, high=year, parts=(None, None, None))  # fmt: skip
        for at, item in self._open("date"):
            if item.period is None and item.measure and item.measure.parts[1]:
                _, month, day = item.measure.parts
                senses, named = self._dated(at, at)
                item.used = True
                yearly = f"{month:02}-{day:02}" if day else f"{month:02}"
                self.tests.append(_Test(senses, item.text, other=yearly, item=named))
        dates = [at for at, item in self._open("date") if item.period]
        while dates:
            at = dates.pop(0)
            item = self.items[at]
            assert item.period
            start, end = item.period
            said, first, last = item.text, start, end
            after = self.items[at + 1 : at + 3]
            if len(after) > 1 and after[0].kind in ("to", "at most", "and") and after[1].kind == "date" and after[1].period:  # fmt: skip
                ahead = self._touching(at, -1)
                between = ahead is not None and ahead.kind == "between"
                if after[0].text.lower() in ("and", "和", "与", "及", "以及", "、", ",", "，") and not between:  # fmt: skip
                    raise self._lost(
                        item, after[1]
                    )  # in 2010 and 2012 is not from one to the other
                end = last = after[1].period[1]
                said = f"{item.text}–{after[1].text}"
                for each in after:
                    each.used = True
                dates = [place for place in dates if place > at + 2]
                at_end = at + 2
            else:
                at_end = at
            low: date | None = first
            high: date | None = last
            before, behind = self._touching(at, -1), self._touching(at_end, 1)
            word = next((w for w in (before, behind) if w and w.kind in ("after", "since", "before", "until", "between", "more", "less", "at least", "at most")), None)  # fmt: skip
            if word is not None and at_end == at:
                if word.kind in ("after", "more"):
                    low, high = last, None
                elif word.kind in ("since", "at least") or (word.kind == "between" and word is before):  # fmt: skip
                    low, high = first, None
                elif word.kind in ("before", "less"):
                    low, high = None, first
                elif word.kind in ("until", "at most"):
                    low, high = None, last
            if word is not None:
                word.used = True
                said = f"{word.text} {said}" if word is before else f"{said}{word.text}"
            item.used = True
            senses, named = self._dated(at, at_end)
            if named:
                named.used = True
            self.tests.append(_Test(senses, said, period=(low, high), item=named))

    def _touching(self, at: int, step: int) -> Item | None:
        place = at + step
        return self.items[place] if 0 <= place < len(self.items) and not self.items[place].used else None  # fmt: skip

    def _dated(self, at: int, end: int) -> tuple[tuple[Sense, ...], Item | None]:
        """The date column that a date is told of, if one is told beside it: hired in 2003."""
        for place in (at - 1, at - 2, end + 1):
            if 0 <= place < len(self.items):
                item = self.items[place]
                senses = tuple(s for s in item.of("column") if self._dates(s) or self._years(s))
                if senses and not item.used and not item.of("table"):
                    return senses, item
        return (), None

    def _columns_compared(self) -> None:
        """Two columns with a sign between them: 库存低于再订货点."""
        for at, item in list(self._open(*_SIGNS)):
            one, other = self._touching(at, -1), self._touching(at, 1)
            if one is None or other is None:
                continue
            pairs = [
                (a, b) for a in one.of("column") for b in other.of("column")
                if a.table == b.table and self._figure(a) and self._figure(b)
            ]  # fmt: skip
            if len(pairs) == 1:
                item.used = one.used = other.used = True
                said = f"{one.text} {_SIGNS[item.kind]} {other.text}"
                self.tests.append(_Test(pairs[0][:1], said, _SIGNS[item.kind], item=one, other=pairs[0][1].name))  # fmt: skip

    def _comparisons(self) -> None:
        """Figures with a sign: more than 10 albums, 单价高于 0.99, longer than 5 minutes."""
        self._columns_compared()
        for at, item in list(self._open("figure")):
            if item.used:
                continue
            assert item.measure
            sign, word = self._sign(at)
            if not sign:
                continue
            figure = item.measure
            if word is not None:
                word.used = True
            if word is not None and word.kind == "thing":
                senses = tuple(s for s in word.senses if s.compares)
                self._compare(senses, item, sign, word)
                item.used = True
                continue
            second = None
            if sign == "between":
                pair = self.items[at + 1 : at + 3]
                if len(pair) < 2 or pair[1].kind != "figure" or pair[0].kind not in ("to", "and", "at most"):  # fmt: skip
                    raise self._lost(item)
                pair[0].used = pair[1].used = True
                second = pair[1]
            place = self.items.index(second) if second else at
            after = self.items[place + 1 : place + 3]
            after = after[1:] if after and after[0].kind in ("or more", "or less") else after
            behind = after[0] if after and not after[0].used else None
            item.used = True
            counted = figure.kind in ("", "count", "people")
            if behind is not None and behind.of("metric") and not second and not behind.used:
                self.having.append((sign, figure.low))
                self.measures.append(("metric", behind))
                behind.used = True
                continue
            if counted and behind is not None and behind.of("table") and not second and not behind.used:  # fmt: skip
                ahead = self._measured(at)
                if not (ahead and self._near(ahead, at)):
                    self.having.append((sign, figure.low))
                    self.measures.append(("count", behind))
                    behind.used = True
                    continue
            figured = behind and any(self._figure(sense) for sense in behind.of("column"))
            column = self._measured(at) or (behind if figured else None)
            if column is None:
                column = self._by_unit(figure.kind)
            if column is None:
                raise self._lost(item)
            if not any(self._figure(sense) for sense in column.of("column")):
                column.used = True
                self.having.append((sign, figure.low))
                kind = "metric" if column.of("metric") else "count"
                self.measures.append((kind, column))
                continue
            column.used = True
            senses = tuple(s for s in column.of("column") if self._figure(s)) or column.of("column")
            if second is None:
                self._compare(senses, item, sign, column)
            else:
                self._compare(senses, item, ">=", column)
                self._compare(senses, second, "<=", column)

    def _near(self, item: Item, at: int) -> bool:
        return at - self.items.index(item) <= 2

    def _sign(self, at: int) -> tuple[str, Item | None]:
        """The sign of a figure, and the word that tells it."""
        before, behind = self._touching(at, -1), self._touching(at, 1)
        if behind is not None and behind.kind in ("or more", "or less"):
            return _SIGNS[behind.kind], behind
        if before is not None:
            if before.kind in _SIGNS:
                return _SIGNS[before.kind], before
            compares = {s.end for s in before.senses if s.compares}
            if compares:
                return (">" if "high" in compares else "<"), before
            if before.kind == "between":
                return "between", before
            if any(self._figure(s) and not s.end for s in before.of("column")) and not before.used:
                return "=", None  # 单价 1.99 的
        pair = self.items[at + 1 : at + 3]
        if len(pair) == 2 and pair[0].kind == "to" and pair[1].kind == "figure":
            return "between", None
        return "", None

    def _measured(self, at: int) -> Item | None:
        """The column, metric or counted thing before a comparison."""
        for item in reversed(self.items[max(0, at - 3) : at]):
            if item.kind == "count":
                continue
            figures = item.of("metric") or any(self._figure(s) for s in item.of("column"))
            if item.kind == "thing" and not item.used and (figures or self._counted_before(item)):
                return item
            if item.kind not in (*_SIGNS, "between", "sum", "to"):
                return None
        return None

    def _counted_before(self, item: Item) -> bool:
        after = self._next(self.items.index(item))
        return bool(item.of("table") and after and after.kind == "count")

    def _by_unit(self, kind: str) -> Item | None:
        """A column whose unit is of a figure's kind: 5 minutes, where one table has a duration."""
        if kind in ("", "count", "people"):
            return None
        senses = tuple(
            Sense("column", table, name)
            for table, said in self.lexicon.model.tables.items()
            for name, column in said.columns.items()
            if column.unit and any(unit.kind == kind for unit in UNITS.get(column.unit.lower(), ()))
        )
        tables = {s.table for item in self.items for s in item.of("table")}
        senses = tuple(s for s in senses if s.table in tables) or senses
        return Item("thing", "", 0, 0, senses) if senses else None

    def _unit_of(self, sense: Sense, kind: str) -> Unit | None:
        """The unit of a column, if it is of a kind."""
        unit = self.lexicon.model.column(sense.table, sense.name).unit.lower()
        return next((of for of in UNITS.get(unit, ()) if of.kind == kind), None)

    def _compare(self, senses: tuple[Sense, ...], item: Item, sign: str, told: Item) -> None:
        assert item.measure
        said = f"{told.text} {sign} {item.text}".strip()
        figure = item.measure
        made = []
        of_kind = tuple(s for s in senses if self._unit_of(s, figure.kind))
        senses = of_kind or senses
        for sense in senses:
            of = self._unit_of(sense, figure.kind)
            made.append((sense, figure.low / of.factor if of else figure.low))
        if len({value for _, value in made}) != 1:
            raise self._lost(told, item)
        self.tests.append(_Test(senses, said, sign, made[0][1], item=told))

    def _parts(self) -> None:
        for _, item in self._open("part"):
            item.used = True
            self.parts.append(item.text)

    def _lacking(self) -> None:
        """Rows without a value in a column: 没有公司, with no company."""
        for at, item in list(self._open("lacking")):
            column = self._touching(at, 1)
            if column is not None and column.of("column") and not column.of("table") and self._touching(at + 1, 1) is not None:  # fmt: skip
                behind = self._touching(at + 1, 1)  # who never placed an order
                if behind is not None and behind.of("table") and all(self._dates(s) for s in column.of("column")):  # fmt: skip
                    column.used, column = True, behind
            never = item.text.lower() in ("never", "从未", "从来没有", "未曾", "没有过")
            dated = (
                column is not None and never and all(self._dates(s) for s in column.of("column"))
            )
            if column is not None and (dated or (column.of("table") and not column.of("column"))):
                item.used = column.used = True
                self.absent.append(column)
                continue
            if column is None or not column.of("column") or column.of("table") or item.text in ("never", "从未", "从来没有", "未"):  # fmt: skip
                raise self._lost(item)
            item.used = column.used = True
            self.tests.append(_Test(column.of("column"), f"{item.text} {column.text}", "IS NULL", item=column))  # fmt: skip

    def _values(self) -> None:
        for _, item in self._open("thing"):
            flags = {(s.table, s.name) for s in item.of("value")}
            own = not item.of("table", "metric") and {(s.table, s.name) for s in item.of("column")} <= flags  # fmt: skip
            if item.of("value") and own:
                item.senses = item.of("value")
                for near in (self._touching(self.items.index(item), step) for step in (-1, 1)):
                    if near is not None and near.of("column") and {(s.table, s.name) for s in near.of("column")} & flags and not near.of("table", "value"):  # fmt: skip
                        near.used = True  # 状态是 Shipped
                item.used = True
                self.values.append(item)

    def _grains(self) -> None:
        """By year, month or day, and trends, which are by year if nobody says by what."""
        firsts = any(item.kind in ("first", "last", "newest", "oldest") for item in self.items)
        for _, item in self._open("day"):
            if firsts and not item.text.lower().endswith("ly"):
                item.kind = "when"  # 第一笔订单是哪一天下的
        for at, item in self._open(*_GRAINS):
            if self.grain and self.grain != item.kind:
                raise self._lost(item)
            self.grain, item.used = item.kind, True
            before = self._touching(at, -1)
            if before is not None and before.kind in ("each", "which"):
                before.used = True
        for _, item in self._open("trend"):
            self.grain, item.used = self.grain or "year", True
        for _, item in self._open("thing"):
            if (
                self.grain
                and not item.of("table")
                and any(self._dates(s) for s in item.of("column"))
            ):
                item.used = True
                self.groups.append(item)

    # What is counted, summed, listed

    def _counts(self) -> None:
        for at, item in self._open("thing"):  # 客户数量, where a column is called 数量 as well
            before = self._touching(at, -1)
            if item.of("column") and item.text in ("数量", "总数") and before is not None and before.of("table"):  # fmt: skip
                item.kind, item.senses = "count", ()
        for at, item in self._open(
            "count"
        ):  # 杭州的数量, where a column is called so and no table is named
            senses = self.lexicon.forms.get(item.text.removeprefix("的"), ())
            before, behind = self._touching(at, -1), self._touching(at, 1)
            near = [i for i in (before, behind) if i is not None and i.of("table")]
            if not near and any(s.kind == "column" and self._figure(s) for s in senses):
                item.kind, item.senses = "thing", senses
        for at, item in list(self._open("how many")):  # 多少订单, but not: 金额是多少
            behind = self._touching(at, 1)
            item.used = behind is None or not behind.of("table")
            item.kind = "count"
        for at, item in list(self._open("count")):
            item.used = True
            behind = (
                self._next(at, "distinct", "which", "each") if not self._each_next(at) else None
            )
            while behind is not None and behind in self.values:
                behind = self._next(self.items.index(behind), "distinct")
            before = self._before(at, "distinct", "sum")
            target = next(
                (each for each in (behind, before)
                 if each is not None and each.kind == "thing" and not each.used and each.of("table", "column", "metric")),
                None,
            )  # fmt: skip
            if target is None and len(self.items) > at + 1 and self.items[at + 1].of("column"):
                tables = {s.table for s in self.items[at + 1].of("column")}
                if self.items[at + 1].used and len(tables) == 1:  # 多少产品的库存低于…
                    only = Sense("table", tables.pop())
                    self.measures.append(("count", Item("thing", item.text, 0, 0, (only,))))
                    continue
            if target is None:
                alone = [i for _, i in self._open("thing") if i.of("table") and not i.of("column")]
                target = alone[0] if len(alone) == 1 else None
            sold = next(
                (i for _, i in self._open("thing") if i.of("metric") and not self._paid(i)), None
            )
            if sold is not None and (target is None or target.of("table")):
                if target is not None:
                    target.used = True
                target = sold  # how many tracks were sold: the quantity
            if target is None:
                if len(self.lexicon.schema.tables) == 1 and not self.measures:
                    only = Sense("table", self.lexicon.schema.tables[0].called)
                    self.measures.append(("count", Item("thing", item.text, 0, 0, (only,))))
                    continue  # how many rows
                figures = any(i.kind in ("sum", "avg") or self._summed(i) for _, i in self._open())
                if figures or any(kind == "count" for kind, _ in self.measures):
                    continue  # counted already: more than 10 albums
                raise self._lost(item)
            target.used = True
            if target.of("metric"):
                self.measures.append(("metric", target))
            elif not target.of("table") and any(self._figure(s) for s in target.of("column")):
                if any(True for _ in self._open("avg")):
                    target.used = False  # how many seats on average
                    continue
                self._narrow(target, lambda sense: sense.kind == "column" and self._figure(sense))
                self.measures.append(("sum", target))  # how many units in stock
            else:
                if all(s.kind == "column" and self._dates(s) for s in target.senses):
                    target.senses = tuple(
                        Sense("table", s.table) for s in target.senses
                    )  # 下单次数
                self.measures.append(("count", target))
            for _, word in self._open("distinct", "sum", "each"):
                word.used = word.used or word.kind != "each" or word.text == "不同"

    def _each_next(self, at: int) -> bool:
        after = self._next(at)
        return (
            after is not None and after.kind in ("each", "most", "least") and after.text != "不同"
        )

    def _aggregates(self) -> None:
        """Metrics, and figures that are summed or averaged."""
        for _, item in self._open("thing"):  # total tracks sold, where a column is called total
            metric = any(i.of("metric") for _, i in self._open("thing") if i is not item)
            if metric and item.text.lower() in ("total", "sum") and not item.of("metric"):
                item.kind, item.senses = "sum", ()
        for at, item in list(self._open("avg", "sum")):
            item.used = True
            behind = self._next(at, "sum", "distinct")
            if behind is not None and behind.kind == "each":  # 平均每张发票的金额
                inner = self._next(self.items.index(behind))
                further = self._next(self.items.index(inner)) if inner else None
                own = {s.table for s in further.of("column")} if further else set()
                if inner and own & {s.table for s in inner.of("table")}:
                    behind.used = inner.used = True
                    behind = further
            before = self._before(at)
            target = next((each for each in (behind, before) if each is not None and self._summed(each)), None)  # fmt: skip
            if target is None:
                later = next((i for _, i in self._open("thing") if self._summed(i)), None)
                target = later
            if (
                item.kind == "avg"
                and (target is None or target.of("metric"))
                and self._shared(target)
            ):
                continue
            if item.kind == "avg" and target is None and any(i.kind == "money" for i in self.items):
                sums = self._sums()
                if (
                    sums is not None
                    and any(True for _ in self._open("each"))
                    and self._shared(sums)
                ):
                    self.measures.append(("metric", sums))
                    continue
            money = any(i.kind == "money" for i in self.items)
            if target is None and item.kind == "sum" and any(i.of("metric") for _, i in self._open("thing")):  # fmt: skip
                continue  # total tracks sold
            if target is None and item.kind == "sum" and (self.measures or (money and not any(i.of("table") for _, i in self._open()))):  # fmt: skip
                continue
            if target is None:
                after = re.match("[总合]", item.text) and item.text not in (
                    "总共",
                    "总",
                )  # 付款总额
                beside = [self._touching(at, 1), self._touching(at, -1) if after else None]
                if money:
                    paid = self._paid_in()
                    beside = [i for _, i in self._open("thing") if {s.table for s in i.of("table")} & paid]  # fmt: skip
                thing = next((i for i in beside if i is not None and i.of("table")), None)
                if item.kind == "avg" and thing is not None and self._valued_at(thing):
                    continue
                target = (thing and self._only_figure(thing)) or (self._money() if item.kind == "avg" else None)  # fmt: skip
                if target is not None and thing is not None:
                    thing.used = True
            if target is None:
                raise self._lost(item)
            if target.of("metric"):
                if item.kind == "avg" and not self._averages(target):
                    raise self._lost(item)
                continue  # which the metrics below take
            self._narrow(target, lambda sense: sense.kind == "column" and self._figure(sense))
            target.used = True
            self.measures.append((item.kind, target))
        asked = any(i.kind == "money" and i.text.lower().startswith("how much") for i in self.items)
        for _, item in self._open("thing"):
            if item.of("metric"):
                item.used = True
                sums = self._sums() if asked and not self._paid(item) else None
                self.measures.append(("metric", sums or item))  # how much has each sold
        for _, item in list(self._open("money")):
            item.used = True
            if not self.measures and not any(
                i.of("column") and self._summed(i) for i in self.items
            ):
                sums = self._sums()
                if sums is None:
                    raise self._lost(item)
                self.measures.append(("metric", sums))

    def _shared(self, target: Item | None) -> bool:
        """Whether an average is that of a count or a sum per thing: tracks per album, spent by each
        customer. The thing is what stands behind "each", or before the figure."""
        if target is None and not any(kind == "count" for kind, _ in self.measures):
            return False
        each = next((at for at, item in self._open("each")), -1)
        thing = self._next(each) if each >= 0 else None
        if thing is None or not thing.of("table"):
            tables = [item for _, item in self._open("thing") if item.of("table")]
            thing = tables[0] if len(tables) == 1 and not target else None
        if thing is None or thing.used:
            return False
        if each >= 0:
            self.items[each].used = True
        thing.used, self.share = True, thing
        return True

    def _money(self) -> Item | None:
        """What is in money of the tables that are named, else the metrics that are."""
        tables = {s.table for item in self.items for s in item.of("table")}
        columns = tuple(
            Sense("column", table, name) for table in sorted(tables)
            for name, column in self.lexicon.said(table).columns.items() if _is_money(column.unit)
        )  # fmt: skip
        averages = any(item.kind == "avg" for item in self.items)
        return self._said_money(columns) if averages and columns else self._sums()

    def _valued_at(self, thing: Item) -> bool:
        """Whether an average of things in money is a metric over them: of orders, sales over orders."""
        sums = self._sums()
        if sums is None:
            return False
        tables = {s.table for s in thing.of("table") if self.lexicon.said(s.table).date}
        for sense in sums.of("metric"):
            ways = _ways(sense.table, self.lexicon.model)
            if any(_cost(ways.get(table)) < _MANY and table != sense.table for table in tables):
                thing.used, self.share = True, thing
                self.measures.append(("metric", replace(sums, senses=(sense,))))
                return True
        return False

    def _paid_in(self) -> set[str]:
        """The tables of what happens on a day and is nothing but money: payments, but not orders."""
        return {
            name for name, table in self.lexicon.model.tables.items()
            if table.date and (figure := self._only_figure(Item("", "", 0, 0, (Sense("table", name),)), True))
            and all(_is_money(table.columns[s.name].unit) for s in figure.senses if s.name in table.columns)
        }  # fmt: skip

    def _sums(self) -> Item | None:
        """The metrics that are sums of money."""
        metrics = self.lexicon.model.metrics
        paid = self._paid_in() - {metric.table for metric in metrics.values()}
        if paid and re.search(r"\bpa(?:y|id)|[付缴]", self.whole):
            return None  # not what was ordered
        return self._said_money(tuple(
            Sense("metric", metric.table, name) for name, metric in metrics.items()
            if _is_money(metric.unit) and "sum(" in metric.expression.lower()
        ))  # fmt: skip

    def _said_money(self, senses: tuple[Sense, ...]) -> Item | None:
        said = next((item.text for item in self.items if item.kind == "money"), "")
        return Item("thing", said, 0, 0, senses) if senses else None

    def _ordinals(self) -> None:
        """The first and the last of things that have a date, and when something was."""
        if len({item.kind for _, item in self._open("first", "last")}) == 2 and not self.measures:
            thing = next((i for _, i in self._open("thing") if i.of("table")), None)
            dates = tuple(Sense("column", s.table, self.lexicon.said(s.table).date) for s in thing.of("table") if self.lexicon.said(s.table).date) if thing else ()  # fmt: skip
            if thing and dates:
                for _, item in self._open("first", "last"):
                    item.used = True
                    self.measures.append(("min" if item.kind == "first" else "max", Item("thing", item.text, 0, 0, dates)))  # fmt: skip
                for _, item in self._open("thing"):
                    item.used = item.used or item is thing or set(item.of("column")) >= set(dates)
        for at, item in list(self._open("first", "last")):
            behind = self._next(at)
            figure = behind is not None and behind.kind == "figure"
            if self.measures or figure:
                item.kind = "top"
            elif behind is not None and behind.of("table"):
                item.kind = "oldest" if item.kind == "first" else "newest"
        for _, item in self._open("when"):
            item.used = True
            dated = any(self._dates(s) for i in self.items for s in i.of("column"))
            if not (dated or any(i.kind in ("newest", "oldest") for i in self.items)):
                raise self._lost(item)

    def _summed(self, item: Item) -> bool:
        if item.used or item.kind != "thing":
            return False
        return bool(item.of("metric")) or any(self._figure(sense) for sense in item.of("column"))

    def _paid(self, item: Item) -> bool:
        return any(_is_money(self.lexicon.model.metrics[s.name].unit) for s in item.of("metric"))

    def _averages(self, item: Item) -> bool:
        """Whether a metric is an average itself, of which "average" says nothing new."""
        metrics = self.lexicon.model.metrics
        return all("avg(" in metrics[s.name].expression.lower() for s in item.of("metric"))

    def _orders(self) -> None:
        """The most, the highest, the newest, the first so many."""
        for at, item in list(self._open("thing")):
            ends = {s.end for s in item.senses if s.end and not s.compares}
            behind = self._touching(at, 1)
            if (
                len(ends) == 1
                and behind is not None
                and any(self._figure(s) for s in behind.of("column"))
            ):
                item.kind, item.senses = ("max" if "high" in ends else "min"), ()  # smallest total
                continue
            if len(ends) == 1 and not item.of("table"):
                item.used = True
                self._ends(item, "DESC" if "high" in ends else "ASC")
                item.senses = tuple(s for s in item.senses if s.end)
                self.by = item
        for _, item in list(self._open("newest", "oldest")):
            item.used = True
            self._ends(item, "DESC" if item.kind == "newest" else "ASC")
            self.newest = True
        for at, item in list(self._open("most", "least")):
            item.used = True
            self._ends(item, "DESC" if item.kind == "most" else "ASC")
            if self.measures:
                continue
            target = self._by_most(at)
            if target is None:
                raise self._lost(item)
            target.used = True
            self.measures.append(("count" if target.of("table") else "sum", target))
        both = len({item.kind for _, item in self._open("max", "min")}) == 2
        for at, item in list(self._open("max", "min")):
            item.used = True
            if both:
                target = self._extreme(at) or (self.measures[-1][1] if self.measures else None)
                if target is None:
                    raise self._lost(item)
                target.used = True
                self.measures.append((item.kind, target))
                continue
            if self.measures:
                self._ends(item, "DESC" if item.kind == "max" else "ASC")
                continue
            target = self._extreme(at)
            if target is None:
                thing = self._next(at)
                figure = self._only_figure(thing) if thing is not None else None
                if figure is None:
                    raise self._lost(item)
                self._ends(item, "DESC" if item.kind == "max" else "ASC")
                self.by = figure
                continue
            target.used = True
            if self._listed(item):
                self._ends(item, "DESC" if item.kind == "max" else "ASC")
                self.by = target
            else:
                self.measures.append((item.kind, target))
            self._narrow(target, lambda s: s.kind == "column" and (self._figure(s) or self._dates(s)))  # fmt: skip
        for _, item in list(self._open("top")):
            item.used = True
            self.way = self.way or ("ASC" if item.text.lower() == "bottom" else "DESC")
            digits = re.search("[一二三四五六七八九十两]+", item.text)
            self.limit = int(number(digits[0]) or 0) if digits else self.limit or FIRST
        for _, item in list(self._open("figure")):
            assert item.measure
            whole = item.measure.low == item.measure.high and item.measure.low % 1 == 0
            if self.way and item.measure.kind in ("", "count", "people", "ordinal") and whole and 0 < item.measure.low <= MOST:  # fmt: skip
                item.used, self.limit = True, int(item.measure.low)
        for at, item in list(self._open("descending", "ascending", "sorted")):
            item.used = True
            if item.kind != "sorted":
                self.way = "DESC" if item.kind == "descending" else "ASC"
            else:
                self.way = self.way or "DESC"
                before, behind = self._touching(at, -1), self._touching(at, 1)
                column = next((c for c in (behind, before) if c is not None and c.of("column")), None)  # fmt: skip
                if column is not None and not self.measures:
                    mark = self._touching(self.items.index(column), -1)
                    if mark is not None and mark.kind == "each":
                        mark.used = True

        if self.way and not self.measures and self.by is None and not self.newest:
            figures = [i for _, i in self._open("thing") if any(self._figure(s) for s in i.of("column"))]  # fmt: skip
            tables = {s.table for _, i in self._open("thing") if i not in figures for s in i.of("table")}  # fmt: skip
            if figures and len({i.of("column") for i in figures}) == 1:
                column = figures[0]
                for each in figures:
                    each.used = True
                own = any(sense.table in tables for sense in column.of("column"))
                self.by = column if own else None
                self.measures += [] if own else [("sum", column)]

    def _ends(self, item: Item, way: Literal["DESC", "ASC"]) -> None:
        if self.way and self.way != way:
            raise self._lost(item)
        several = any(word.kind == "which" and (word.text in ("哪些", "有哪些") or word.text.startswith("哪几")) for word in self.items)  # fmt: skip
        self.way, self.limit = way, self.limit or (FIRST if several else 1)

    def _by_most(self, at: int) -> Item | None:
        """What there is most of: behind it (the most albums), or before it (专辑最多)."""
        behind, before = self._next(at), self._before(at)
        order = (before, behind) if self.tongue == "zh" else (behind, before)
        for item in order:
            if item is not None and not item.used and item.kind == "thing" and (item.of("table") or self._summed(item)):  # fmt: skip
                return item
        return None

    def _extreme(self, at: int) -> Item | None:
        behind, before = self._next(at), self._before(at)
        order = (before, behind) if self.tongue == "zh" else (behind, before)
        for item in order:
            if item is not None and item.kind == "thing" and not item.used and any(self._figure(s) or self._dates(s) for s in item.of("column")):  # fmt: skip
                return item
        return next((item for _, item in self._open("thing") if any(self._figure(s) for s in item.of("column"))), None)  # fmt: skip

    def _only_figure(self, thing: Item, alone: bool = False) -> Item | None:
        """The one figure that a table has, or the one in money: of the biggest payment its amount."""
        for sense in thing.of("table"):
            columns = [
                c.name for c in self.lexicon.table(sense.table).columns if not (c.key or c.refers)
            ]
            figures = [name for name in columns if self._figure(Sense("column", sense.table, name))]
            paid = [name for name in figures if _is_money(self.lexicon.model.column(sense.table, name).unit)]  # fmt: skip
            for found in (figures,) if alone else (figures, paid):
                if len(found) == 1:
                    return Item(
                        "thing", thing.text, 0, 0, (Sense("column", sense.table, found[0]),)
                    )
        return None

    def _listed(self, item: Item) -> bool:
        """Whether the row is asked for that has the highest, not the figure alone."""
        marks = {word.kind for word in self.items}
        tables = [i for i in self.items if i.of("table") and not i.used]
        which = any(w.kind == "which" and w.text.lower() not in ("what is", "what's", "whats", "what are", "what", "是什么", "什么") for w in self.items)  # fmt: skip
        figures = any(w.kind == "figure" and not w.used for w in self.items)
        if tables:
            return which or figures or bool(marks & {"top", "list"})
        behind = self._next(self.items.index(item))  # 金额最高的产品, where no table is named
        texts = behind is not None and bool(behind.of("column")) and not any(map(self._figure, behind.of("column")))  # fmt: skip
        return (texts and self.tongue == "zh") or (
            which and any(i.of("column") for _, i in self._open())
        )

    def _grouped(self) -> None:
        """By what: per country, 各国家, which country has the most, the distribution over them."""
        for at, item in list(self._open("each", "spread")):
            item.used = True
            if not self.measures:
                self.spread = self._per(at) and item.kind == "spread"
                if not self.measures:
                    continue
            behind = self._next(at, "and", "distinct", "each")
            if item.kind == "spread":
                continue
            if behind is not None and behind in self.values:
                continue  # albums by AC/DC
            while behind is not None and not behind.used and behind.of("table", "column"):
                behind.used = True
                self.groups.append(behind)
                place = self.items.index(behind)
                and_ = self._touching(place, 1)
                if and_ is None or and_.kind != "and":
                    break
                following = self._next(place + 1, "each")
                if following is None or not following.of("table", "column") or following.used:
                    break
                and_.used, behind = True, following
        if self.grain and not self.measures:
            self._figured(Item("", "", 0, 0))
        own = {s.table for _, i in self.measures if i for s in i.of("column") if not i.of("table")}
        if {kind for kind, _ in self.measures} == {"avg"} or any(i.text.lower() in ("across", "every") for i in self.items):  # fmt: skip
            self.groups = [g for g in self.groups if not ({s.table for s in g.of("table")} & own)]
        if not self.measures or self.groups:
            return
        if not (self.way or self.having or self.spread):
            return
        open_ = [item for _, item in self._open("thing") if item.of("table", "column")]
        marked = [
            item for item in open_
            if (before := self._before(self.items.index(item), "figure", "most", "least", "max", "min")) is not None
            and before.kind in ("which", "top", "list")
        ]  # fmt: skip
        chosen = marked or (open_[-1:] if self.tongue == "zh" else open_[:1])
        for item in chosen[:1]:
            whose = [i for i in open_ if i is not item and not item.of("table")
                     and {s.table for s in i.of("table")} & {s.table for s in item.of("column")}]  # fmt: skip
            for each in (*whose[:1], item):
                each.used = True
                self.groups.append(each)

    def _per(self, at: int) -> bool:
        """Whether something is told per group without saying how: freight by country is summed, customers
        across regions are counted. Prices are not summed."""
        if self.items[at].kind == "spread":
            things = [i for _, i in self._open("thing") if i.of("table")]
            if things:
                things[0].used = True
                self.measures.append(("count", things[0]))
            return bool(things)
        behind = self._next(at, "distinct", "each")
        if behind is None or not behind.of("table", "column") or behind in self.values:
            return False
        return self._figured(behind)

    def _figured(self, besides: Item) -> bool:
        """Sums the one figure that is named, if it may be summed."""
        figures = [
            i for _, i in self._open("thing")
            if i is not besides and not i.of("table") and any(self._figure(s) for s in i.of("column"))
        ]  # fmt: skip
        things = [i for _, i in self._open("thing") if i.of("table") and i is not besides]
        told = any(i.kind in ("list", "which") for i in self.items)
        if not figures and len(things) == 1 and besides.kind and not (self.way or self.by or told):
            things[0].used = True  # orders by country
            self.measures.append(("count", things[0]))
            return True
        if len(figures) != 1 or self.way or self.by:
            return False
        if any(_UNSUMMED.search(f"{s.name} {figures[0].text}") for s in figures[0].of("column")):
            raise self._lost(figures[0])
        self._narrow(figures[0], lambda sense: sense.kind == "column" and self._figure(sense))
        figures[0].used = True
        self.measures.append(("sum", figures[0]))
        return True

    def _heads(self) -> None:
        """What is listed, where nothing is counted or summed."""
        open_ = [item for _, item in self._open("thing") if item.of("table", "column")]
        if self.measures or not open_:
            return
        tables = [item for item in open_ if item.of("table")]
        told = any(item.kind in ("list", "which", "distinct") for item in self.items)
        if not tables and not told and not self.way and len(open_) == 1 and self._figured(Item("", "", 0, 0)):  # fmt: skip
            return
        if not tables:
            self.head = None
            self.shown = open_
        else:
            marked = [
                item for item in tables
                if (before := self._before(self.items.index(item), "figure", "top", "newest", "oldest", "distinct")) is not None
                and before.kind in ("which", "list", "count")
            ]  # fmt: skip
            self.head = (marked or (tables[-1:] if self.tongue == "zh" else tables[:1]))[0]
            self.shown = [item for item in open_ if item is not self.head and item.of("column") and not item.of("table")]  # fmt: skip
        for item in (*self.shown, *([self.head] if self.head else [])):
            item.used = True

    def _rest(self) -> None:
        """Words that have done their part, and things that only say of which table something is."""
        for _, item in self._open():
            if item.kind in _IDLE or (item.kind == "count" and self.measures):
                item.used = True
        counted = {s.table for _, item in self.measures if item for s in item.senses}
        for _, item in self._open("thing"):  # which customer has placed the most orders
            dates = item.of("column") and all(self._dates(s) for s in item.of("column"))
            if dates and not item.of("table") and {s.table for s in item.of("column")} & counted:
                item.used = True
        asked = [*(i for _, i in self.measures if i), *self.shown, *([self.by] if self.by else [])]
        columns = {(s.table, s.name) for i in asked for s in i.of("column")}
        for _, item in self._open("thing"):
            units = [s for s in item.of("unit") if (s.table, s.name) in columns]
            if units and not self.units:
                item.used, self.units = True, tuple(units)
        if any(unit.ratio != 1 for unit in self.units) and not self.measures:
            raise self._lost(*(i for i in self.items if i.of("unit")))
        paid = {
            self.lexicon.model.metrics[s.name].unit for _, i in self.measures if i for s in i.of("metric")
        }  # fmt: skip
        for _, item in self._open("thing"):
            told = {self.lexicon.model.column(s.table, s.name).unit for s in item.of("unit") if s.ratio == 1}  # fmt: skip
            item.used = item.used or bool(told & paid) or asks(item.text.lower())
        left = [item for _, item in self._open() if not item.of("table")]
        if left:
            raise self._lost(*left)
        if len(self.values) > 1 and any(item.kind == "or" for item in self.items):
            meant = {sense.name for item in self.values for sense in item.of("value")}
            if len(meant) > 1 and not set.intersection(*({s.name for s in item.of("value")} for item in self.values)):  # fmt: skip
                raise self._lost(*self.values)

    @property
    def beside(self) -> list[Item]:
        """Tables that are named without being counted, listed or grouped by."""
        return [item for _, item in self._open("thing") if item.of("table")]


# The statement


@dataclass(frozen=True, slots=True)
class _Way:
    """From the anchor to a table: the links that are gone, and whether one leads to many rows."""

    links: tuple[tuple[str, str, str, str], ...] = ()
    many: bool = False


class _Writer:
    """Writes the statement for what was read."""

    def __init__(self, read: _Reader) -> None:
        self._read, self._lexicon = read, read.lexicon
        self._say = speaker(read.tongue, "reading.")
        self._joined: dict[str, None] = {}  # links as SQL, in their order
        self._grain: Sense | None = None
        self._dims: list[tuple[Item, Sense]] = []
        self._through = False  # what is grouped by lies at many rows
        self._anchor = self._anchored()
        self._ways = _ways(self._anchor, self._lexicon.model)

    def _anchored(self) -> str:
        """The table of what is counted, summed or listed."""
        read = self._read
        tables = {sense.table for item in read.beside for sense in item.of("table")}
        candidates: list[set[str]] = []
        for kind, item in read.measures:
            assert item
            senses = item.of("metric") if kind == "metric" else item.of("table") or item.of("column")  # fmt: skip
            candidates.append({sense.table for sense in senses})
        if not candidates:
            items = [read.head] if read.head else [*read.shown, *([read.by] if read.by else [])]
            candidates = [{s.table for s in (item.of("table") or item.of("column"))} for item in items if item]  # fmt: skip
        if not candidates:
            raise NotUnderstood(read.whole)
        common = set.intersection(*candidates)
        if not common:
            raise NotUnderstood(", ".join(item.text for _, item in read.measures if item))
        if len(common) > 1 and common & tables:
            common &= tables
        if len(common) > 1:
            return self._nearest(common)
        return common.pop()

    def _nearest(self, common: set[str]) -> str:
        """Of several tables the one from which all else that is named is reached without going to many."""
        read = self._read
        asked = [item.senses for item in (*read.groups, *read.values, *read.beside)]
        asked += [test.senses for test in read.tests if test.senses]
        worth = {}
        for table in common:
            ways = _ways(table, self._lexicon.model)
            cost = 0.0
            for senses in asked:
                cost += min((_cost(ways.get(sense.table)) for sense in senses), default=0)
            worth[table] = cost
        best = min(worth.values())
        found = [table for table, cost in worth.items() if cost == best]
        found = [table for table in found if not self._lexicon.table(table).view] or found
        if len(found) > 1 and any(kind == "metric" for kind, _ in read.measures):
            return next(m.table for m in self._lexicon.model.metrics.values() if m.table in found)
        if len(found) > 1:
            raise NotUnderstood(
                self._which([*(i for _, i in read.measures if i), *read.shown], found)
            )
        return found[0]

    def _which(self, items: Sequence[Item], tables: Sequence[str]) -> str:
        told = ", ".join(item.text for item in items)
        return f"{told} ({' / '.join(sorted(tables))})"

    def written(self) -> Interpretation:
        read = self._read
        self._grouped_by()
        tests = [self._condition(item) for item in self._valued()] + [self._test(test) for test in read.tests]  # fmt: skip
        tests += [self._absent(item) for item in read.absent]
        tests += [self._part(part) for part in read.parts]
        return self._aggregate(tests) if read.measures else self._list(tests)

    def _grouped_by(self) -> None:
        """Joins what is grouped by, so that conditions hold for the same rows."""
        read = self._read
        if read.grain and read.measures:
            self._grain = self._date(tuple(s for i in read.groups for s in i.of("column") if read._dates(s)))  # fmt: skip
            self._joining(self._grain.table)
        if not read.measures:
            return
        for item in read.groups:
            if not (read.grain and any(read._dates(s) for s in item.of("column"))):
                sense = self._chosen(item, item.of("table", "column"))
                self._dims.append((item, sense))
                self._joining(sense.table)

    def _joining(self, table: str) -> None:
        way = self._ways[table]
        self._through = self._through or way.many
        self._join(way)

    # Conditions

    def _valued(self) -> list[tuple[Sense, list[tuple[str, ...]], str]]:
        """The values by the columns that have them, those of one column together."""
        found: dict[tuple[str, str], tuple[Sense, list[tuple[str, ...]], list[str]]] = {}
        shared: set[str] | None = None
        for item in self._read.values:
            names = {sense.name for sense in item.of("value")}
            shared = names if shared is None else shared & names
        for item in self._read.values:
            sense = self._chosen(item, item.of("value"), shared or set())
            _, rows, said = found.setdefault((sense.table, sense.name), (sense, [], []))
            rows.append(tuple(value for _, value in sense.equals))
            said.append(item.text)
        return [(sense, rows, ", ".join(said)) for sense, rows, said in found.values()]

    def _chosen(self, item: Item, senses: Sequence[Sense], shared: Iterable[str] = ()) -> Sense:
        """The sense that is nearest to the anchor; a table that is named beside it comes first."""
        at = self._read.items.index(item) if item in self._read.items else -1
        around = self._read.items[max(0, at - 1) : at + 2] if at >= 0 else []
        beside = {s.table for other in around if other is not item for s in other.of("table", "column")}  # fmt: skip
        order = sorted(
            senses,
            key=lambda s: (*self._rank(s, beside), s.kind != "table", s.name not in shared),
        )
        first = order[0]
        named = [s for s in senses if s.kind == "value" and s.name in self._lexicon.row(s.table) and _cost(self._ways.get(s.table)) < float("inf")]  # fmt: skip
        if named and first not in named:  # U2 的曲目: by a band of that name, or composed by it?
            raise NotUnderstood(self._which([item], [f"{s.table}.{s.name}" for s in (first, named[0])]))  # fmt: skip
        rivals = [s for s in order[1:] if self._rank(s, beside) == self._rank(first, beside)]
        if first.kind == "table":  # its name, and the column that has its names, are one
            rivals = [s for s in rivals if s.table != first.table]
        if _cost(self._ways.get(first.table)) == float("inf"):
            raise NotUnderstood(item.text)
        if rivals and first.name not in shared:
            raise NotUnderstood(self._which([item], [f"{s.table}.{s.name}" for s in (first, *rivals)]))  # fmt: skip
        return first

    def _rank(self, sense: Sense, beside: set[str]) -> tuple[bool, bool, float]:
        """What comes first of the senses: of a table that is named beside, a name of a thing, a near one."""
        names = sense.kind == "value" and sense.name in self._lexicon.row(sense.table)
        return sense.table not in beside, not names, _cost(self._ways.get(sense.table))

    def _condition(self, found: tuple[Sense, list[tuple[str, ...]], str]) -> tuple[str, str]:
        sense, rows, said = found
        columns = [self._name(sense.table, column) for column, _ in sense.equals]
        if len(columns) == 1:
            texts = [_text(row[0]) for row in rows]
            test = f"{columns[0]} = {texts[0]}" if len(texts) == 1 else f"{columns[0]} IN ({', '.join(texts)})"  # fmt: skip
        else:
            each = [" AND ".join(f"{c} = {_text(v)}" for c, v in zip(columns, row, strict=True)) for row in rows]  # fmt: skip
            test = " OR ".join(f"({one})" for one in each) if len(each) > 1 else each[0]
            test = f"({test})" if len(each) > 1 else test
        label = self._label(sense.table, sense.name)
        return self._reached(sense.table, test), self._told(label, said)

    def _test(self, test: _Test) -> tuple[str, str]:
        if test.other and test.sign == "=" and (not test.senses or test.other[0].isdigit()):
            sense = self._date(test.senses)
            form = "month of year" if len(test.other) == 2 else "day of year"
            column = _DATES[self._lexicon.schema.dialect][form].format(self._name(sense.table, sense.name))  # fmt: skip
            told = self._told(self._label(sense.table, sense.name), test.said)
            return self._reached(sense.table, f"{column} = '{test.other}'"), told
        if test.period:
            sense = self._date(test.senses)
            column = self._name(sense.table, sense.name)
            low, high = test.period
            if self._read._years(sense):
                years = [f"{column} >= {low.year}" if low else "", f"{column} < {high.year}" if high else ""]  # fmt: skip
                told = self._told(self._label(sense.table, sense.name), test.said)
                return self._reached(sense.table, " AND ".join(filter(None, years))), told
            parts = [f"{column} >= '{low}'" if low else "", f"{column} < '{high}'" if high else ""]
            told = self._told(self._label(sense.table, sense.name), test.said)
            return self._reached(sense.table, " AND ".join(filter(None, parts))), told
        sense = self._chosen(test.item or Item("thing", test.said, 0, 0), test.senses)
        column = self._name(sense.table, sense.name)
        value = "" if test.sign == "IS NULL" else f" {test.figure:g}"
        value = f" {self._name(sense.table, test.other)}" if test.other else value
        return self._reached(sense.table, f"{column} {test.sign}{value}"), test.said

    def _date(self, senses: Sequence[Sense] = ()) -> Sense:
        """The date column: that which is named, else that of the anchor or of the nearest table that has
        one."""
        if senses:
            return min(senses, key=lambda s: _cost(self._ways.get(s.table)))
        dated = [
            Sense("column", name, table.date) for name, table in self._lexicon.model.tables.items()
            if table.date and _cost(self._ways.get(name)) < _MANY
        ]  # fmt: skip
        counts = all(kind == "count" for kind, _ in self._read.measures)
        if not dated and counts:  # rows may be counted, and listed, by what lies at many
            dated = [Sense("column", name, table.date) for name, table in self._lexicon.model.tables.items() if table.date and name in self._ways and name in {s.table for i in self._read.items for s in i.of("table")}]  # fmt: skip
        dated.sort(key=lambda s: _cost(self._ways.get(s.table)))
        if not dated:
            raise NotUnderstood(self._read.tests[0].said if self._read.tests else self._read.grain)
        if len(dated) > 1 and _cost(self._ways[dated[0].table]) == _cost(self._ways[dated[1].table]):  # fmt: skip
            raise NotUnderstood(self._which([], [f"{s.table}.{s.name}" for s in dated[:2]]))
        return dated[0]

    def _beside(self, item: Item) -> None:
        """A table that is named beside: it has to be on a way that is gone anyhow, or to hold what is
        asked for; a table of many asks for rows that have one there."""
        tables = {sense.table for sense in item.of("table")}
        used = {self._anchor} | {end for told in self._joined for end in told.split("\0")[:2]}
        used |= {sense.table for test in self._read.values for sense in test.of("value")}
        used |= {sense.table for each in self._read.groups for sense in each.senses}
        used |= {sense.table for test in self._read.tests for sense in test.senses}
        before = self._read._before(self._read.items.index(item))
        whole = before is not None and before.kind == "whole"  # of all orders: nothing less
        if tables & used or (whole and any(_cost(self._ways.get(t)) < _MANY for t in tables)):
            return
        raise NotUnderstood(item.text)

    def _part(self, part: str) -> tuple[str, str]:
        """A condition on the name of a row, of any case."""
        if self._read.measures and not any(s.table == self._anchor for _, i in self._read.measures if i for s in i.of("table")):  # fmt: skip
            raise NotUnderstood(part)
        column = self._lexicon.row(self._anchor)[0]
        like = _text(f"%{part.lower()}%")
        told = self._told(self._label(self._anchor, column), f"…{part}…")
        return f"LOWER({self._name(self._anchor, column)}) LIKE {like}", told

    def _absent(self, item: Item) -> tuple[str, str]:
        """A condition for rows to which none of another table refers."""
        tables = [s.table for s in item.of("table", "column") if s.table in self._ways]
        way = self._ways[tables[0]] if tables else _Way()
        told = self._say("none", things=item.text)
        if way.many:
            return self._reached(tables[0], ""), told
        if len(way.links) != 1:
            raise NotUnderstood(item.text)
        return f"{self._name(self._anchor, way.links[0][1])} IS NULL", told

    def _reached(self, table: str, test: str) -> str:
        """A condition on a table: joined, or where the way leads to many rows, in a subquery; without a
        condition, that there is no such row."""
        way = self._ways[table]
        if not way.many or (test and all(_linked(link) in self._joined for link in way.links)):
            self._join(way)
            return test
        at = next(n for n, link in enumerate(way.links) if _to_many(link, self._at(way, n)))
        for link in way.links[:at]:
            self._add(link)
        start = self._at(way, at)
        near, far = self._sides(way.links[at], start)
        inner = [self._source(far[0])]
        place = far[0]
        for link in way.links[at + 1 :]:
            table_, on = self._on(link, place)
            inner.append(f"JOIN {self._source(table_)} ON {on}")
            place = table_
        sign, test = ("IN", test) if test else ("NOT IN", f"{self._name(*far)} IS NOT NULL")
        return f"{self._name(start, near)} {sign} (SELECT {self._name(*far)} FROM {' '.join(inner)} WHERE {test})"  # fmt: skip

    def _at(self, way: _Way, number: int) -> str:
        """The table from which a link of a way starts."""
        place = self._anchor
        for link in way.links[:number]:
            place = link[2] if link[0] == place else link[0]
        return place

    def _sides(self, link: tuple[str, str, str, str], start: str) -> tuple[str, tuple[str, str]]:
        """The column of a link in the table where it starts, and table and column of its other end."""
        here, mine, there, other = link
        return (mine, (there, other)) if here == start else (other, (here, mine))

    def _on(self, link: tuple[str, str, str, str], start: str) -> tuple[str, str]:
        near, far = self._sides(link, start)
        return far[0], f"{self._name(start, near)} = {self._name(*far)}"

    def _join(self, way: _Way) -> None:
        for link in way.links:
            self._add(link)

    def _add(self, link: tuple[str, str, str, str]) -> None:
        self._joined[_linked(link)] = None

    def _from(self) -> str:
        told = [self._source(self._anchor)]
        there = {self._anchor}
        for joined in self._joined:
            here, other, mine, theirs = joined.split("\0")
            link = (here, mine, other, theirs)
            start = here if here in there else other
            table, on = self._on(link, start)
            if table in there:
                continue
            there.add(table)
            told.append(f"JOIN {self._source(table)} ON {on}")
        return " ".join(told)

    # Lists and figures

    def _aggregate(self, tests: list[tuple[str, str]]) -> Interpretation:
        read = self._read
        chosen: list[tuple[str, str, str]] = []  # SQL, name, in words
        dims: list[tuple[str, str, str]] = []
        many, order = self._through, ""
        if self._grain:
            sense = self._grain
            text = _DATES[self._lexicon.schema.dialect][read.grain].format(self._name(sense.table, sense.name))  # fmt: skip
            dims.append((text, read.grain, self._say(_BY[read.grain])))
            order = text
        grouped: list[str] = []
        for _, sense in self._dims:
            if sense.kind == "table":
                key = self._lexicon.key(sense.table)
                names = self._lexicon.row(sense.table)
                if key and key not in names:
                    grouped.append(self._name(sense.table, key))
                dims += [(self._name(sense.table, name), name, self._thing(sense.table)) for name in names]  # fmt: skip
            else:
                dims.append((self._name(sense.table, sense.name), sense.name, self._label(sense.table, sense.name)))  # fmt: skip
        divisor = ""
        if read.share:
            of = self._chosen(read.share, read.share.of("table")).table
            way, key = self._ways[of], self._lexicon.key(of)
            if way.many or not key:
                raise NotUnderstood(read.share.text)
            self._join(way)
            divisor = f"COUNT(DISTINCT {self._name(of, key)})"
        told_once: set[tuple[str, int]] = set()
        for kind, measure in read.measures:
            assert measure
            if (kind, id(measure)) in told_once:
                continue
            told_once.add((kind, id(measure)))
            figure = self._measure(kind, measure, many)
            if divisor and read.share:
                what = self._say("per", what=figure[2], by=read.share.text)
                figure = (f"1.0 * {figure[0]} / {divisor}", f"average_{figure[1]}", what)
            chosen.append(figure)
        if not order:
            order = f"{chosen[0][0]} {read.way or 'DESC'}"
        elif read.way and read.limit:
            order = f"{chosen[0][0]} {read.way}"
        for item in read.beside:
            self._beside(item)
        dims = list({text: (text, name, said) for text, name, said in dims}.values())
        columns = _named([(text, name) for text, name, _ in (*dims, *chosen)])
        sql = f"SELECT {', '.join(columns)} FROM {self._from()}{_where(tests)}"
        said = [text for _, _, text in chosen]
        by = list(dict.fromkeys(text for _, _, text in dims))
        if dims:
            sql += f" GROUP BY {', '.join([*grouped, *(text for text, _, _ in dims)])}"
            if read.having:
                told = [f"{chosen[0][0]} {sign} {figure:g}" for sign, figure in read.having]
                sql += f" HAVING {' AND '.join(told)}"
            sql += f" ORDER BY {order} LIMIT {read.limit or MOST}"
        elif read.having or (read.way and read.limit):
            raise NotUnderstood(", ".join(item.text for item in read.items if item.kind in (*_HIGHEST, *_LOWEST, "top", "figure")) or read.whole)  # fmt: skip
        return self._reading(sql, said, by, tests, shape="group" if dims else "")

    def _measure(self, kind: str, item: Item, many: bool) -> tuple[str, str, str]:
        """A figure: its SQL, its name, and how it is told."""
        if kind == "metric":
            senses = [s for s in item.of("metric") if s.table == self._anchor]
            metric = self._lexicon.model.metrics[senses[0].name]
            if many:
                raise NotUnderstood(self._many(item))
            label = getattr(metric.label, self._read.tongue) or item.text
            return self._expression(metric.expression, metric.table), senses[0].name, label
        tables = [s for s in item.of("table") if s.table == self._anchor]
        if kind == "count" and tables:
            thing = self._say("count", things=self._things(self._anchor))
            if not many:
                return "COUNT(*)", "count", thing
            key = self._lexicon.key(self._anchor)
            if not key:
                raise NotUnderstood(self._many(item))
            return f"COUNT(DISTINCT {self._name(self._anchor, key)})", "count", thing
        sense = self._chosen(item, [s for s in item.of("column") if s.table == self._anchor] or item.of("column"))  # fmt: skip
        column, label = self._name(sense.table, sense.name), self._label(sense.table, sense.name)
        if kind == "count":
            return f"COUNT(DISTINCT {column})", "count", self._say("count", things=label)
        if many and kind in ("sum", "avg"):
            raise NotUnderstood(self._many(item))
        ratio = next((u.ratio for u in self._read.units if (u.table, u.name) == (sense.table, sense.name)), 1)  # fmt: skip
        figure, name = f"{_AGGREGATES[kind]}({column})", f"{kind}_{sense.name}"
        if ratio != 1:
            unit = next(
                i.text for i in self._read.items if set(i.of("unit")) & set(self._read.units)
            )
            figure, name = f"{figure} * {ratio!r}", f"{name} ({unit})"
        return figure, name, self._say(kind, column=label)

    def _many(self, item: Item) -> str:
        """Why a figure cannot be added up: on the way to many rows it would be counted again."""
        return self._say("many", what=item.text)

    def _list(self, tests: list[tuple[str, str]]) -> Interpretation:
        read = self._read
        if read.having or read.groups or read.grain:
            raise NotUnderstood(read.whole)
        columns: dict[str, str] = {}
        distinct = read.head is None
        by = ""
        if not distinct:
            for name in self._lexicon.row(self._anchor):
                columns[self._name(self._anchor, name)] = name
        for item in read.shown:
            sense = self._chosen(item, item.of("column"))
            way = self._ways[sense.table]
            if way.many:
                raise NotUnderstood(item.text)
            self._join(way)
            columns[self._name(sense.table, sense.name)] = sense.name
        if read.by is not None or read.newest:
            sense = self._chosen(read.by, read.by.of("column")) if read.by else self._date()
            if self._ways[sense.table].many:
                raise NotUnderstood(read.by.text if read.by else read.whole)
            self._join(self._ways[sense.table])
            by = self._name(sense.table, sense.name)
            columns[by] = sense.name
            tests = [*tests, (f"{by} IS NOT NULL", "")]
        elif read.way or read.limit:
            raise NotUnderstood(", ".join(item.text for item in read.items if item.kind in ("top", *_HIGHEST, *_LOWEST)))  # fmt: skip
        if not columns:
            raise NotUnderstood(read.whole)
        for item in read.beside:
            self._beside(item)
        told = ", ".join(_named(list(columns.items())))
        order = f"{by} {read.way}" if by else ", ".join(list(columns)[:2])
        sql = f"SELECT {'DISTINCT ' if distinct else ''}{told} FROM {self._from()}{_where(tests)} ORDER BY {order} LIMIT {read.limit or MOST}"  # fmt: skip
        things = (
            self._things(self._anchor).strip()
            if read.head
            else ", ".join(i.text for i in read.shown)
        )
        return self._reading(sql, [things], [], tests, ordered=by, shape="")

    def _reading(
        self,
        sql: str,
        said: Sequence[str],
        by: Sequence[str],
        tests: Sequence[tuple[str, str]],
        *,
        ordered: str = "",
        shape: Literal["", "group"],
    ) -> Interpretation:
        """The statement with what it looks for in words."""
        read, say = self._read, self._say
        comma = message("mark.list", read.tongue)
        meant = comma.join(said)
        if by:
            meant = say("by", what=meant, by=comma.join(by))
        told = [text for _, text in tests if text]
        told += [f"{sign} {figure:g}" for sign, figure in read.having]
        if read.way and (read.limit or ordered):
            told.append(say("highest" if read.way == "DESC" else "lowest", n=read.limit or MOST))
        if told:
            more = message("mark.semicolon", read.tongue).join(told)
            meant = message("mark.aside", read.tongue, text=meant, more=more)
        return Interpretation(sql=sql, meant=meant, language=read.tongue, shape=shape)

    # Names

    def _name(self, table: str, column: str) -> str:
        return f"{_quoted(self._lexicon.table(table).name)}.{_quoted(column)}"

    def _source(self, table: str) -> str:
        found = self._lexicon.table(table)
        return ".".join(map(_quoted, filter(None, (found.schema, found.name))))

    def _told(self, column: str, value: str) -> str:
        return message("mark.colon", self._read.tongue).join((column, value))

    def _label(self, table: str, column: str) -> str:
        label = self._lexicon.model.column(table, column).label
        return getattr(label, self._read.tongue) or label.en or label.zh or column

    def _thing(self, table: str) -> str:
        label = self._lexicon.said(table).label
        return getattr(label, self._read.tongue) or label.en or label.zh or table

    def _things(self, table: str) -> str:
        thing = self._thing(table)
        if self._read.tongue == "en":
            return plural(thing)
        return f"{thing} " if thing.isascii() else thing

    def _expression(self, text: str, table: str) -> str:
        """A metric's expression, each column with its table."""
        dialect = self._lexicon.schema.dialect
        try:
            tree = parse_one(text, read=dialect)
        except SqlglotError:
            raise NotUnderstood(text) from None
        names = {column.name.lower(): column.name for column in self._lexicon.table(table).columns}
        for column in list(tree.find_all(exp.Column)):
            if not column.table and column.name.lower() in names:
                of = exp.column(names[column.name.lower()], table=self._lexicon.table(table).name, quoted=True)  # fmt: skip
                column.replace(of) if column is not tree else None
        return tree.sql(dialect)


def _is_money(unit: str) -> bool:
    return any(of.kind.startswith("money") for of in UNITS.get(unit.lower(), ()))


_MANY = 1_000.0


def _cost(way: _Way | None) -> float:
    """How far a table is from the anchor: one that is at many rows is farther than any other."""
    if way is None:
        return float("inf")
    return len(way.links) + _MANY * way.many


def _to_many(link: tuple[str, str, str, str], start: str) -> bool:
    """Whether a link leads from a row to those that refer to it."""
    return link[2] == start


def _ways(anchor: str, model: SemanticModel) -> Mapping[str, _Way]:
    """The shortest way from a table to each other, without many rows where there is one such; tables to
    which two are equally short are left out."""
    links = [link for link in model.links() if link[0] != link[2]]
    found: dict[str, _Way] = {anchor: _Way()}
    double: set[str] = set()
    ends = [anchor]
    for many in (False, True):
        ends = list(found)
        while ends:
            further: dict[str, list[_Way]] = {}
            for place in ends:
                for link in links:
                    if place not in (link[0], link[2]):
                        continue
                    up = _to_many(link, place)
                    if up and not many:
                        continue
                    there = link[0] if up else link[2]
                    if there in found or place in double:
                        continue
                    way = _Way((*found[place].links, link), found[place].many or up)
                    further.setdefault(there, []).append(way)
            for there, several in further.items():
                shortest = min(len(way.links) for way in several)
                best = [way for way in several if len(way.links) == shortest]
                found[there] = best[0]
                if len(best) > 1:
                    double.add(there)
            ends = list(further)
    return {table: way for table, way in found.items() if table not in double}


def _linked(link: tuple[str, str, str, str]) -> str:
    return "\0".join((link[0], link[2], link[1], link[3]))


def _where(tests: Sequence[tuple[str, str]]) -> str:
    told = [sql for sql, _ in tests if sql]
    return f" WHERE {' AND '.join(told)}" if told else ""


def _named(columns: Sequence[tuple[str, str]]) -> list[str]:
    """Columns of a SELECT, each with a name of its own."""
    names: dict[str, int] = {}
    out = []
    for text, name in columns:
        names[name] = names.get(name, 0) + 1
        out.append(f"{text} AS {_quoted(name if names[name] == 1 else f'{name}_{names[name]}')}")
    return out


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
