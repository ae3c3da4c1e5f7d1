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
    "ask.recent": ("接着上次的研究", "Go on where you left off"),
    "ask.lesson_plan": ("先定计划", "A plan first"),
    "ask.lesson_plan_text": (
        "问题拆成几个部分和查询。想先看、先改，就点“先看计划”。",
        "The question becomes parts and queries. Choose “Plan first” to look at them and change them.",
    ),
    "ask.lesson_search": ("边搜边看", "Searches that you watch"),
    "ask.lesson_search_text": (
        "查询同时进行，每轮之后判断还缺什么，再查一轮。随时可以停下，已找到的都留着。",
        "Queries run side by side; after each round it judges what is missing. Stop at any time, and what was found stays.",
    ),
    "ask.lesson_proof": ("逐句有据", "Every sentence checked"),
    "ask.lesson_proof_text": (
        "点开编号就是支持它的原文；依据不足、数字不符的句子会标出来。",
        "A number opens the passage behind it; sentences that their sources do not bear out are marked.",
    ),
    "ask.effort": ("{queries} 个查询 × {loops} 轮", "{queries} {queries:query|queries} × {loops} {loops:round|rounds}"),
    "ask.estimate": ("预计：{facts}", "Estimate: {facts}"),
    "ask.estimate_cost": ("约 {cost}", "about {cost}"),
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
    "ask.next": ("可以接着问", "You could ask next"),
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
    # problem
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
}  # fmt: skip
