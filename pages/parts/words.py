"""Every word that the pages show, in Chinese and in English. `t("key")` gives the visitor's."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

Lang = Literal["zh", "en"]
Say = Callable[..., str]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WORDS: dict[str, tuple[str, str]] = {
    # navigation
    "nav.ask": ("提问", "Ask"),
    "nav.places": ("地点", "Places"),
    "nav.database": ("数据库", "Database"),
    "nav.library": ("资料库", "Library"),
    "nav.history": ("历史", "History"),
    "nav.status": ("状态", "Status"),
    "nav.language": ("语言", "Language"),
    "nav.active": ("进行中", "Under way"),
    # login
    "login.title": ("登录 Sightline", "Sign in to Sightline"),
    "login.lead": (
        "这里的研究只属于提问的人：登录后只能看到自己的研究。",
        "Runs belong to whoever asked: signed in, you see yours, and nobody else does.",
    ),
    "login.in": ("登录", "Sign in"),
    "login.in_with": ("用 {name} 登录", "Sign in with {name}"),
    "login.note": (
        "在登录服务的页面上登录后会自动返回，Sightline 看不到您的密码。",
        "You sign in with the provider and come back here. Sightline never sees your password.",
    ),
    "login.out": ("退出登录", "Sign out"),
    "login.as": ("已登录", "Signed in as"),
    "login.unnamed": ("未提供姓名", "no name given"),
    "login.expired": ("登录已过期，请重新登录。", "Your sign-in has expired. Sign in again."),
    "login.nobody": (
        "登录服务没有说明您是谁（缺少 sub 或 iss），因此无法放行。请退出后换一个账号，或联系管理员。",
        "The sign-in service did not say who you are (sub or iss is missing), so you cannot be let in. Sign out and take another account, or ask whoever runs this server.",
    ),
    "login.broken": (
        "登录设置有误，现在谁也不能进入。",
        "The login is set up wrongly, so nobody can come in.",
    ),
    "login.missing": ("secrets 的 [auth] 里缺少：{keys}", "[auth] in the secrets lacks: {keys}"),
    "login.name": (
        "登录服务的名称 {name} 里不能有下划线。",
        "The provider's name {name} must not have an underscore.",
    ),
    "login.weak": (
        "cookie_secret 太短，至少要 {n} 个字符，并且应随机生成。",
        "cookie_secret is too short: it needs at least {n} characters, made at random.",
    ),
    "login.redirect": (
        "redirect_uri 必须是本站的网址，并以 /oauth2callback 结尾。",
        "redirect_uri must be an address of this site that ends in /oauth2callback.",
    ),
    "login.authlib": (
        "缺少程序库 Authlib（{version} 或更新版本）。请安装 requirements.txt。",
        "The library Authlib is missing ({version} or newer). Install requirements.txt.",
    ),
    "login.unreadable": ("secrets 文件无法读取，请检查它的格式。", "The secrets cannot be read. Check the form of their file."),
    "login.unread": (
        "有 {file}，但没有被读取。请在程序所在的目录里启动。",
        "There is {file}, but it was not read. Start the server in the folder of the program.",
    ),
    "login.gone": (
        "启动时有 [auth]，现在没有了。要关闭登录，请重新启动。",
        "[auth] was there at the start and is gone. To turn the login off, start the server again.",
    ),
    # ask
    "ask.title": ("想查证什么？", "What do you want to find out?"),
    "ask.lead": (
        "答案里的每个引文编号都能打开支持它的段落。",
        "Every citation in an answer opens the passage that supports it.",
    ),
    "ask.question": ("问题", "Question"),
    "ask.placeholder": (
        "例如：故宫的门票多少钱，周几闭馆？",
        "For example: When was the Summer Palace built, and what does a ticket cost?",
    ),
    "ask.start": ("开始研究", "Research"),
    "ask.plan_first": ("先看计划", "Plan first"),
    "ask.examples": ("试试这些问题", "Try one of these"),
    "ask.effort": ("{queries} 个查询 × {loops} 轮", "{queries} queries × {loops} rounds"),
    "ask.estimate": ("预计：{facts}", "Estimate: {facts}"),
    "ask.estimate_cost": ("约 ${cost}", "about ${cost}"),
    "ask.queries": ("每轮查询数上限", "Queries a round, at most"),
    "ask.loops": ("搜索轮数上限", "Rounds of search, at most"),
    "ask.limits": ("本次研究的上限（0 为不限）", "Limits of this run (0: none)"),
    "ask.limits_help": (
        "用到五分之四时不再搜索，用已找到的内容作答。",
        "At four fifths of a limit it stops searching and writes with what it has.",
    ),
    "ask.searches": ("搜索次数", "Searches"),
    "ask.tokens": ("token 数", "Tokens"),
    "ask.cost": ("费用（美元，估算）", "Cost (US dollars, estimate)"),
    "ask.seconds": ("用时（秒）", "Seconds"),
    "ask.approve": ("搜索前先由我批准计划", "Wait for my approval of the plan"),
    "ask.sources": ("资料来源", "Sources"),
    "ask.effort_help": (
        "查询和轮数越多，查得越细，也越慢。",
        "More queries and rounds look deeper and take longer.",
    ),
    "ask.follow": ("追问", "Ask on"),
    "ask.follow_placeholder": (
        "接着问：前面的问题和答案会一起考虑",
        "Ask on: the questions and answers before are taken into account",
    ),
    "ask.new": ("新问题", "New question"),
    "ask.no_run": (
        "没有这个编号的研究，它可能已被删除，或属于另一个数据目录。",
        "There is no run with this id. It may have been deleted or belong to another data folder.",
    ),
    "ask.no_sources": (
        "没有选择资料来源。请在“查询设置”里至少选一个。",
        "No source is chosen. Choose at least one under effort and sources.",
    ),
    "ask.models": (
        "由 {write} 撰写答案。每次研究都会使用您的额度；用量和估算费用在过程中可见。",
        "{write} writes the answers. Every run uses your allowance; what it uses is shown as it runs.",
    ),
    "ask.model": ("本次改用的模型", "Another model for this run"),
    "ask.model_help": (
        "负责反思和撰写；留空则用设置中的模型。例如 openai:deepseek-chat。",
        "It reflects and writes; empty means the models that are set. For example openai:deepseek-chat.",
    ),
    "ask.no_web": (
        "网络搜索未启用，请设置：{names}",
        "Web search is not available. Set: {names}",
    ),
    "ask.keyless": (
        "当前没有使用模型：答案由规则从资料库中摘引原文。",
        "No model is in use: answers are verbatim quotes from the library, chosen by rules.",
    ),
    "problem.empty": ("问题是空的。请写下想了解的内容。", "The question is empty. Type what you want to know."),
    "problem.too long": (
        "问题有 {length} 个字符，最多 {limit} 个。请缩短问题；长文本请放进资料库。您输入的内容没有丢失。",
        "The question has {length} characters; at most {limit} are possible. Shorten it, and put longer text into the library. What you typed is still in the box.",
    ),
    "problem.no words": (
        "问题里没有可以检索的文字。请写下想了解的内容。",
        "The question has no words to look up. Type what you want to know.",
    ),
    # plan
    "plan.title": ("研究计划", "Research plan"),
    "plan.help": (
        "可以修改、增加或删除行。“对象”是必须提到的名称；“查询”为空的行会被忽略。",
        "Edit, add or delete rows. “About” is a name that every hit must mention; rows without a query are left out.",
    ),
    "plan.outline_help": (
        "每行是某一节的一个查询，可修改、增加或删除。标题相同的行属于同一节，标题留空则归入上一行；没有查询的节直接搜索标题。",
        "Each row is a query of a section: edit, add or delete. Rows of the same title are one section, a row without a title belongs to the one above, and a section without a query searches its title.",
    ),
    "plan.section": ("章节标题", "Section"),
    "plan.content": ("内容", "Content"),
    "plan.tool": ("新闻检索方式", "Way of searching news"),
    "plan.tool_help": ("只用于来源为“新闻”的行。", "Only for rows whose source is news."),
    "plan.start_day": ("起始日期", "First day"),
    "plan.end_day": ("结束日期", "Last day"),
    "plan.days_help": (
        "只用于“按日期”检索，两个日期都要填。",
        "Only for the search by dates, which needs both.",
    ),
    "plan.dates_missing": ("按日期检索需要起始和结束两个日期", "a search by dates needs a first and a last day"),
    "plan.dates_order": (
        "起始日期 {start} 晚于结束日期 {end}",
        "the first day, {start}, is after the last day, {end}",
    ),
    "plan.dates_future": ("起始日期 {start} 还没到", "the first day, {start}, is still to come"),
    "plan.dates_idle": (
        "有的行填了日期，但不是“按日期”检索，这些日期不会使用。",
        "Some rows have dates but do not search by dates: those are not used.",
    ),
    "tool.usual": ("默认", "usual"),
    "tool.basic_search_news": ("基本检索", "basic"),
    "tool.deep_search_news": ("深入检索", "deep"),
    "tool.search_news_last_24_hours": ("最近 24 小时", "last 24 hours"),
    "tool.search_news_last_week": ("最近一周", "last week"),
    "tool.search_images_for_news": ("图片", "with pictures"),
    "tool.search_news_by_date": ("按日期", "by dates"),
    "tool.sql": ("SQL 语句", "SQL"),
    "plan.subject": ("对象", "About"),
    "plan.part": ("想知道", "Look for"),
    "plan.query": ("查询", "Query"),
    "plan.source": ("来源", "Source"),
    "plan.start": ("按此计划开始", "Start with this plan"),
    "plan.rerun": ("修改计划后重跑", "Edit the plan and run again"),
    "plan.rerun_help": (
        "只重新搜索改动过的查询，其余结果直接沿用。",
        "Only changed queries are searched again; the other results are kept.",
    ),
    "plan.rerun_start": ("重跑改动部分", "Run what changed"),
    "plan.none": ("计划里没有查询，请至少填写一行。", "The plan has no query. Fill in at least one row."),
    # run
    "run.queued": ("排队中", "Queued"),
    "run.running": ("进行中", "Running"),
    "run.waiting": ("等待批准", "Waiting for approval"),
    "run.waiting_help": (
        "计划已拟好，等您批准后才会搜索。可以修改计划、资料来源和上限。",
        "The plan is ready, and nothing is searched before you approve it. Plan, sources and limits can be changed.",
    ),
    "run.approve": ("批准并开始", "Approve and start"),
    "run.done": ("已完成", "Done"),
    "run.stopped": ("已停止", "Stopped"),
    "run.interrupted": ("已中断", "Interrupted"),
    "run.failed": ("失败", "Failed"),
    "run.stop": ("停止", "Stop"),
    "run.resume": ("继续", "Resume"),
    "run.write": ("停止并作答", "Stop and write"),
    "run.write_help": (
        "不再搜索，用已找到的内容撰写答案。",
        "Searches no more and writes with what there is.",
    ),
    "run.more": ("再查一轮", "One more round"),
    "run.more_help": (
        "先看还缺什么，只搜索新的查询，再写一份答案。",
        "Judges what is missing, searches for that only, and writes a new answer.",
    ),
    "run.write_now": ("用已有内容作答", "Write with what there is"),
    "run.turn": (
        "同时进行的研究已达上限。",
        "As many runs as may go on at once are under way.",
    ),
    "run.turn_own": (
        "您同时进行的研究已达上限。",
        "As many of your runs as may go on at once are under way.",
    ),
    "run.turn_next": (
        "下一个就轮到它，会自动开始。",
        "This one is next, and begins by itself.",
    ),
    "run.turn_after": (
        "它前面还有 {n} 项，轮到时自动开始。",
        "{n} more wait before this one; it begins by itself.",
    ),
    "run.discard": ("不做了", "Discard"),
    "run.discard_help": (
        "不搜索。之后仍可继续，回到这一步。",
        "Nothing is searched. You can still go on later, from this step.",
    ),
    "run.ending": ("正在收尾……", "Ending the search…"),
    "run.stopping": ("正在停止……", "Stopping…"),
    "run.interrupted_help": (
        "程序在研究途中退出。已完成的搜索都已保存，继续时不会重复。",
        "The program ended during this run. Finished searches are stored and will not be repeated.",
    ),
    "run.stopped_help": (
        "研究已停止，已找到的内容都保留着。",
        "The run was stopped. What it had found is kept.",
    ),
    "run.failed_help": ("研究失败：{error}", "The run failed: {error}"),
    "run.activity": ("研究过程", "Activity"),
    "run.rounds": ("{n} 轮", "{n} rounds"),
    "run.round1": ("1 轮", "1 round"),
    "run.searches": ("{n} 次搜索", "{n} searches"),
    "run.search1": ("1 次搜索", "1 search"),
    "run.seconds": ("{n} 秒", "{n} s"),
    "run.tokens": ("{n} 个 token", "{n} tokens"),
    "run.token1": ("1 个 token", "1 token"),
    "run.billed": ("{n} 次计费搜索", "{n} billed searches"),
    "run.billed1": ("1 次计费搜索", "1 billed search"),
    "run.cost": ("约 ${cost}（估算）", "about ${cost} (estimate)"),
    "run.cost_part": ("约 ${cost}（估算，部分价格未知）", "about ${cost} (estimate, some prices unknown)"),
    "run.cost_unknown": ("价格未知", "price unknown"),
    "meter.searches": ("搜索 {used}/{limit} 次", "Searches {used}/{limit}"),
    "meter.tokens": ("用量 {used}/{limit} token", "Tokens {used}/{limit}"),
    "meter.cost": ("费用 {used}/{limit} 美元", "US dollars {used}/{limit}"),
    "meter.seconds": ("用时 {used}/{limit} 秒", "Seconds {used}/{limit}"),
    "step.planning": ("正在理解问题……", "Reading the question…"),
    "step.planned": ("计划：{parts} 个部分，{tasks} 个查询", "Plan: {parts} parts, {tasks} queries"),
    "step.edited": ("按您修改的计划", "as you edited it"),
    "step.round_done": ("第 {n} 轮：{done}/{all} 个查询，{passages} 段资料", "Round {n}: {done}/{all} queries, {passages} passages"),
    "step.searching": ("搜索中……", "searching…"),
    "step.waiting": ("等待中", "waiting"),
    "step.found": ("{n} 段，出自 {titles}", "{n} passages from {titles}"),
    "step.reused": ("沿用已有结果", "kept from before"),
    "step.cached": ("取自此前的搜索（{time}）", "from a search at {time}"),
    "step.reflection": ("判断", "Reflection"),
    "step.followups": ("接着查", "Next"),
    "step.last": ("已到最后一轮，开始作答。", "That was the last round; the answer follows."),
    "step.ended": ("搜索提前结束，开始作答。", "The searching was ended; the answer follows."),
    "step.no_followups": ("没有别的查法了。", "There is nothing else to try."),
    "step.writing": ("正在整理答案……", "Writing the answer…"),
    "step.answered": ("答案：{n} 处有出处", "Answer: {n} stretches with sources"),
    "step.checking": ("正在逐句核对来源（{n} 句）……", "Checking against the sources ({n})…"),
    "step.checked": (
        "核对：判定 {n} 句，改动 {mended} 句",
        "Check: {n} ruled on, {mended} put right",
    ),
    "step.again": ("{what}：{why}，{wait}后重试", "{what}: {why}, again in {wait}"),
    "nav.news": ("新闻", "News"),
    "news.title": ("新闻报告", "News report"),
    "news.lead": (
        "先拟提纲，各节同时检索、撰写、反思、补查，合成一份有引文的报告。",
        "An outline first; then each section is searched, written, judged and deepened, side by side, "
        "into one cited report.",
    ),
    "news.topic": ("主题", "Topic"),
    "news.placeholder": (
        "例如：今年国庆假期的旅游市场",
        "For example: tourism in China over this year's National Day holiday",
    ),
    "news.sections": ("节数上限", "Sections, at most"),
    "news.reflections": ("每节反思轮数", "Rounds of reflection in each section"),
    "news.effort": ("每节反思 {n} 轮", "Reflections: {n}"),
    "news.start": ("撰写报告", "Report"),
    "news.outline_first": ("先改提纲", "Edit the outline first"),
    "news.earlier": ("已有的报告", "Earlier reports"),
    "news.add": (
        "要搜索新闻，请设置其中之一并重启：`TAVILY_API_KEY`（Tavily 密钥）、`NEWS_FEEDS`（RSS、Atom 或 JSON 订阅地址）、`NEWS_GDELT=on`（GDELT，不需要密钥）。",
        "To search news, set one of these and start again: `TAVILY_API_KEY` (a key of Tavily), `NEWS_FEEDS` (addresses of RSS, Atom or JSON feeds), `NEWS_GDELT=on` (GDELT, which needs no key).",
    ),
    "news.documents": ("资料库中有日期的文档（{n}）", "Dated documents of the library ({n})"),
    "news.documents_help": (
        "没有新闻来源时，报告从资料库撰写：有日期的文档进入时间线。",
        "Without a source of news, reports are written from the library; documents with a date make the timeline.",
    ),
    "news.no_documents": (
        "资料库里还没有带日期的文档。可以在“资料库”页添加，例如开头写明日期的报道。",
        "The library has no dated document yet. Add some on the library page, such as articles that begin with their date.",
    ),
    "news.sample": ("示例", "Sample"),
    "coverage.title": ("新闻脉络", "What the news come to"),
    "coverage.as_of": ("截至 {day}", "as of {day}"),
    "coverage.newest": ("最新一篇 {day}", "newest piece {day}"),
    "coverage.stories": ("{n} 个事件", "{n} stories"),
    "coverage.story1": ("1 个事件", "1 story"),
    "coverage.outlets": ("{n} 家媒体", "{n} outlets"),
    "coverage.outlet1": ("1 家媒体", "1 outlet"),
    "coverage.undated": ("{n} 篇无日期", "{n} pieces without a date"),
    "coverage.undated1": ("1 篇无日期", "1 piece without a date"),
    "coverage.stale": (
        "最新的报道也已过去至少一周（{day}），之后的变化不在其中。",
        "Even the newest piece ({day}) is at least a week old; what has happened since is not in here.",
    ),
    "coverage.timeline": ("时间线", "Timeline"),
    "coverage.timeline_help": (
        "每个点是一个事件的首次报道，横线延伸到最后一次报道；点越大，独立报道越多。",
        "Each point is a story on the day it was first told, its line reaches to the day it was last told; the larger, the more independent pieces.",
    ),
    "coverage.timeline_alt": ("各事件按日期排列的图", "Chart of the stories by day"),
    "coverage.no_days": ("没有一个事件有日期，画不出时间线。", "No story has a date, so there is no timeline."),
    "coverage.no_day": ("无日期的事件（{n}）", "Stories without a date ({n})"),
    "coverage.tones": ("语气", "Tones"),
    "coverage.tones_alt": ("正面、中性、负面事件的数量", "How many stories are positive, neutral, negative"),
    "coverage.judged": ("由 {name} 判断", "Judged by {name}"),
    "coverage.rough": ("粗略：按标题用词计数", "Rough: words of the headlines were counted"),
    "coverage.partly": (
        "由 {name} 判断；{n} 个事件为按用词粗略计数",
        "Judged by {name}; of {n} stories words were counted, roughly",
    ),
    "coverage.table": ("事件", "Stories"),
    "coverage.table_help": ("选中一行，即可看到该事件的各篇报道。", "Select a row to see the pieces of that story."),
    "coverage.day": ("日期", "Day"),
    "coverage.headline": ("标题", "Headline"),
    "coverage.told": ("独立/全部 · 媒体", "Independent/all · outlets"),
    "coverage.tone": ("语气", "Tone"),
    "coverage.old": ("陈旧", "Stale"),
    "coverage.old_mark": ("超过一周无更新", "quiet for a week"),
    "coverage.rough_mark": ("（粗略）", " (rough)"),
    "coverage.nodate": ("无日期", "no date"),
    "coverage.unnamed": ("媒体不详", "outlet unknown"),
    "coverage.pieces": ("{n} 篇报道", "{n} pieces"),
    "coverage.piece1": ("1 篇报道", "1 piece"),
    "coverage.more": ("还有 {n} 篇", "{n} more"),
    "coverage.outlets_title": ("媒体", "Outlets"),
    "coverage.outlet": ("媒体", "Outlet"),
    "coverage.items": ("篇数", "Pieces"),
    "coverage.of_stories": ("事件数", "Stories"),
    "coverage.first": ("最早", "First"),
    "coverage.conflicts": ("互相矛盾的数字（{n}）", "Figures that contradict each other ({n})"),
    "coverage.no_conflicts": ("没有发现互相矛盾的数字。", "No figures that contradict each other were found."),
    "coverage.uncited": ("报告未引用", "not cited in the report"),
    "coverage.pictures": ("显示 {n} 张图片", "Show pictures ({n})"),
    "coverage.pictures_help": (
        "图片在其他网站上，点击后才由您的浏览器直接加载，那些网站会得知您的网络地址。",
        "The pictures lie on other sites. Your browser loads them only when you ask for it, and those sites then see its network address.",
    ),
    "coverage.pictures_title": ("图片", "Pictures"),
    "coverage.picture_lost": ("图片无法加载", "This picture cannot be loaded"),
    "coverage.picture_page": ("来源页面", "Its page"),
    "coverage.picture_open": ("打开图片", "Open the picture"),
    "coverage.leads": ("搜索服务自己的说法（{n}）", "What the search service says itself ({n})"),
    "coverage.leads_help": (
        "这些文字由搜索服务自动生成，没有出处，不是证据，报告也不引用它们。",
        "The search service has written these texts itself. They name no sources, are no evidence, and the report does not cite them.",
    ),
    "tone.positive": ("正面", "positive"),
    "tone.neutral": ("中性", "neutral"),
    "tone.negative": ("负面", "negative"),
    "watch.save": ("关注此主题", "Watch this topic"),
    "watch.save_help": (
        "之后可在“新闻”页一键再查，并看到与这份报告相比的变化。",
        "Then one click on the news page looks again, and tells what has changed since this report.",
    ),
    "watch.saved": ("已关注", "Watched"),
    "watch.title": ("关注的主题", "Watched topics"),
    "watch.again": ("再查一次", "Look again"),
    "watch.drop": ("取消关注", "Stop watching"),
    "watch.changed": ("有变化", "Changed"),
    "watch.same": ("无变化", "No change"),
    "watch.what": ("与上次报告相比的变化", "What changed since the last report"),
    "watch.nothing": ("与上次报告相比没有变化。", "Nothing has changed since the last report."),
    "watch.before": ("上次的报告", "The last report"),
    "watch.gone_topic": ("此主题已不再关注。", "This topic is not watched any more."),
    "watch.none": ("（无）", "(none)"),
    "watch.new": ("新事件", "New"),
    "watch.gone": ("不再出现", "Gone"),
    "watch.grown": ("报道增多", "More coverage"),
    "watch.figure": ("数字改变", "Figure changed"),
    "section.waiting": ("等待", "waiting"),
    "section.searching": ("搜索中", "searching"),
    "section.writing": ("撰写中", "writing"),
    "section.reflecting": ("反思中", "reflecting"),
    "section.done": ("完成", "done"),
    "section.round": ("第 {n} 轮", "round {n}"),
    "section.cites": ("{n} 处引用", "citations: {n}"),
    "step.queued": (
        "{what}：按本应用自设的限速排队中（{n}）",
        "{what}: waiting for a turn under this desk's own limits ({n})",
    ),
    "why.synonyms": ("同义词", "synonyms"),
    "why.other language": ("另一种语言", "other language"),
    "why.whole subject": ("该对象的全部内容", "everything on the subject"),
    "why.edited": ("已编辑", "edited"),
    "reason.no key": ("缺少密钥", "no key"),
    "reason.refused": ("被拒绝", "refused"),
    "reason.quota": ("额度用尽", "quota used up"),
    "reason.timeout": ("超时", "timed out"),
    "reason.unreachable": ("无法连接", "unreachable"),
    "reason.blocked": ("被屏蔽", "blocked"),
    "reason.empty": ("没有找到", "nothing found"),
    "reason.malformed": ("返回内容无法读取", "unreadable reply"),
    "reason.left out": ("未执行", "not done"),
    "reason.internal": ("程序内部错误", "internal error"),
    "reason.unavailable": ("服务暂不可用", "service unavailable"),
    "reason.cut off": ("达到输出上限", "cut off at its limit"),
    "reason.unclear": ("需要说得更具体", "has to be said more exactly"),
    "hint.key": ("请检查密钥", "check the key"),
    "hint.billing": (
        "用 Gemini 搜索需要已开通付费的密钥，免费密钥没有此功能",
        "searching with Gemini needs a key with billing; a free key has no search",
    ),
    "hint.location": (
        "该服务不支持当前地区，可用 GOOGLE_GEMINI_BASE_URL 另设地址",
        "the service refuses this region; GOOGLE_GEMINI_BASE_URL can name another address",
    ),
    "hint.model": ("没有这个模型，请在设置中换一个", "there is no such model; name another in the settings"),
    "hint.context": ("内容超出模型的上下文长度", "more than the model's context holds"),
    "hint.endpoint": ("地址有回应，但不是这项服务", "the address answers, but it is not this service"),
    # answer
    "answer.by": ("作者", "Written by"),
    "answer.failures": ("失败的步骤（{n}）", "What failed ({n})"),
    "answer.open": ("打开第 {n} 条引文的原文", "Open the passage behind citation {n}"),
    "answer.visit": ("打开来源页面", "Open the source page"),
    "answer.page": ("第 {n} 页", "page {n}"),
    "answer.sample": ("示例资料", "sample"),
    "answer.unsourced": ("无出处", "no source"),
    "answer.passage": ("原文段落", "Passage"),
    "answer.dated": ("资料日期", "dated"),
    "answer.undated": ("资料未注明日期", "no date stated"),
    "answer.retrieved": ("检索时间", "retrieved"),
    "answer.grounding": (
        "这是搜索模型的表述，由 Google 搜索归于此来源，并非网页原文。",
        "The search model's wording, as Google Search attributes it to this source; not the page's own.",
    ),
    "answer.expires": ("此链接约 30 天后失效", "this link expires after about 30 days"),
    "answer.table": ("表格", "Table"),
    "answer.suggestions": ("Google 搜索建议", "Google Search suggestions"),
    # support
    "standing.quoted": ("逐字摘引", "Quoted"),
    "standing.supported": ("有依据", "Supported"),
    "standing.weak": ("依据不足", "Weak support"),
    "standing.differs": ("与来源不符", "Differs from its source"),
    "standing.none": ("无来源", "No source"),
    "meaning.quoted": ("这句话逐字出现在来源中。", "The sentence stands word for word in its source."),
    "meaning.supported": (
        "引用的段落说了这件事：数字、日期、名称都在其中，肯定否定一致。",
        "The passage that is cited says it: its figures, dates and names are there, and a yes is a yes.",
    ),
    "meaning.weak": (
        "有引用，但段落里没有清楚地说这件事，或缺少其中的名称、日期、数字。",
        "Something is cited, but the passage does not clearly say it, or a name, date or figure is not there.",
    ),
    "meaning.differs": (
        "句中的数字或日期与引用的段落不一致。",
        "A figure or date of the sentence is another one in the passage that it cites.",
    ),
    "meaning.none": (
        "这是一个陈述，但没有引用任何存在的来源。",
        "It claims something, and cites no source that exists.",
    ),
    "lack.figure": ("段落中没有数字“{text}”", "figure not found in the passage: ‘{text}’"),
    "lack.date": ("段落中没有日期“{text}”", "date not found in the passage: ‘{text}’"),
    "lack.name": ("段落中没有找到“{text}”", "not found in the passage: ‘{text}’"),
    "lack.polarity": ("肯定与否定相反：“{text}”", "one says yes where the other says no: ‘{text}’"),
    "lack.words": ("段落中没有找到“{text}”", "not found in the passage: ‘{text}’"),
    "other.figure": ("数字不同：此处为 {text}，来源为 {found}", "figure differs: {text} here, {found} in the source"),
    "other.date": ("日期不同：此处为 {text}，来源为 {found}", "date differs: {text} here, {found} in the source"),
    "other.name": ("名称不同：此处为{text}，来源为{found}", "name differs: {text} here, {found} in the source"),
    "other.polarity": ("肯定与否定相反：此处为“{text}”，来源为“{found}”", "‘{text}’ here, ‘{found}’ in the source"),
    "other.words": ("说法不同：此处为“{text}”，来源为“{found}”", "‘{text}’ here, ‘{found}’ in the source"),
    "count.weak": ("{n} 句依据不足", "{n} weak"),
    "count.differs": ("{n} 句与来源不符", "{n} with another figure"),
    "count.none": ("{n} 句无来源", "{n} without source"),
    "support.line": ("{total} 句中 {ok} 句有依据", "{ok} of {total} sentences supported"),
    "support.line1": ("{total} 句中 {ok} 句有依据", "{ok} of {total} sentence supported"),
    "support.quoted": ("{n} 句全部逐字摘自来源", "All {n} sentences are quoted word for word"),
    "support.quoted1": ("唯一的一句逐字摘自来源", "The one sentence is quoted word for word"),
    "support.doubtful": ("值得核对的句子（{n}）", "Sentences worth checking ({n})"),
    "support.legend": ("各种标记的含义", "What the marks mean"),
    "support.accuracy": (
        "这是提示，不是结论：逐句与引用的段落自动比对，在较难的测试句上，中文约 {zh}%、英文约 {en}% 的判断是对的。请打开引文自行核对。",
        "A hint, no verdict: each sentence is compared with the passages that it cites. In test cases, many of them hard, this was right in about {zh} % (Chinese) and {en} % (English). Open the passages and see for yourself.",
    ),
    "support.ruled": ("其中 {n} 句另由模型判断。", "{n} of them were judged by a model as well."),
    "support.unsourced": ("它所指的来源不存在", "a source that it names does not exist"),
    "support.unclear": ("段落没有清楚地说这件事", "the passage does not clearly say it"),
    "support.nearest": ("查看最接近的段落 [{n}]", "See the passage that comes nearest [{n}]"),
    "support.uses": ("使用此来源的句子（{n}）", "Sentences that use this source ({n})"),
    "review.title": ("核对时改动了 {n} 句", "{n} sentences were changed by the check"),
    "review.title1": ("核对时改动了 1 句", "One sentence was changed by the check"),
    "review.help": (
        "{author} 核对后，没有来源支持的句子被删去或改写。原句保留在这里。",
        "{author} checked the answer. What had no support was removed or rewritten; here is each sentence as it was.",
    ),
    "review.rules": (
        "按规则与来源核对后，没有来源支持的句子被删去或改写。原句保留在这里。",
        "By the rules that compare it with its sources, some of the answer had no support and was removed or rewritten; here is each sentence as it was.",
    ),
    "review.dropped": ("已删去", "Removed"),
    "review.rewritten": ("已改写", "Rewritten"),
    "sources.title": ("来源", "Sources"),
    "sources.number": ("编号", "No."),
    "sources.name": ("标题", "Title"),
    "sources.kind": ("类别", "Kind"),
    "sources.domain": ("网站或文件", "Site or file"),
    "sources.date": ("日期", "Date"),
    "sources.times": ("引用次数", "Times cited"),
    "sources.link": ("链接", "Link"),
    "sources.none": ("没有可引用的来源。", "There is nothing to cite."),
    "sources.alt": ("来源表", "Table of the sources"),
    "sources.which": ("显示哪些来源", "Which sources"),
    "sources.cited": ("已引用（{n}）", "Cited ({n})"),
    "sources.all": ("全部找到的（{n}）", "All found ({n})"),
    "sources.days": ("资料日期范围", "Dates from and to"),
    "sources.no_match": ("没有符合条件的来源。", "No source fits the filters."),
    "sources.doubtful": ("待核对", "To check"),
    "sources.doubtful_help": (
        "使用此来源、但依据不足或与来源不符的句子数。",
        "Sentences that use the source and are weak or differ from it.",
    ),
    "sources.pick": (
        "选中一行，即可看到使用该来源的每一句话。",
        "Select a row to see every sentence that uses the source.",
    ),
    "sources.sentences": ("{n} 句话使用此来源", "used by {n} sentences"),
    "sources.sentence1": ("1 句话使用此来源", "used by 1 sentence"),
    "sources.unused": ("找到但未引用", "found, and not cited"),
    # conflicts
    "conflicts.title": ("来源不一致", "Sources disagree"),
    "conflicts.help": (
        "不同来源对同一件事给出了不同的数字，引用前请核对。",
        "Sources give different figures for the same thing. Check before you rely on one.",
    ),
    "conflicts.subject": ("内容", "About"),
    "conflicts.figure": ("数字", "Figure"),
    "conflicts.clause": ("原文", "In its words"),
    "conflicts.source": ("来源", "Source"),
    "conflicts.copies": ("另有 {n} 处同文", "copies: {n}"),
    "kind.library": ("资料库", "Library"),
    "kind.sample": ("示例资料", "Sample"),
    "kind.web": ("网页", "Web"),
    "kind.news": ("新闻", "News"),
    "kind.place": ("地点", "Place"),
    "kind.database": ("数据库", "Database"),
    "source.library": ("资料库", "Library"),
    "source.web": ("网络", "Web"),
    "source.news": ("新闻", "News"),
    "source.feeds": ("新闻订阅源", "news feeds"),
    "source.gdelt": ("GDELT 全球新闻库", "GDELT"),
    "source.gemini": ("Gemini 搜索", "Gemini search"),
    "source.tavily": ("Tavily 搜索", "Tavily search"),
    "source.searxng": ("SearXNG 搜索", "SearXNG search"),
    "source.wikipedia": ("维基百科", "Wikipedia"),
    "source.places": ("地点", "Places"),
    "source.database": ("数据库", "Database"),
    "source.amap": ("高德地图", "Amap"),
    "source.offline": ("离线示例地点", "offline sample places"),
    "source.page": ("网页", "page"),
    "stage.plan": ("拟定计划", "planning"),
    "stage.search": ("搜索", "search"),
    "stage.summarise": ("归纳", "summing up"),
    "stage.reflect": ("反思", "reflection"),
    "stage.write": ("撰写答案", "writing the answer"),
    "stage.check": ("检查", "check"),
    "download.markdown": ("下载 Markdown", "Download Markdown"),
    "download.pdf": ("下载 PDF", "Download PDF"),
    "download.docx": ("下载 Word", "Download Word"),
    "download.more": ("更多格式", "More formats"),
    "download.page": ("网页（HTML）", "Web page (HTML)"),
    "download.json": ("数据（JSON）", "Data (JSON)"),
    "download.csl": ("引文（CSL-JSON）", "References (CSL-JSON)"),
    "download.bib": ("引文（BibTeX）", "References (BibTeX)"),
    "download.ris": ("引文（RIS）", "References (RIS)"),
    "download.sources_csv": ("来源表（CSV）", "Sources (CSV)"),
    "download.answer_csv": ("答案中的表格（CSV）", "Tables of the answer (CSV)"),
    "download.answer_excel": ("答案中的表格（Excel）", "Tables of the answer (Excel)"),
    "download.zip": ("全部文件（ZIP）", "Everything (ZIP)"),
    "download.failed": ("“{what}”无法生成，日志中有详情。", "‘{what}’ could not be made. The log has the details."),
    "download_group.report": ("报告", "Report"),
    "download_group.sources": ("来源", "Sources"),
    "download_group.places": ("地点", "Places"),
    "download_group.tables": ("表格", "Tables"),
    "download_group.all": ("全部", "Everything"),
    # map
    "map.food": ("餐饮", "Food"),
    "map.sight": ("景点", "Sight"),
    "map.family": ("亲子", "Family"),
    "map.shop": ("购物", "Shop"),
    "map.hotel": ("住宿", "Hotel"),
    "map.transport": ("交通", "Transport"),
    "map.culture": ("文化", "Culture"),
    "map.other": ("其他", "Other"),
    "map.cost": ("人均 ¥{n}", "¥{n} a person"),
    "map.address": ("地址：{text}", "Address: {text}"),
    "map.hours": ("营业时间：{text}", "Hours: {text}"),
    "map.phone": ("电话：{text}", "Phone: {text}"),
    "map.photo": ("照片 {n}", "Photo {n}"),
    "map.page": ("来源页面", "Source page"),
    "map.page_amap": ("高德地图页面", "On Amap"),
    "map.sample": ("示例", "Sample"),
    "map.sample_note": (
        "示例资料：手工编写，坐标约精确到一百米。",
        "Sample data: written by hand, its position right to about a hundred metres.",
    ),
    "map.retrieved": ("检索于 {when}", "Retrieved {when}"),
    "map.list": ("地点列表", "List of places"),
    "map.tick": ("选择", "Select"),
    "map.sort": ("排序", "Order"),
    "map.sort.given": ("按找到的顺序", "As found"),
    "map.sort.distance": ("由近到远", "Nearest first"),
    "map.sort.rating": ("评分从高到低", "Best rated first"),
    "map.sort.cost": ("人均从低到高", "Cheapest first"),
    "map.sort.name": ("按名称", "By name"),
    "map.base": ("底图", "Base map"),
    "map.base.none": ("无底图", "No base map"),
    "map.base.osm": ("OSM 地图", "OpenStreetMap"),
    "map.base.amap": ("高德地图", "Amap"),
    "map.lost": ("底图暂时无法加载", "The base map cannot be loaded"),
    "map.too_many": (
        "共 {all} 个地点，地图和列表只画前 {n} 个。请先筛选。",
        "Of {all} places the map and the list show the first {n}. Filter them to see others.",
    ),
    "map.nowhere": (
        "有 {n} 个地点的坐标不可用，没有画在地图上，也不在导出文件里。",
        "Without usable coordinates, and so neither on the map nor in the files: {n}.",
    ),
    "map.geojson": ("下载 GeoJSON", "GeoJSON"),
    "map.kml": ("下载 KML", "KML"),
    "map.csv": ("下载 CSV", "CSV"),
    "map.html": ("下载 HTML 地图", "HTML map"),
    "map.html_note": (
        "{n} 个地点，坐标为 WGS-84。此文件可离线打开，不含底图，也不连接网络。",
        "Places: {n}, coordinates in WGS-84. This file opens without a network; it has no base map.",
    ),
    # places
    "places.title": ("地点", "Places"),
    "places.lead": (
        "历次研究和直接搜索找到的所有地点：筛选、比较、排一天的路线、导出。",
        "Every place that runs and searches have found: filter, compare, plan a day, take away.",
    ),
    "places.where": ("在哪里附近", "Around where"),
    "places.where_example": ("王府井，或 39.915, 116.404", "Wangfujing, or 39.915, 116.404"),
    "places.what": ("找什么", "What to look for"),
    "places.what_example": ("博物馆、咖啡、亲子……", "museum, coffee, children…"),
    "places.radius": ("半径", "Radius"),
    "places.search": ("搜索地点", "Search"),
    "places.searching": ("正在搜索……", "Searching…"),
    "places.nowhere": ("请填写地名或坐标。", "Enter the name of a place or coordinates."),
    "places.quota": ("今天还可搜索 {left} 次（共 {limit} 次）", "{left} of {limit} searches left today"),
    "places.around": ("以此为中心搜索", "Search around here"),
    "places.empty": (
        "还没有地点。在上面搜索，或提一个关于地点的问题。",
        "No places yet. Search above, or ask a question about places.",
    ),
    "places.none": ("没有符合条件的地点，请放宽筛选。", "No place matches. Loosen the filters."),
    "places.count": ("{n} 个地点", "Places: {n}"),
    "places.count_of": ("{all} 个地点中的 {n} 个", "{n} of {all} places"),
    "places.sample": (
        "标有“示例”的地点出自随程序附带的离线表，并非实时数据。",
        "Places marked as sample come from the offline table that ships with Sightline, not from live data.",
    ),
    "places.text": ("文字", "Text"),
    "places.category": ("类别", "Category"),
    "places.city": ("城市", "City"),
    "places.rating": ("评分不低于", "Rated at least"),
    "places.question": ("出自哪个问题", "Found by"),
    "places.any": ("不限", "Any"),
    "places.all": ("全部问题和搜索", "All questions and searches"),
    "places.last": ("刚才的搜索", "The last search"),
    "places.chosen": ("已选 {n} 个", "{n} selected"),
    "places.chosen_help": (
        "勾选列表中的地点：2 至 {compared} 个可并排比较，2 至 {stops} 个可排成一天的路线。",
        "Tick places in the list: 2 to {compared} are compared side by side, 2 to {stops} make a day.",
    ),
    "places.clear": ("取消选择", "Clear the selection"),
    "places.compare": ("并排比较", "Side by side"),
    "places.rated": ("评分", "Rating"),
    "places.price": ("人均", "Price"),
    "places.hours": ("营业时间", "Hours"),
    "places.distance": ("距离", "Distance"),
    "places.address": ("地址", "Address"),
    "places.phone": ("电话", "Phone"),
    "places.retrieved": ("检索时间", "Retrieved"),
    "places.found_by": ("出自", "Found by"),
    "places.direct": ("直接搜索", "A direct search"),
    "places.day": ("排一天的路线", "Plan a day"),
    "places.day_title": ("一天的路线", "A day's route"),
    "places.day_failed": ("路程没有量到，以下是直线距离：{why}", "The ways could not be measured and are straight lines: {why}"),
    "places.measuring": ("正在测量路程……", "Measuring the ways…"),
    "places.stops": ("{n} 站", "{n} stops"),
    "places.from": ("从", "From"),
    "places.to": ("到", "To"),
    "places.time": ("时间", "Time"),
    "places.means": ("方式", "How"),
    "places.minutes": ("{n} 分钟", "{n} min"),
    "places.hours_minutes": ("{h} 小时 {n} 分钟", "{h} h {n} min"),
    "places.walking": ("步行", "walking"),
    "places.driving": ("驾车", "driving"),
    "places.straight": ("直线", "straight line"),
    "places.walking_help": ("步行路程由高德测量。", "Walking distances and times are Amap's."),
    "places.driving_help": ("驾车路程由高德测量。", "Driving distances and times are Amap's."),
    "places.straight_help": (
        "直线距离由坐标算出，实际路程更长，时间未知。",
        "Straight lines are worked out from the coordinates: the real way is longer, its time unknown.",
    ),
    "places.legs_alt": ("各段路程表", "Table of the ways between the stops"),
    "places.export_chosen": ("导出所选的 {n} 个地点：", "Files of what is selected ({n}):"),
    "places.export_shown": ("导出筛选出的 {n} 个地点：", "Files of what is shown ({n}):"),
    # library
    "library.title": ("资料库", "Library"),
    "library.lead": (
        "在这里添加您自己的文件，答案会从中摘引原文。文件只保存在本机。",
        "Add your own files here, and answers will quote from them. They stay on this machine.",
    ),
    "library.shared": (
        "资料库由这里的所有用户共用：每个登录的人都能读取、添加和删除其中的文件。研究则只属于提问的人。",
        "The library is shared: everybody who signs in here can read, add and remove its files. Runs are not: they belong to whoever asked.",
    ),
    "library.upload": ("添加文件", "Add files"),
    "library.types": ("支持 {types}", "Accepted: {types}"),
    "library.add": ("加入资料库", "Add to the library"),
    "library.folder": ("本机文件夹或文件路径", "A folder or file on this machine"),
    "library.folder_add": ("读取文件夹", "Read the folder"),
    "library.folder_missing": ("找不到这个路径：{path}", "There is nothing at this path: {path}"),
    "library.reading": ("正在读取……", "Reading…"),
    "library.sample": ("使用示例资料库", "Use the sample library"),
    "library.sample_help": (
        "随程序附带的约 40 篇短文，供试用。关闭后立即不再参与搜索。",
        "About 40 short documents that ship with Sightline, to try it out. Turned off, they are left out at once.",
    ),
    "library.own": ("我的资料（{n}）", "My documents ({n})"),
    "library.samples": ("示例资料（{n}）", "Sample documents ({n})"),
    "library.empty": (
        "还没有自己的资料。上传文件或读取一个文件夹即可开始。",
        "No documents of your own yet. Upload files or read a folder to begin.",
    ),
    "library.search": ("在资料库中搜索", "Search the library"),
    "library.no_hits": ("没有找到匹配的段落。", "No passage matches."),
    "library.remove": ("删除所选", "Remove selected"),
    "library.col.title": ("标题", "Title"),
    "library.col.name": ("文件", "File"),
    "library.col.language": ("语言", "Language"),
    "library.col.date": ("日期", "Date"),
    "library.col.passages": ("段落", "Passages"),
    "library.col.added": ("添加时间", "Added"),
    "library.alt": ("资料库中的文档表", "Table of the documents in the library"),
    "added.added": ("已加入：{name}（{n} 段）", "Added: {name} ({n} passages)"),
    "added.replaced": ("已更新：{name}（{n} 段）", "Replaced: {name} ({n} passages)"),
    "added.unchanged": ("内容未变：{name}", "Unchanged: {name}"),
    "added.unsupported": ("不支持的文件类型：{name}", "File type not supported: {name}"),
    "added.unreadable": ("无法读取：{name}。文件可能已损坏。", "Cannot be read: {name}. The file may be damaged."),
    "added.encrypted": ("文件有密码，无法读取：{name}", "Protected by a password: {name}"),
    "added.empty": ("文件是空的：{name}", "Empty: {name}"),
    "added.no text layer": (
        "扫描件，没有文字层：{name}。请先做文字识别（OCR）。",
        "Scanned, without a text layer: {name}. Run text recognition (OCR) first.",
    ),
    "added.too large": ("文件太大：{name}", "Too large: {name}"),
    # database
    "database.title": ("查询数据库", "Ask the database"),
    "database.lead": (
        "用中文或英文提问，或直接写 SQL。只能读取，不会改动任何数据；每一步都能看到。",
        "Ask in Chinese or English, or write SQL yourself. It only reads, nothing is ever changed, and every step can be seen.",
    ),
    "database.shipped": ("随程序附带的 5A 景区库", "5A scenic areas of China (ships with Sightline)"),
    "database.which": ("当前数据库：{name}", "Database: {name}"),
    "database.mode": ("提问方式", "How to ask"),
    "database.question": ("问题", "Question"),
    "database.sql": ("SQL 语句", "SQL"),
    "database.placeholder": (
        "例如：四川有哪些 5A 景区，门票多少钱？",
        "For example: Which 5A areas are within 100 km of West Lake?",
    ),
    "database.sql_placeholder": (
        "一条 SELECT 语句，例如：SELECT name, year_rated FROM a_sight ORDER BY year_rated DESC",
        "One SELECT statement, for example: SELECT name, year_rated FROM a_sight ORDER BY year_rated DESC",
    ),
    "database.sql_own": ("一条 SELECT 语句", "One SELECT statement"),
    "database.sql_help": (
        "语句先经检查再执行：只能是一条读取下列表的 SELECT，最多返回 200 行。",
        "It is checked before it is run: one SELECT over the tables below, and at most 200 rows.",
    ),
    "database.ask": ("查询", "Ask"),
    "database.run": ("执行", "Run"),
    "database.rules": (
        "当前没有使用模型：常见问法由规则写成 SQL，其余请直接写 SQL。",
        "No model is in use: rules turn the common kinds of questions into SQL. For others write SQL yourself.",
    ),
    "database.rules_own": (
        "当前没有使用模型，规则不认识这个数据库的表：请直接写 SQL，或先设置模型。",
        "No model is in use, and the rules do not know the tables of this database: write SQL, or set a model.",
    ),
    "database.model": ("由 {write} 写 SQL；规则能读懂的问题不用模型。", "{write} writes the SQL; questions that the rules understand need no model."),
    "database.schema": ("可以问什么：{n} 张表", "What can be asked: {n} tables"),
    "database.schema1": ("可以问什么：1 张表", "What can be asked: 1 table"),
    "database.schema_failed": ("现在无法查询数据库：{why}", "The database cannot be asked now: {why}"),
    "database.view": ("视图", "view"),
    "database.columns": ("{table} 的列", "Columns of {table}"),
    "database.column": ("列", "Column"),
    "database.type": ("类型", "Type"),
    "database.comment": ("说明", "Meaning"),
    "database.values": ("取值", "Values"),
    "database.key": ("主键", "primary key"),
    "database.refers": ("指向 {column}", "refers to {column}"),
    "database.write": (
        "这个数据库账号可以写入。Sightline 不会写入，但请换成只能读取的账号。",
        "The account of this database may write. Sightline never does, but use one that can only read.",
    ),
    "database.superuser": (
        "这个数据库账号是超级用户，权限过大。请换成只能读取的账号。",
        "The account of this database is a superuser, which is far too much. Use one that can only read.",
    ),
    "database.confirmed": ("已确认正确的问题（{n}）", "Questions confirmed as right ({n})"),
    "database.confirmed_help": (
        "再问同一问题时直接用确认过的语句；模型写类似问题的 SQL 时以它们为例。",
        "The same question is answered by its statement from then on, and a model takes them as examples for questions like them.",
    ),
    "database.again": ("再问一次", "Ask again"),
    "database.typed": ("SQL 语句", "SQL statement"),
    # rows
    "rows.table": ("查询结果表", "Table of the rows"),
    "rows.rows": ("{n} 行", "{n} rows"),
    "rows.row1": ("1 行", "1 row"),
    "rows.truncated": ("还有更多，这里只有前 {n} 行", "there are more; these are the first {n}"),
    "rows.cut": ("{n} 个单元格过长，已截短", "cells that were shortened: {n}"),
    "rows.null": ("空值（显示为 –）：{what}", "NULL (shown as –): {what}"),
    "rows.null_in": ("{name} {n} 行", "{name} in {n} rows"),
    "rows.missed": ("有的条件不可能找到内容：{what}", "A filter can find nothing: {what}"),
    "rows.none": ("没有符合条件的行。", "No row fits."),
    "rows.pick": ("选中一行，地图上会标出它；在地图上点选，这里也会选中。", "Select a row to see it on the map; what is picked on the map is selected here."),
    "rows.csv": ("表格（CSV）", "Rows (CSV)"),
    "rows.excel": ("表格（Excel）", "Rows (Excel)"),
    "rows.parquet": ("表格（Parquet）", "Rows (Parquet)"),
    "rows.statement": ("执行的 SQL", "The SQL that was run"),
    "rows.right": ("结果正确", "This is right"),
    "rows.right_help": (
        "记住这条语句：再问同一问题时直接使用，并作为类似问题的示例。",
        "Remembers the statement: it answers the same question from now on, and is an example for others.",
    ),
    "rows.remembered": ("已确认并记住", "Remembered as right"),
    "rows.other": ("这个问题已记住另一条语句", "Another statement is remembered for this question"),
    "rows.back": ("撤回", "Take back"),
    "rows.edit": ("修改这条 SQL", "Edit this SQL"),
    "rows.chart": ("图表", "Chart"),
    "rows.measure": ("数值", "Figure"),
    "rows.chart_bar": ("{label}的{measure}条形图", "Bars of {measure} by {label}"),
    "rows.chart_line": ("{measure}随{label}变化的折线图", "Line of {measure} over {label}"),
    "rows.chart_points": ("{measure}与{label}的散点图", "Points of {measure} against {label}"),
    "rows.chart_top": ("图中只有前 {n} 个。", "The chart shows the first {n}."),
    "rows.steps": ("思考过程（{n} 步）", "Chain of thought ({n} steps)"),
    "rows.step1": ("思考过程（1 步）", "Chain of thought (1 step)"),
    "rows.place": ("第 {n} 行", "Row {n}"),
    "rows.cited": ("引用的行（{n}）", "Rows that are cited ({n})"),
    "rows.found": ("共 {n} 行", "{n} rows"),
    "rows.found_more": ("{n} 行以上", "more than {n} rows"),
    "thought.understand": ("理解", "Understood"),
    "thought.link": ("对应名称", "Names matched"),
    "thought.write": ("写出 SQL", "SQL written"),
    "thought.refused": ("未通过", "Refused"),
    "thought.run": ("执行", "Run"),
    "thought.judge": ("判断", "Judged"),
    "thought.supplement": ("补查", "Supplemented"),
    "thought.missing": ("缺失", "Missing"),
    "thought.known": ("沿用已确认的语句", "the statement that was confirmed as right"),
    "thought.gained": ("补上 {n} 个单元格", "cells filled: {n}"),
    # history
    "history.title": ("历史", "History"),
    "history.empty": ("还没有研究记录。", "No runs yet."),
    "history.manage": ("管理这段对话", "Manage this conversation"),
    "history.turns": ("**{title}**（{n} 轮）", "**{title}** ({n} turns)"),
    "history.rename": ("名称", "Title"),
    "history.save": ("保存", "Save"),
    "history.pin": ("置顶", "Pin"),
    "history.unpin": ("取消置顶", "Unpin"),
    "history.sure": (
        "连同答案和找到的来源一起删除，不能恢复",
        "Delete it with its answers and the sources found; this cannot be undone",
    ),
    "history.delete": ("删除对话", "Delete the conversation"),
    "history.filter": ("按问题筛选", "Filter by question"),
    # status
    "status.title": ("状态", "Status"),
    "status.reasoner": ("由谁思考", "Who thinks"),
    "status.reasoner_text": (
        "引文摘录：按规则拆分问题、逐字摘引资料，不使用模型，不需要密钥和网络。",
        "Quoted evidence digest: splits questions by rules and quotes documents verbatim. No model, no key, no network.",
    ),
    "usage.title": ("用量", "Usage"),
    "usage.alt": ("按步骤和模型列出的用量表", "Table of what was used, by stage and model"),
    "usage.stage": ("步骤", "Stage"),
    "usage.model": ("模型", "Model"),
    "usage.calls": ("调用", "Calls"),
    "usage.input": ("输入 token", "Tokens in"),
    "usage.output": ("输出 token", "Tokens out"),
    "usage.searches": ("计费搜索", "Billed searches"),
    "usage.cost": ("费用（估算）", "Cost (estimate)"),
    "status.models_text": (
        "由聊天模型拟定计划、反思并撰写；每处引用都指向检索到的内容。",
        "Chat models plan, reflect and write; every citation points at what was found.",
    ),
    "status.role": ("职责", "Role"),
    "status.model": ("模型", "Model"),
    "status.state": ("状态", "State"),
    "status.models_alt": ("各职责的模型表", "Table of the models by role"),
    "status.needs": ("缺少 {setting}", "{setting} is not set"),
    "status.set": ("已设置", "set"),
    "status.unset": ("未设置", "not set"),
    "status.check": ("测试连接", "Test connections"),
    "status.check_help": (
        "向每个模型和搜索服务发一个很小的请求，可能产生少量费用。",
        "Asks every model and search service for something small. It may cost a little.",
    ),
    "status.checking": ("正在测试……", "Testing…"),
    "status.ok": ("正常，{seconds}", "works, {seconds}"),
    "status.nothing_to_check": ("没有配置任何模型或网络搜索。", "No model and no web search is configured."),
    "status.web_missing": ("请设置：{names}", "Set: {names}"),
    "status.prices": (
        "费用为估算，价格截至 {date}；未列出的模型显示为未知。",
        "Costs are estimates, with prices of {date}; models that are not listed show as unknown.",
    ),
    "role.plan": ("拟定计划", "Planning"),
    "role.reflect": ("反思", "Reflection"),
    "role.write": ("撰写答案", "Writing"),
    "role.runs": ("研究服务器", "Run server"),
    "role.search": ("搜索与归纳", "Searching and summing up"),
    "status.sources": ("资料来源", "Sources"),
    "status.live": ("可用", "live"),
    "status.offline": ("离线", "offline"),
    "status.sample": ("仅有示例资料", "sample only"),
    "status.missing": ("未配置", "not configured"),
    "status.empty": ("没有资料", "nothing in it"),
    "status.places_add": (
        "设置 {name} 可查询高德地图；现在只有随程序附带的少量示例地点。",
        "Set {name} to ask Amap; for now there are only the few sample places that ship with Sightline.",
    ),
    "status.places_left": (
        "今天还可以搜索地点 {left} 次（共 {limit} 次）。",
        "{left} of today's {limit} searches for places are left.",
    ),
    "status.library": ("资料库：自有 {own} 篇，示例 {sample} 篇", "Library: {own} own documents, {sample} sample documents"),
    "status.library_add": (
        "在“资料库”页添加自己的文件。",
        "Add your own files on the Library page.",
    ),
    "status.database": ("{name}（{dialect}，{n} 张表）", "{name} ({dialect}, tables: {n})"),
    "status.data": ("数据位置", "Where data lies"),
    "status.data_text": ("共 {size}。设置 SIGHTLINE_DATA_DIR 可改到别处。", "{size} in all. Set SIGHTLINE_DATA_DIR to move it."),
    "status.private": (
        "启用登录后，这里不显示路径和设置，也不能测试连接：这些由运维人员在服务器上查看（python -m research check）。",
        "With a login, paths, settings and the test of connections are not here: whoever runs the server has them there (python -m research check).",
    ),
    "status.settings": ("设置", "Settings"),
    "status.setting": ("名称", "Name"),
    "status.value": ("当前值", "Value"),
    "status.settings_alt": ("当前设置表", "Table of the current settings"),
    # trouble
    "trouble.store": ("存放研究的数据库无法使用", "The database of the runs cannot be used"),
    "trouble.driver": (
        "{path} 需要尚未安装的驱动。请运行：pip install 'psycopg[binary]>=3.2' 'psycopg-pool>=3.2' 'langgraph-checkpoint-postgres>=3.2'",
        "{path} needs drivers that are not installed. Run: pip install 'psycopg[binary]>=3.2' 'psycopg-pool>=3.2' 'langgraph-checkpoint-postgres>=3.2'",
    ),
    "trouble.unreachable": (
        "连接不上 {path}。请启动数据库服务器，或检查 STORE_URL。",
        "{path} cannot be reached. Start the server, or correct STORE_URL.",
    ),
    "trouble.refused": (
        "{path} 不接受这个用户、密码或数据库。请检查 STORE_URL。",
        "{path} does not accept the user, the password or the database. Correct STORE_URL.",
    ),
    "trouble.standby": (
        "{path} 只能读取。请把 STORE_URL 设为可写的数据库。",
        "{path} can only be read. Set STORE_URL to a database that can be written.",
    ),
    "trouble.server": (
        "{path} 无法使用。请检查数据库服务器和 STORE_URL，日志中有详情。",
        "{path} cannot be used. Check the server and STORE_URL; the log has the details.",
    ),
    "trouble.title": ("数据目录无法使用", "The data folder cannot be used"),
    "trouble.corrupt": (
        "文件 {path} 已损坏，或不是 Sightline 的文件。程序没有改动它。请恢复备份，或把它移到别处后重试。",
        "The file {path} is damaged or is not a Sightline file. It was left as it is. Restore a backup or move it away, then try again.",
    ),
    "trouble.read-only": (
        "{path} 不可写。请改为可写，或把 SIGHTLINE_DATA_DIR 设为可写的目录。",
        "{path} cannot be written. Make it writable, or set SIGHTLINE_DATA_DIR to a folder that is.",
    ),
    "trouble.full": (
        "磁盘已满，{path} 无法增长。请腾出空间；已保存的内容没有丢失。",
        "The disk is full, {path} cannot grow. Free some space; nothing stored was lost.",
    ),
    "trouble.locked": ("{path} 正被另一个程序占用。请关闭它后重试。", "{path} is held by another program. Close it and try again."),
    "trouble.newer": ("{path} 由更新版本的 Sightline 写成，请升级。", "{path} was written by a newer version of Sightline. Please update."),
    "trouble.unusable": ("{path} 无法打开。请检查 SIGHTLINE_DATA_DIR。", "{path} cannot be opened. Check SIGHTLINE_DATA_DIR."),
    "trouble.setting": ("设置有误", "A setting is wrong"),
    "trouble.retry": ("重试", "Try again"),
}  # fmt: skip


def lang() -> Lang:
    """The visitor's language: the switch, else the browser's."""
    chosen = st.session_state.get("lang")
    if chosen in ("zh", "en"):
        return chosen  # type: ignore[no-any-return]
    return browser_lang()


def browser_lang() -> Lang:
    return "zh" if str(st.context.locale or "").lower().startswith("zh") else "en"


def address(run_id: str) -> dict[str, str]:
    """The query of a run's address, for `st.switch_page`, which would forget the language that was
    chosen on the page."""
    return {"run": run_id, "lang": lang()} if lang() != browser_lang() else {"run": run_id}


def t(key: str, **values: object) -> str:
    """The words for a key, with the values filled in."""
    return WORDS[key][0 if lang() == "zh" else 1].format(**values)


def speaker(language: Lang) -> Say:
    """`t` in a given language: for what is in that of a report, and for files that are made without
    a visitor."""
    return lambda key, **values: WORDS[key][0 if language == "zh" else 1].format(**values)


def day_text(day: date, language: Lang) -> str:
    """A day as a reader of that language writes it."""
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def tool_name(name: str) -> str:
    """What a way of searching the news is called; one of a later version keeps its own name."""
    if not name:
        return t("tool.usual")
    return t(f"tool.{name}") if f"tool.{name}" in WORDS else name


def number(value: int) -> str:
    return f"{value:,}"


def counted(one: str, many: str, n: int) -> str:
    return t(one) if n == 1 else t(many, n=number(n))


def seconds(value: float) -> str:
    text = (
        "<0.01"
        if value < 0.01
        else f"{value:.2f}"
        if value < 1
        else f"{value:.1f}"
        if value < 10
        else str(math.floor(value))
    )
    return t("run.seconds", n=text)


def local_time(moment: datetime) -> str:
    """A time in the visitor's time zone, to the minute."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
