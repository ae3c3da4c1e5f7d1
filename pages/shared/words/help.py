"""The words of the Help page, of the ways to it, and of the tour for who is here for the first time."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "nav.help": ("帮助", "Help"),
    "help.title": ("帮助", "Help"),
    "help.lead": ("通读一遍约三分钟，也可以直接搜。", "Three minutes to read, or search for what you need."),
    "help.search": ("搜索帮助", "Search the help"),
    "help.search_hint": ("例如：密钥、额度、坐标", "For example: keys, quota, maps"),
    "help.found": ("找到 {n} 条", "Topics found: {n}"),
    "help.none": (
        "没有找到相关内容，换个词试试，或清空搜索框查看全部。",
        "Nothing found. Try another word, or clear the box to see everything.",
    ),
    "help.tour": ("重看一分钟导览", "Show the tour"),
    "help.how": ("这是怎么核对的？", "How is this checked?"),
    "help.digest": ("什么是摘引？", "What is a digest?"),
    # group
    "group.ask": ("提问", "Asking"),
    "group.trust": ("怎么看答案", "Reading an answer"),
    "group.look": ("到哪里去查", "Where it looks"),
    "group.yours": ("您的研究台", "Your desk"),
    # topic: the question, then what there is to say
    "topic.what": ("Sightline 是做什么的", "What Sightline is for"),
    "guide.what": (
        "Sightline 是一个查证台，给要对结论负责的人用。您提问题，它去查资料；答案里的说法都带编号，点一下就能看到原文。\n\n"
        "写简报、核实数字、跟踪一个话题、比较几个地点，都适合。它不替您下判断，只把依据摆到您面前。",
        "Sightline is a desk for people who have to stand behind what they write. You ask, it looks things up, and the claims in the answer carry numbers: click one to read the passage.\n\nUse it to write briefings, check a figure, follow a topic or compare places. It does not decide for you. It puts the evidence in front of you.",
    ),
    "topic.asking": ("怎么提问", "How to ask"),
    "guide.asking": (
        "把想知道的写成完整的句子，一次可以问几件事，并写出具体的名称。\n\n"
        "问题框下面可以选查得多细：每轮几个查询、最多几轮、用哪些来源。也可以限定搜索次数、token、费用和用时。旁边是预计的用量。\n\n"
        "**先看计划**会列出打算查什么，改好再开始。也可以让它每次都等您批准计划，然后再搜索。",
        "Write full sentences and use specific names. One question may ask for several things.\n\nBelow the box you choose how thorough the search is: queries per round, rounds, sources. You can limit searches, tokens, cost and time. The expected usage is shown beside them.\n\n**Plan first** shows what would be looked up, so that you can edit it before it starts. You can also have every run wait until you approve its plan.",
    ),
    "topic.running": ("进行中：离开、停止、继续", "While it runs: leaving, stopping, resuming"),
    "guide.running": (
        "研究在服务器上进行。刷新、换页、关掉标签页都不影响，用原来的网址就能回来。\n\n"
        "随时可以停止，已经找到的都会留下，继续时不重复搜索。也可以不再搜索，就用现有的内容作答。\n\n"
        "服务器意外中断后，研究会标为“已中断”，点一下就接着做。",
        "Runs happen on the server. Refresh, change pages, close the tab: the run continues, and its address brings you back.\n\nStop at any time. What was found is kept, and no search is repeated when you resume. Or stop searching and have the answer written with what was found.\n\nAfter a crash the run is listed as interrupted. One click resumes it from its last finished search.",
    ),
    "topic.follow": ("追问和再查一轮", "Follow-up questions, and another round"),
    "guide.follow": (
        "在答案下面接着问就行。追问会补成一个完整的问题；它记得前面的答案，可以引用其中的来源，只查还缺的部分。\n\n"
        "想换个方向，可以从前面任何一轮另问。嫌查得不够，就再查一轮。只想改几个查询，就改计划后重跑，没改的不再搜索。",
        "Ask a follow-up below the answer. It is completed into a question that stands on its own. It knows the earlier answers, may cite what they cite, and searches only for what is missing.\n\nTo go another way, ask again from any earlier turn. If it did not dig deep enough, add a round. To change a few queries, edit the plan and run again: unchanged queries are not searched twice.",
    ),
    "topic.digest": ("什么是引文摘录", "What a digest is"),
    "guide.digest": (
        "不用模型时，答案就是引文摘录：按规则把问题拆开，从资料里逐字摘出有关的句子，再按问题的各个部分排好。\n\n"
        "它不是人工智能写的。不改写，不概括，不下结论；没找到的部分会直接说没找到。句子与原文一字不差，原文本身对不对，仍要看出处。",
        "Without a model the answer is a digest. Rules split the question, find the sentences that bear on it, and quote them word for word, part by part.\n\nIt is not written by AI. It does not rephrase, summarise or conclude, and it says which parts it found nothing for. The quotes are exact; whether the source itself is right, you still have to check.",
    ),
    "topic.citation": ("引文编号为什么不会错", "Why a citation never points to nothing"),
    "guide.citation": (
        "编号由程序给，不由模型给：从 1 起，按首次引用的顺序连着排；一个来源一个号，没有空号，也没有多余的号。\n\n"
        "模型只能引用这一次交给它的段落。编造的编号或网址对不上任何段落，会标成“无来源”，不会变成链接。\n\n"
        "所以编号总能打开真实存在的段落。那段话是不是真的支持这句话，是另一个问题，由逐句核对来提示。",
        "The program assigns the numbers, not the model: from 1, in order of first citation, one number per source, with none missing and none left over.\n\nA model can only cite passages it was given. A number or an address that it makes up matches none of them: it is shown as having no source, never as a link.\n\nSo a number always opens a passage that exists. Whether that passage supports the sentence is another matter, and the check of each sentence gives a hint.",
    ),
    "topic.support": ("句子后面的标记是什么意思", "What the marks after sentences mean"),
    "guide.support": (
        "每句话都和它引用的段落比对：数字、日期、名称、单位，肯定还是否定。存疑的句子后面有标记，点开能看到原因。\n\n"
        "也可以让模型复核存疑的和勉强有依据的句子（“设置”页）。它说“有依据”要附原文引句才算；它不认可规则的判断时，这句话标为存疑。",
        "Each sentence is compared with the passages it cites: figures, dates, names, units, affirmed or denied. Doubtful sentences end with a mark; click it to see why.\n\nA model can also review those in doubt and those with barely enough support (on the Settings page). Its claim of support counts only with a quote from the passage; where it rejects what the rules support, the sentence is marked as unclear.",
    ),
    "topic.conflicts": ("来源之间说法不一", "Where sources disagree"),
    "guide.conflicts": (
        "几个来源对同一件事给出不同的数字或日期，答案下面就会列一张表：每个数字、来源、日期和原句。\n\n"
        "四舍五入和单位换算不算分歧，转载的同一篇只算一次。只比较措辞相近的句子，换了说法的分歧多半不会列出；拿不准时不列。哪个对，由您判断。",
        "If sources give different figures or dates for the same thing, a table below the answer lists each with its source, date and sentence.\n\nRounding and unit conversion do not count as disagreement, and copies of one text count once. Only sentences in similar words are compared, so most differences told in other words are not listed; where it is not sure, it lists nothing. Which one is right is for you to judge.",
    ),
    "topic.news": ("新闻报告和关注的话题", "News reports and watched topics"),
    "guide.news": (
        "一个话题先列成提纲，您可以先改。各节分头搜索、撰写、补查，最后写总述。讲同一件事的报道归为一个事件，附时间线、媒体、倾向和不一致的数字。\n\n"
        "关注的话题可以再看一次：已知的内容不再阅读，也不再付费，报告开头就是变化。没有日期的报道会注明，抓取时间不当作发布时间。",
        "A topic becomes an outline that you can edit. Its sections are searched, written and deepened in parallel, then summed up. Reports of the same event are grouped into one story, with a timeline, the outlets, the tone and the figures on which they differ.\n\nCheck a watched topic again: what is already known is neither read nor paid for again, and the report begins with what has changed. Reports without a date are said to have none; the time a page was crawled is not taken as its publication date.",
    ),
    "topic.places": ("地点、坐标和额度", "Places, coordinates and quota"),
    "guide.places": (
        "问到地方时会同时查地图。地点和网页一样有编号，也画在答案旁的地图上。“地点”页汇总找到的所有地点，可以筛选、比较、排一天的路线。\n\n"
        "高德的坐标（GCJ-02）读入时就换成通用的 WGS-84，导出后放进别的地图不会偏移。省份和重名的地方会先问清，不猜。高德的答案保留一段时间，重复查询不占额度。",
        "A question about places searches the map as well. Places are numbered like any source and shown on the map beside the answer. The Places page has all of them: filter, compare, plan a day's route.\n\nAmap's coordinates (GCJ-02) are converted to WGS-84 as they are read, so exported files fit other maps. For a province, or a name that several places share, you are asked which is meant; nothing is guessed. Amap's answers are kept for a while, and repeating the same search then uses no quota.",
    ),
    "topic.database": ("数据库为什么改不了", "Why the database cannot be changed"),
    "guide.places_add": (
        "现在只有少量示例地点。在“设置”页填入高德密钥（{name}）即可查询全国。",
        "For now there are only a few sample places. Enter an Amap key ({name}) on the Settings page to search for places all over China.",
    ),
    "guide.database": (
        "用平常的话提问，它会变成 SQL；每一步的语句、行数和用时都能展开。也可以自己写 SQL。\n\n"
        "语句先解析，只放行许可的表、函数和写法，再按检查过的结构重新生成，在只能读取的连接上执行，行数和时间都有上限。单元格里的文字只当数据，不当指令。",
        "Ask in plain words and they become SQL. Each step opens to show its statement, row count and time. You can also write SQL yourself.\n\nStatements are parsed and checked against lists of what is allowed. Only text regenerated from the checked tree is run, on a connection that cannot write, with limits on rows and time. Text in cells is treated as data, never as an instruction.",
    ),
    "topic.library": ("资料库：能读什么", "The library: what it can read"),
    "guide.library": (
        "可以添加这些文件：{kinds}，也可以添加整个文件夹。同名文件改过后再添加，会替换旧的。随附的示例资料随时可以关闭。\n\n"
        "读不了的有：损坏、加密或空白的文件，以及没有文字层的扫描件（不做文字识别）。它们各列一行，不影响其他文件。",
        "It reads {kinds}, one by one or as whole folders. Adding a file that has changed replaces it. The sample documents can be turned off at any time.\n\nIt cannot read damaged, protected or empty files, or scans without a text layer, because it does no text recognition. Each of those is listed on its own line and affects no other file.",
    ),
    "topic.privacy": ("哪些内容会离开这台机器", "What leaves this machine"),
    "guide.privacy": (
        "按现在的设置：",
        "With the current settings:",
    ),
    "leaves.none": ("- 提问和查询都在本机完成，不发给任何服务。", "- Questions are answered here and sent to no service."),
    "leaves.models": (
        "- **模型**（{names}）：收到问题、计划和查到的段落，其中可能有资料库的段落和数据库的行。",
        "- **Models** ({names}) receive the question, the plan and the passages found, which may include passages from the library and database rows.",
    ),
    "leaves.web": ("- **网络搜索**（{names}）：收到查询词。", "- **Web search** ({names}) receives the queries."),
    "leaves.pages": ("- **网页**：读取搜到的网页，先看对方的 robots.txt。", "- **Pages** that were found are read from their sites, if robots.txt allows it."),
    "leaves.news": ("- **新闻**（{names}）：收到话题的查询词或读取请求。", "- **News** ({names}): queries are sent, or feeds are read."),
    "leaves.places": ("- **高德地图**：收到地名和要找的类别。", "- **Amap** receives place names and the kinds of places to look for."),
    "leaves.tiles": (
        "- **地图底图**：浏览器从 OpenStreetMap 或您选的高德加载，对方知道您在看哪一带。",
        "- **The base map** is loaded by your browser from OpenStreetMap, or from Amap if you choose it: they learn which area you are looking at.",
    ),
    "leaves.pictures": (
        "- **新闻图片**：只在您点“显示图片”时由浏览器加载。",
        "- **News pictures** are loaded by your browser only when you press “Show pictures”.",
    ),
    "leaves.engine": ("- **研究服务器**：研究交给另一台服务器执行。", "- **Run server**: runs are carried out by another server."),
    "leaves.traces": ("- **追踪**：阶段、用时和用量发到您自己的收集器，其中没有问题、答案和密钥。", "- **Traces**: stages, times and usage go to your own collector, without questions, answers or keys."),
    "leaves.never": (
        "从不发出：密钥（只用来登录它自己的服务）、整份文件、使用统计。页面不从其他网站加载字体和脚本。",
        "Never sent: keys (except to the service each belongs to), whole files, usage statistics. No page loads fonts or scripts from other hosts.",
    ),
    "topic.data": ("数据放在哪里，密钥在哪里", "Where data and keys are kept"),
    "guide.data": (
        "研究、地点、资料库和您的偏好都存在 Sightline 所在的机器上；如果设置了数据库服务器，研究就存在那里。备份数据目录，就备份了资料库。\n\n"
        "密钥在环境变量里设置，或在“设置”页填写；不会进入日志、导出文件和提示词，页面上也只显示有没有设置。“状态”页列出每项服务现在能不能用。",
        "Runs, places, the library and your preferences are kept on the machine that Sightline runs on; if a database server is set, runs are kept there. Backing up the data folder backs up the library.\n\nKeys are set in the environment or entered on the Settings page. They reach no log, export or prompt; pages only show whether one is set. The Status page shows what each service can do now.",
    ),
    "guide.folder": ("数据目录：", "The data folder:"),
    "guide.shared": (
        "启用了登录：研究只有提问的人看得到，资料库和密钥的额度由大家共用。",
        "Login is enabled: runs are visible only to whoever asked; the library and the quota of the keys are shared by everyone.",
    ),
    "topic.export": ("导出报告", "Exporting a report"),
    "guide.export": (
        "答案可以导出为 Markdown、PDF、Word、单个 HTML 文件和 JSON；来源可以导出为 CSL-JSON、BibTeX、RIS 和 CSV；地点和表格也可以单独下载，或者全部打成一个 ZIP。\n\n"
        "每份都写明是什么时候、由谁、在什么限制下做出来的，以及哪些查询失败了。PDF 内嵌中文字体，换一台机器也不会变样。",
        "An answer can be exported as Markdown, PDF, Word, a single HTML file or JSON, its sources as CSL-JSON, BibTeX, RIS or CSV. Places and tables have files of their own, and a ZIP holds everything.\n\nEach states when, how and by whom it was made, within which limits, and what failed. The PDF embeds its fonts, Chinese included.",
    ),
    "topic.costs": ("要花多少钱", "What it costs"),
    "guide.costs": (
        "不用模型和付费搜索，就没有费用。用的时候，开始前有估计，进行中有计数，报告里有合计：token、搜索次数、按模型估算的美元。没有价格的模型显示为未知，不当作零。\n\n可以给一次研究设上限。用到 80% 就不再搜索，用已有的内容作答。刚查过的不重复付费。",
        "Without models and paid searches, nothing. With them there is an estimate beforehand, a running count and a total in the report: tokens, searches, dollars by model. A model without a price is shown as unknown, not free.\n\nYou can set limits for a run. At 80% of a limit it stops searching and writes with what it has found. What was just looked up is not paid for again.",
    ),
    "topic.keyboard": ("键盘", "Keyboard"),
    "guide.keyboard": ("不用鼠标也能完成全部操作。", "Everything can be done without a mouse."),
    "guide.key": ("按键", "Key"),
    "guide.does": ("作用", "What it does"),
    "guide.keys_alt": ("按键表", "Table of the keys"),
    "key.focus": ("到问题框或追问框", "Go to the question or follow-up box"),
    "key.send": ("开始研究（在问题框里）", "Start the run (in the question box)"),
    "key.line": ("在问题框里换行", "Start a new line in the question box"),
    "key.open": ("打开或收起引文、标记和折叠的部分", "Open or close a citation, a mark or a collapsed section"),
    "key.close": ("关闭打开的段落或窗口", "Close an open passage or dialog"),
    "key.next": ("到下一个可操作的地方", "Move to the next control"),
    "key.back": ("回到上一个", "Move to the previous one"),
    "key.list": ("在地点列表里上下移动", "Move through the list of places"),
    "topic.trouble": ("出了问题怎么办", "If something fails"),
    "guide.trouble": (
        "一次查询失败不会毁掉整个研究。失败的都列在答案下面，并写明原因：\n\n"
        "- **{lacking}**：没有设置它的密钥，或者密钥不被接受（{refused}）。到“状态”页看缺哪一个，在“设置”页填写。\n"
        "- **{outage}、{timeout}**：对方服务没有回应。稍后继续研究，已查到的不重复搜索。\n"
        "- **{quota}**：额度用完了，等它恢复，或换一个已设置的搜索。\n"
        "- **{empty}**：查了，确实没有。换个说法，或把名称写得更准确。\n\n"
        "“{internal}”是我们自己的错。如果旁边有错误编号，把它告诉管理服务器的人，日志里能找到同样的编号。",
        "One failure does not end a run. Failures are listed under the answer with their reasons:\n\n- **{lacking}**: its key is not set, or was not accepted ({refused}). The Status page shows which one; enter it on the Settings page.\n- **{outage}, {timeout}**: the service did not respond. Resume the run later; no search is repeated.\n- **{quota}**: wait for the quota to reset, or use another search that is set up.\n- **{empty}**: it was looked up, and there is nothing. Rephrase, or use a more exact name.\n\n“{internal}” is our own fault. If there is an error number beside it, give it to whoever runs the server: the log has the same number.",
    ),
    # tour
    "tour.name": ("一分钟认识 Sightline", "Sightline in a minute"),
    "tour.next": ("下一步", "Next"),
    "tour.back": ("上一步", "Back"),
    "tour.skip": ("跳过", "Skip"),
    "tour.done": ("开始使用", "Start"),
    "tour.ask": ("提一个问题", "Ask a question"),
    "tour.ask_text": ("写下想查证的事，一次可以问几件。", "Write down what you want to find out. You can ask several things at once."),
    "tour.ask_alt": ("示意图：一个问题框和一个按钮", "Drawing: a box for the question and a button"),
    "tour.watch": ("看着它查", "Watch it work"),
    "tour.watch_text": (
        "计划、每次搜索、还缺什么，都实时列出。可以离开这一页，研究照常进行；停止也不会丢掉已找到的内容。",
        "The plan, each search and what is still missing appear as they happen. Leave the page and the run continues; stop it and nothing found is lost.",
    ),
    "tour.watch_alt": ("示意图：三次搜索，两次已完成", "Drawing: three searches, two of them finished"),
    "tour.cite": ("点开一个编号", "Open a citation"),
    "tour.cite_text": (
        "每个编号都能打开原文段落，最接近的句子已经标出。句子后面如果有小标记，说明值得核对。",
        "Each number opens its passage, with the closest sentence highlighted. A small mark after a sentence means it is worth checking.",
    ),
    "tour.cite_alt": ("示意图：一个编号打开它的段落", "Drawing: a number that opens its passage"),
    "tour.more": ("不止是问答", "There is more than questions"),
    "tour.more_text": (
        "**新闻**：把一个话题写成报告，并持续关注。\n\n**地点**：所有找到的地点，在一张地图上。\n\n"
        "**数据库**：用平常的话查询，只读。\n\n**资料库**：放入您自己的文件。",
        "**News**: a report on a topic, updated when you wish.\n\n**Places**: all that was found, on one map.\n\n**Database**: ask it in plain words; it is read-only.\n\n**Library**: your own files.",
    ),
    "tour.more_alt": ("示意图：报纸、地图、数据表和书", "Drawing: a newspaper, a map, a table and books"),
    "tour.yours": ("变成您自己的研究台", "Make it yours"),
    "tour.yours_text": (
        "设置密钥后可以用模型写答案、搜索网络；密钥和常用设置在“设置”页；现在有什么、缺什么，看“状态”页。研究和资料存在 Sightline 所在的机器上。\n\n"
        "想再看一遍，到“帮助”页。",
        "With keys, models write the answers and the web is searched. Enter them on the Settings page; the Status page shows what is set up and what is missing. Runs and documents stay on the machine that Sightline runs on.\n\nTo see this again, open the Help page.",
    ),
    "tour.yours_alt": ("示意图：一把钥匙和几个滑块", "Drawing: a key and some sliders"),
}  # fmt: skip
