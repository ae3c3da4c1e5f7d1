"""The fixed words of an exported report, in Chinese and English.

Knows words only: what is said where is the business of the format that says it.
"""

from __future__ import annotations

from collections.abc import Callable

from research.records import Language

Say = Callable[..., str]

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
    # the answer
    "page": ("第 {page} 页", "p. {page}"),
    "no source": ("（无来源）", "(no source)"),
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
    "expires": ("链接约 30 天后失效", "the link expires after about 30 days"),
    "grounding": ("搜索模型的概述，非原文", "the search model's wording, not the page's"),
    # places
    "places": ("地点", "Places"),
    "places left out": ("另有 {count} 处未列出。", "Not listed: {count} more."),
    "centre": ("检索中心：{what}", "Searched around: {what}"),
    "radius": ("半径 {far}", "radius {far}"),
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
    "limits": ("上限：{limits}", "Limits: {limits}"),
    "limit.searches": ("{n} 次搜索", "{n} searches"),
    "limit.tokens": ("{n} token", "{n} tokens"),
    "limit.cost": ("{n} 美元", "{n} US dollars"),
    "limit.seconds": ("{n} 秒", "{n} s"),
    "model": ("指定的模型：{model}", "Model asked for: {model}"),
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
    "stage.check": ("检查连接", "checking the connection"),
    # where was looked
    "source.library": ("资料库", "library"),
    "source.web": ("网络", "web"),
    "source.news": ("新闻", "news"),
    "source.places": ("地点", "places"),
    "source.database": ("数据库", "database"),
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


def speaker(language: Language) -> Say:
    """A function that gives a fixed text by its key, with its blanks filled in."""
    column = 0 if language == "zh" else 1

    def say(key: str, **blanks: object) -> str:
        text = WORDS[key][column]
        return text.format(**blanks) if blanks else text

    return say
