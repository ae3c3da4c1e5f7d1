"""The words of asking: the question, its plan and its limits."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
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
    "ask.recent": ("接着上次的研究", "Pick up where you left off"),
    "ask.lesson_plan": ("先定计划", "A plan first"),
    "ask.lesson_plan_text": (
        "问题拆成几个部分和查询。想先看、先改，就点“先看计划”。",
        "The question is split into parts and queries. Choose “Plan first” to review and edit them.",
    ),
    "ask.lesson_search": ("边搜边看", "Watch it search"),
    "ask.lesson_search_text": (
        "查询同时进行，每轮之后判断还缺什么，再查一轮。随时可以停下，已找到的都留着。",
        "Queries run in parallel; after each round it works out what is missing and searches again. Stop at any time: what was found is kept.",
    ),
    "ask.lesson_proof": ("逐句有据", "Every sentence checked"),
    "ask.lesson_proof_text": (
        "点开编号就是支持它的原文；依据不足、数字不符的句子会标出来。",
        "Each number opens the passage behind it; sentences with weak support or figures that do not match are marked.",
    ),
    "ask.effort": ("{queries} 个查询 × {loops} 轮", "{queries} {queries:query|queries} × {loops} {loops:round|rounds}"),
    "ask.estimate": ("预计：{facts}", "Estimate: {facts}"),
    "ask.estimate_cost": ("约 {cost}", "about {cost}"),
    "ask.queries": ("每轮查询数上限", "Max. queries per round"),
    "ask.loops": ("搜索轮数上限", "Max. search rounds"),
    "ask.limits": ("本次研究的上限（0 为不限）", "Limits for this run (0 = no limit)"),
    "ask.limits_help": (
        "达到上限的 80% 时不再搜索，用已找到的内容作答。",
        "At 80% of a limit it stops searching and writes with what it has found.",
    ),
    "ask.searches": ("搜索次数", "Searches"),
    "ask.tokens": ("token 数", "Tokens"),
    "ask.cost": ("费用（美元，估算）", "Cost (US dollars, estimate)"),
    "ask.seconds": ("用时（秒）", "Seconds"),
    "ask.approve": ("搜索前先由我批准计划", "Wait for me to approve the plan"),
    "ask.sources": ("资料来源", "Sources"),
    "ask.effort_help": (
        "查询和轮数越多，查得越细，也越慢。",
        "More queries and rounds dig deeper but take longer.",
    ),
    "ask.next": ("可以接着问", "You could ask next"),
    "ask.follow_placeholder": (
        "继续追问：会结合前面的问题和答案",
        "Ask a follow-up: earlier questions and answers are taken into account",
    ),
    "ask.new": ("新问题", "New question"),
    "ask.no_run": (
        "没有这个编号的研究，它可能已被删除，或属于另一个数据目录。",
        "There is no run with this id. It may have been deleted or belong to another data folder.",
    ),
    "ask.no_sources": (
        "没有选择资料来源。请在“资料来源”里至少选一个。",
        "No source is selected. Select at least one under “Sources”.",
    ),
    "ask.models": (
        "由 {write} 撰写答案。每次研究都会使用您的额度；用量和估算费用在过程中可见。",
        "{write} writes the answers. Every run counts against your quota; its usage and estimated cost are shown as it runs.",
    ),
    "ask.model": ("本次改用的模型", "Another model for this run"),
    "ask.model_help": (
        "负责反思和撰写；留空则用设置中的模型。例如 openai:deepseek-chat。",
        "Used for reflection and writing. Leave empty to use the models in the settings. For example: openai:deepseek-chat.",
    ),
    "ask.no_web": (
        "网络搜索未启用，请设置：{names}",
        "Web search is not available. Set: {names}",
    ),
    "ask.keyless": (
        "当前没有使用模型：答案由规则从资料库中摘引原文。",
        "No model is in use: answers are verbatim quotes from the library, chosen by rules.",
    ),
    # problem
    "problem.empty": ("问题是空的。请写下想了解的内容。", "The question is empty. Type what you want to know."),
    "problem.too long": (
        "问题有 {length} 个字符，最多 {limit} 个。请缩短问题；长文本请放进资料库。您输入的内容没有丢失。",
        "The question has {length} characters; the limit is {limit}. Shorten it, and put longer text into the library. What you typed is still in the box.",
    ),
    "problem.no words": (
        "问题里没有可以检索的文字。请写下想了解的内容。",
        "The question has no searchable words. Type what you want to know.",
    ),
    # plan
    "plan.title": ("研究计划", "Research plan"),
    "plan.help": (
        "可以修改、增加或删除行。“对象”是必须提到的名称；“查询”为空的行会被忽略。",
        "Edit, add or delete rows. “About” is a name that every hit must mention; rows without a query are ignored.",
    ),
    "plan.outline_help": (
        "每行是某一节的一个查询，可修改、增加或删除。标题相同的行属于同一节，标题留空则归入上一行；没有查询的节直接搜索标题。",
        "Each row is one query of a section; edit, add or delete rows. Rows with the same title form one section, a row without a title belongs to the section above, and a section without queries searches for its title.",
    ),
    "plan.section": ("章节标题", "Section"),
    "plan.content": ("内容", "Content"),
    "plan.tool": ("新闻检索方式", "News search mode"),
    "plan.tool_help": ("只用于来源为“新闻”的行。", "Only for rows whose source is news."),
    "plan.start_day": ("起始日期", "Start date"),
    "plan.end_day": ("结束日期", "End date"),
    "plan.days_help": (
        "只用于“按日期”检索，两个日期都要填。",
        "Only for searches by date, which need both dates.",
    ),
    "plan.dates_missing": ("按日期检索需要起始和结束两个日期", "a search by date needs a start date and an end date"),
    "plan.dates_order": (
        "起始日期 {start} 晚于结束日期 {end}",
        "the start date, {start}, is after the end date, {end}",
    ),
    "plan.dates_future": ("起始日期 {start} 还没到", "the start date, {start}, is in the future"),
    "plan.dates_idle": (
        "有的行填了日期，但不是“按日期”检索，这些日期不会使用。",
        "Some rows have dates but do not search by date; those dates are not used.",
    ),
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
    "plan.rerun_start": ("重跑改动部分", "Rerun what changed"),
    "plan.none": ("计划里没有查询，请至少填写一行。", "The plan has no queries. Fill in at least one row."),
}  # fmt: skip
