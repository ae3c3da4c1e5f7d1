### The words of asking: the question, its plan and its limits.

ask-title = 想查证什么？
ask-lead = 答案里的每个引文编号都能打开支持它的段落。
ask-question = 问题
ask-placeholder = 例如：故宫的门票多少钱，周几闭馆？
ask-start = 开始研究
ask-plan_first = 先看计划
ask-examples = 试试这些问题
ask-recent = 接着上次的研究
ask-effort = { $queries } 个查询 × { $loops } 轮
ask-estimate = 预计：{ $facts }
ask-estimate_cost = 约 { $cost }
ask-queries = 每轮查询数上限
ask-loops = 搜索轮数上限
ask-limits = 本次研究的上限（0 为不限）
ask-limits_help = 达到上限的 80% 时不再搜索，用已找到的内容作答。
ask-sources = 来源
ask-notebook = 笔记本
ask-notebook_none = 整个资料库
ask-notebook_help = 资料库中只搜索和引用此笔记本的文档。
ask-effort_help = 查询和轮数越多，查得越细，也越慢。
ask-next = 可以接着问
ask-follow_placeholder = 继续追问：会结合前面的问题和答案
ask-new = 新问题
ask-no_run = 没有这个编号的研究，它可能已被删除，或属于另一个数据目录。
ask-no_sources = 没有选择来源。请在“来源”里至少选一个。
ask-models = 由 { $write } 撰写答案。每次研究都会使用您的额度；用量和估算费用在过程中可见。
ask-model = 本次改用的模型
ask-model_help = 负责反思和撰写；留空则用设置中的模型。例如 openai:deepseek-chat。
ask-no_web = 网络搜索未启用，请设置：{ $names }
ask-keyless = 当前没有使用模型：答案由规则从资料库中摘引原文。
ask-open_sources = 同时搜索互联网上的开放来源
ask-opened_sources = 今后会同时搜索开放来源，可在“设置”中关闭。
problem-empty = 问题是空的。请写下想了解的内容。
problem-too_long = 问题有 { $length } 个字符，最多 { $limit } 个。请缩短问题；长文本请放进资料库。您输入的内容没有丢失。
problem-no_words = 问题里没有可以搜索的文字。请写下想了解的内容。
plan-title = 研究计划
plan-help = 可以修改、增加或删除行。“对象”是必须提到的名称；“查询”为空的行会被忽略。
plan-outline_help = 每行是某一节的一个查询，可修改、增加或删除。标题相同的行属于同一节，标题留空则归入上一行；没有查询的节直接搜索标题。
plan-section = 章节标题
plan-content = 内容
plan-tool = 新闻搜索方式
plan-tool_help = 只用于来源为“新闻”的行。
plan-start_day = 起始日期
plan-end_day = 结束日期
plan-days_help = 只用于“按日期”搜索，两个日期都要填。
plan-dates_missing = 按日期搜索需要起始和结束两个日期
plan-dates_order = 起始日期 { $start } 晚于结束日期 { $end }
plan-dates_future = 起始日期 { $start } 还没到
plan-dates_idle = 有的行填了日期，但不是“按日期”搜索，这些日期不会使用。
plan-subject = 对象
plan-part = 想知道
plan-query = 查询
plan-source = 来源
plan-start = 按此计划开始
plan-rerun = 修改计划后重查
plan-rerun_help = 只重新搜索改动过的查询，其余结果直接沿用。
plan-rerun_start = 重查改动部分
plan-none = 计划里没有查询，请至少填写一行。
examples-samples =
    故宫博物院的门票多少钱，周几闭馆？
    西湖和颐和园是哪一年列入世界遗产的？
    带孩子坐火车怎么买票，可以带多少行李？
examples-places =
    王府井附近适合遛娃的好去处
examples-web =
    固态电池离量产还有多远，哪些厂商已经装车？
    过去一年各国对人工智能生成内容的标识要求有哪些变化？
    国内外低空经济的商业模式有什么不同，规模各有多大？
ask-add_key = 添加密钥
