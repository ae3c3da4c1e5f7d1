"""The fixed words of an exported report, in Chinese and English.

Knows words only: what is said where is the business of the format that says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from research.records import Language

Say = Callable[..., str]
# How Markdown cites: [1]; a link to the list of sources; or [^1], whose note is the source.
Citations = Literal["numbers", "links", "footnotes"]

# Key: (Chinese, English). Pairs, so that no word can lack one of its languages.
WORDS: dict[str, tuple[str, str]] = {
    "untitled": ("无标题", "Untitled"),
    "question": ("问题", "Question"),
    "answer": ("回答", "Answer"),
    "sources": ("来源", "Sources"),
    "failures": ("失败记录", "What failed"),
    "plan": ("计划与各轮检索", "Plan and rounds"),
    "usage": ("用量", "Usage"),
    "made": ("本报告的形成", "How this was made"),
    # on paper
    "contents": ("目录", "Contents"),
    "rows cut": (
        "本文件中未列出该表格的另外 {count} 行。",
        "This file leaves out {count} more rows of this table.",
    ),
    "lost": (
        "本机没有字体能写出以下文字，文中以其名称代替：{what}。HTML 文件里有原文。",
        "No font of this machine can draw these letters, which are named in their place: {what}. "
        "The HTML file has them.",
    ),
    "map": ("地点示意图", "Sketch map of the places"),
    "map of": ("地点示意图：{names}", "Sketch map of the places: {names}"),
    "map more": ("等 {count} 处", "and others, {count} in all"),
    # the answer
    "page": ("第 {page} 页", "p. {page}"),
    "cite": ("[{number}]", "[{number}]"),
    "cite.links": (r"[\[{number}\]](#s{number})", r"[\[{number}\]](#s{number})"),
    "cite.footnotes": ("[^{number}]", "[^{number}]"),
    "no source": ("（无来源）", "(no source)"),
    "no source rows": (
        "（表中 {count} 行均无来源）",
        "(none of the {count} rows of this table has a source)",
    ),
    "unclear": ("（依据不明）", "(support unclear)"),
    "unsupported": ("（所引段落不支持）", "(not supported by what is cited)"),
    "differs": ("（数字与来源不符）", "(figure differs from the source)"),
    "differs from": (
        "（数字与来源不符：来源为 {found}）",
        "(figure differs: {found} in the source)",
    ),
    # how many sentences have what behind them
    "support": ("{total} 句中 {good} 句有来源支持", "{good} of {total} sentences supported"),
    "support.quoted": (
        "{total} 句均为来源原文。",
        "Sentences: {total}, each verbatim from its source.",
    ),
    "support.unclear": ("{count} 句依据不明", "{count} unclear"),
    "support.unsupported": ("{count} 句所引段落不支持", "{count} not supported"),
    "support.none": ("{count} 句无来源", "{count} without a source"),
    "support.differs": ("{count} 句数字与来源不符", "{count} with another figure than the source"),
    "support hint": (
        "{what}。此为自动提示，并非定论；在他人标注的测试句上平衡准确率为 {percent}%（50% 相当于随机）。",
        "{what}. This is an automatic hint, no verdict: its balanced accuracy on claims labelled by others is {percent}% (50% is chance).",
    ),
    "not found": ("所查资料中未找到", "Not found in the sources searched"),
    "stop": ("。", "."),
    "nothing cited": ("回答没有引用任何来源。", "The answer cites no source."),
    "no answer": (
        "尚无回答。本次运行的状态：{status}。下面列出计划和已经找到的资料。",
        "There is no answer. The run's status is: {status}. "
        "The plan and what had been found by then are listed below.",
    ),
    # a source
    "kind.library": ("文档", "document"),
    "kind.web": ("网页", "web page"),
    "kind.news": ("新闻", "news"),
    "kind.place": ("地点", "place"),
    "kind.database": ("数据库", "database"),
    "published": ("资料日期 {date}", "dated {date}"),
    "retrieved": ("获取于 {date}", "retrieved {date}"),
    "sample": ("示例数据", "sample data"),
    "poi": ("POI {service}", "POI {service}"),
    "looked up": ("检索于 {date}", "looked up {date}"),
    "see also": ("另见 {link}", "see also {link}"),
    "expires": ("链接约 30 天后失效", "the link expires after about 30 days"),
    "grounding": ("搜索模型的概述，非原文", "the search model's wording, not the page's"),
    # what a file for people adds
    "cited in": ("引用处：", "Cited at:"),
    "cited passages": ("所引段落", "Cited passages"),
    "see there": ("在原网页中查看", "see it on the page"),
    "sketch": ("地点示意图", "Sketch of the places"),
    # an archive
    "archive.files": ("文件：", "Files:"),
    "archive.lost": ("{name}：未能写出（{why}）", "{name}: could not be written ({why})"),
    "archive.rights": (
        "所引段落、地点与数据的权利归其发布者所有；再次发布前请查阅各来源的许可。",
        "The passages, places and data belong to those who published them; look up their licences "
        "before you publish any of it.",
    ),
    "archive.links": (
        "下列来源的链接约 30 天后失效：{numbers}",
        "The links of these sources expire after about 30 days: {numbers}",
    ),
    "archive.nowhere": (
        "因坐标无效而未写入地图文件的地点：{count}",
        "Places that lack usable coordinates and are in no file for maps: {count}",
    ),
    # places
    "places": ("地点", "Places"),
    "places left out": ("另有 {count} 处未列出。", "Not listed: {count} more."),
    "centre": ("检索中心：{what}", "Searched around: {what}"),
    "radius": ("半径 {far}", "radius {far}"),
    "widened": (
        "{radius}（{asked}内没有找到，已扩大）",
        "{radius} (widened: nothing within {asked})",
    ),
    "metres": ("{count} 米", "{count} m"),
    "kilometres": ("{count} 公里", "{count} km"),
    "place.number": ("来源", "Source"),
    "place.name": ("名称", "Name"),
    "place.category": ("类别", "Category"),
    "place.address": ("地址", "Address"),
    "place.distance": ("距离", "Distance"),
    "place.rating": ("评分（满分 5）", "Rating (of 5)"),
    "place.cost": ("人均（元）", "Yuan a person"),
    "place.hours": ("营业时间", "Hours"),
    "place.coordinates": ("坐标（WGS-84：纬度, 经度）", "Coordinates (WGS-84: lat, lng)"),
    "category.food": ("餐饮", "food and drink"),
    "category.sight": ("景点", "sight"),
    "category.family": ("亲子", "family"),
    "category.shop": ("购物", "shop"),
    "category.hotel": ("住宿", "hotel"),
    "category.transport": ("交通", "transport"),
    "category.culture": ("文化", "culture"),
    "category.other": ("其他", "other"),
    # rows of a database
    "rows": ("数据库查询结果", "Rows from the database"),
    "no rows": ("没有符合条件的行。", "No row fits."),
    "rows left out": ("另有 {count} 行未列出。", "Not listed: {count} more rows."),
    "rows truncated": (
        "数据库里还有更多行，未取出。",
        "The database has more rows, which were not taken.",
    ),
    "rows known": (
        "{columns}：{rows} 行中有 {known} 行已知。",
        "{columns}: known for {known} of {rows} rows.",
    ),
    "rows known part": (
        "{columns}：子查询的 {rows} 行中有 {known} 行已知。",
        "{columns}: known for {known} of {rows} rows of a subquery.",
    ),
    "rows uncounted": (
        "{columns}：未能统计有多少行未知。",
        "{columns}: how many rows lack it could not be counted.",
    ),
    "cells cut": (
        "有 {count} 个单元格过长，已截短。",
        "Cells that were too long and are shortened: {count}.",
    ),
    "cells gained": ("补上 {count} 个单元格", "cells filled: {count}"),
    "step.tables": ("为这个问题选用的表", "Tables chosen for this question"),
    "step.link": ("名称对应", "Names as the database has them"),
    "step.refused": ("未能执行", "Not run"),
    "step.judge": ("判断", "Judged"),
    "step.supplement": ("补充查询", "Supplemented"),
    "step.missing": ("仍缺（列：行数）", "Still missing (column: rows)"),
    # what the news come to
    "aside": ("（{what}）", " ({what})"),
    "changes": ("自上次报告以来的变化", "What has changed since the last report"),
    "no changes": ("没有新的内容。", "Nothing new was found."),
    "change.new": ("新事件：{headline}", "New story: {headline}"),
    "change.grown": ("有新的报道：{headline}", "Further reports: {headline}"),
    "change.gone": (
        "相同的搜索不再找到：{headline}",
        "No longer found by the same search: {headline}",
    ),
    "change.figure": ("数字有变：{headline}", "A figure has changed: {headline}"),
    "from to": ("由 {before} 变为 {after}", "from {before} to {after}"),
    "timeline": ("时间线", "Timeline"),
    "as of": ("截至 {date}", "as of {date}"),
    "newest": ("最新的报道发布于 {date}", "the latest piece is dated {date}"),
    "nothing dated": ("没有一篇注明日期", "no piece is dated"),
    "stale": ("内容陈旧：一周以上没有新的报道", "stale: nothing was reported for more than a week"),
    "story": ("{count} 个事件", "{count} story"),
    "stories": ("{count} 个事件", "{count} stories"),
    "undated": ("{count} 篇没有日期", "without a date: {count}"),
    "tones by": ("倾向由 {author} 判断", "tones judged by {author}"),
    "tones rough": (
        "倾向为粗略估计（仅按词语统计）",
        "tones are rough: words were counted, nobody has judged them",
    ),
    "stories left out": ("另有 {count} 个事件未列出。", "Not listed: {count} more."),
    "story.day": ("日期", "Day"),
    "story.headline": ("事件", "Story"),
    "story.outlets": ("媒体", "Outlets"),
    "story.tone": ("倾向", "Tone"),
    "story.sources": ("来源", "Sources"),
    "no date": ("无日期", "no date"),
    "old": ("旧闻", "old"),
    "independent": ("{items} 篇，其中独立 {count} 篇", "{count} independent of {items}"),
    "tone.positive": ("正面", "positive"),
    "tone.neutral": ("中性", "neutral"),
    "tone.negative": ("负面", "negative"),
    "rough": ("粗略", "rough"),
    "review": ("核对时改动的句子", "Sentences changed by the check"),
    "review.dropped": ("已删去：“{before}”", "removed: “{before}”"),
    "review.rewritten": ("已改写：“{before}” → “{after}”", "rewritten: “{before}” → “{after}”"),
    "disagree": ("来源不一致", "Sources disagree"),
    "disagree help": (
        "同一件事在不同来源中的数字或日期不同。并列于此，不判断哪一个正确；互为转载的来源只算一次。",
        "Different figures or dates for the same thing in different sources. Which one is right is not judged; "
        "copies of one text count once.",
    ),
    "disagree.what": ("内容", "What"),
    "disagree.figure": ("数字", "Figure"),
    "disagree.source": ("来源", "Source"),
    "disagree.date": ("日期", "Date"),
    "disagree.clause": ("原文", "Sentence"),
    "copies": ("另有 {count} 处转载", "and {count} more with the same text"),
    "conflicts": ("媒体之间的分歧", "Where outlets differ"),
    "conflicts help": (
        "对同一事物给出的不同数字，孰是孰非未作判断。",
        "Different figures for the same thing; which of them is right was not judged.",
    ),
    "conflicts left": (
        "其余 {count} 处见导出的数据。",
        "The other {count} are in the data export.",
    ),
    "outlets": ("媒体一览", "Outlets"),
    "outlet.name": ("媒体", "Outlet"),
    "outlet.items": ("篇数", "Pieces"),
    "outlet.stories": ("事件数", "Stories"),
    "outlet.first": ("最早", "First"),
    "unknown outlet": ("未知媒体", "unknown"),
    "pictures": ("图片", "Pictures"),
    "picture": ("图片", "picture"),
    "its page": ("所在页面", "its page"),
    "leads": ("搜索服务的概述", "What the search service wrote itself"),
    "leads help": (
        "这是搜索服务自己的文字，不是证据，报告没有引用。",
        "These are the service's own words. They are no evidence, and nothing here cites them.",
    ),
    # plan and rounds
    "no plan": ("没有制定计划。", "No plan was made."),
    "parts": ("问题的各个部分：", "Parts of the question:"),
    "edited": ("计划经人工修改。", "The plan was edited by hand."),
    "round": ("第 {round} 轮", "Round {round}"),
    "passage": ("{count} 段", "{count} passage"),
    "passages": ("{count} 段", "{count} passages"),
    "seconds": ("{seconds} 秒", "{seconds} s"),
    "cached": ("取自 {time} 的搜索", "from a search at {time}"),
    "reused": ("沿用先前结果", "reused"),
    "by": ("{source}（{provider}）", "{source} ({provider})"),
    "asked": ("实际执行的查询：{queries}", "Queries that were run: {queries}"),
    "beside": ("另有失败：{failure}", "Failed beside it: {failure}"),
    "not run": ("未执行", "not run"),
    "why.synonyms": ("同义词", "synonyms"),
    "why.other language": ("另一种语言", "other language"),
    "why.whole subject": ("该对象的全部内容", "everything on the subject"),
    "why.edited": ("人工修改", "edited"),
    "why": ("原因：{why}", "why: {why}"),
    "sufficient": ("反思：没有缺口。", "Reflection: no gap."),
    "insufficient": ("反思：有缺口。", "Reflection: a gap."),
    "gap": ("缺口：{gap}", "Gap: {gap}"),
    "follow-up": ("后续查询：{query}", "Follow-up: {query}"),
    # usage
    "in all": ("合计", "In all"),
    "spent": ("{who}：{what}", "{who}: {what}"),
    "call": ("{count} 次调用", "{count} call"),
    "calls": ("{count} 次调用", "{count} calls"),
    "tokens in": ("输入 {count} token", "{count} tokens in"),
    "tokens cached": ("其中缓存 {count}", "of these {count} cached"),
    "tokens out": ("输出 {count} token", "{count} tokens out"),
    "search": ("{count} 次搜索", "{count} search"),
    "searches": ("{count} 次搜索", "{count} searches"),
    "uncounted": (
        "其中 {count} 次调用的服务器未返回 token 数，按文本长度估算",
        "tokens of {count} call estimated from the length of the text, as its server did not count them",
    ),
    "uncounted several": (
        "其中 {count} 次调用的服务器未返回 token 数，按文本长度估算",
        "tokens of {count} calls estimated from the length of the text, as their server did not count them",
    ),
    "cost": ("约 {cost} 美元（估算）", "about {cost} US dollars (estimate)"),
    "cost in part": (
        "约 {cost} 美元（估算，部分价格未知）",
        "about {cost} US dollars (estimate; some prices are unknown)",
    ),
    "cost unknown": ("费用未知", "cost unknown"),
    # how this was made
    "author": ("作者：{author}", "Author: {author}"),
    "options": (
        "设置：查询数 {queries}；轮数上限 {loops}；来源 {sources}",
        "Options: queries {queries}; rounds at most {loops}; sources {sources}",
    ),
    "report options": (
        "设置：节数上限 {sections}；每节反思轮数上限 {reflections}；来源 {sources}",
        "Options: sections at most {sections}; reflections of each at most {reflections}; sources {sources}",
    ),
    "limits": ("上限：{limits}", "Limits: {limits}"),
    "limit.searches": ("{n} 次搜索", "{n} searches"),
    "limit.tokens": ("{n} token", "{n} tokens"),
    "limit.cost": ("{n} 美元", "{n} US dollars"),
    "limit.seconds": ("{n} 秒", "{n} s"),
    "model": ("指定的模型：{model}", "Model asked for: {model}"),
    "used": ("所用模型与服务：{names}", "Models and services: {names}"),
    "run": ("运行编号：{run}", "Run: {run}"),
    "status": ("运行状态：{status}", "Run status: {status}"),
    "error": ("错误：{error}", "Error: {error}"),
    "made at": ("完成时间：{time}", "Made: {time}"),
    "created at": ("开始时间：{time}", "Started: {time}"),
    "sampled": ("示例数据：{what}", "Sample data: {what}"),
    "sampled sources": ("来源 {numbers}", "sources {numbers}"),
    "sampled uncited": ("检索时用到，但未被引用", "used in the search, not cited"),
    "sampled none": ("无", "none"),
    "failed": ("失败次数：{count}", "Failures: {count}"),
    "status.queued": ("排队中", "queued"),
    "status.running": ("进行中", "running"),
    "status.waiting": ("等待批准计划", "waiting for its plan to be approved"),
    "status.done": ("已完成", "done"),
    "status.stopped": ("已停止", "stopped"),
    "status.interrupted": ("已中断", "interrupted"),
    "status.failed": ("失败", "failed"),
    # why a look-up brought back nothing
    "reason.no key": ("未设置密钥", "the key it needs is not set"),
    "reason.refused": ("密钥或请求被拒绝", "the key or the request was refused"),
    "reason.redirected": (
        "地址被重定向，未跟随",
        "the address redirects elsewhere; the redirect was not followed",
    ),
    "reason.too many redirects": (
        "地址反复重定向，没有尽头",
        "the address redirects without end",
    ),
    "reason.not found": ("该地址没有内容", "nothing is at that address"),
    "reason.too large": (
        "内容超出大小上限，未读取",
        "it is larger than the limit and was not read",
    ),
    "reason.quota": ("额度已用完", "the allowance is used up"),
    "reason.timeout": ("超时未答复", "no answer in time"),
    "reason.unreachable": ("无法连接", "no connection"),
    "reason.blocked": ("内容或访问受限", "the content or the access is barred"),
    "reason.empty": ("没有结果", "nothing found"),
    "reason.malformed": ("答复无法读取", "the reply could not be read"),
    "reason.unavailable": ("服务暂时不可用", "the service cannot serve now"),
    "reason.cut off": ("达到长度上限而中断", "cut off at its limit of length"),
    "reason.unclear": ("需要说得更具体", "it has to be said more exactly what is meant"),
    "reason.left out": ("未执行", "not done"),
    "reason.internal": ("内部错误", "an internal error"),
    # what could help
    "hint.key": ("密钥有误或缺失", "the key is wrong or missing"),
    "hint.billing": ("此功能需要已开通付费的密钥", "this needs a key with billing"),
    "hint.minute": ("短时间内请求过多", "too many requests in a short time"),
    "hint.day": ("当天的额度已用完", "the day's quota is used up"),
    "hint.location": ("该服务不支持当前地区", "the service refuses this region"),
    "hint.model": ("没有这个模型", "there is no such model"),
    "hint.context": ("输入超出模型的上下文长度", "the input is longer than the model can take"),
    "hint.endpoint": ("该地址不是这项服务", "the address answers, but it is not this service"),
    # the stages of a run
    "stage.plan": ("制定计划", "planning"),
    "stage.search": ("检索", "searching"),
    "stage.summarise": ("归纳检索结果", "summing up what was found"),
    "stage.reflect": ("反思", "reflecting"),
    "stage.write": ("撰写回答", "writing the answer"),
    "stage.check": ("检查", "checking"),
    # where was looked
    "source.library": ("资料库", "library"),
    "source.web": ("网络", "web"),
    "source.news": ("新闻", "news"),
    "source.places": ("地点", "places"),
    "source.database": ("数据库", "database"),
    "source.feeds": ("新闻订阅源", "news feeds"),
    "source.gdelt": ("GDELT 全球新闻库", "GDELT"),
    "source.gemini": ("Gemini 搜索", "Gemini search"),
    "source.tavily": ("Tavily", "Tavily"),
    "source.searxng": ("SearXNG", "SearXNG"),
    "source.wikipedia": ("维基百科", "Wikipedia"),
    "source.amap": ("高德地图", "Amap"),
    "source.offline": ("离线示例地点", "offline sample places"),
    "source.page": ("网页正文", "page"),
    # punctuation
    "comma": ("，", ", "),
    "semicolon": ("；", "; "),
    "colon": ("：", ": "),
}


def speaker(language: Language, citations: Citations = "numbers") -> Say:
    """A function that gives a fixed text by its key, with its blanks filled in, and citations so."""
    column = 0 if language == "zh" else 1

    def say(key: str, **blanks: object) -> str:
        own = f"cite.{citations}" if key == "cite" and citations != "numbers" else key
        text = WORDS[own][column]
        return text.format(**blanks) if blanks else text

    return say
