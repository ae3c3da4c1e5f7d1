"""The words of the Settings page."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "nav.settings": ("设置", "Settings"),
    "settings.title": ("设置", "Settings"),
    "settings.lead": (
        "这里的选择只对您有效，保存后立即生效；没有改动的项目沿用服务器的设置。",
        "What you choose here applies only to you and takes effect once saved. Everything else follows the server's settings.",
    ),
    "settings.save": ("保存", "Save"),
    "settings.saved": ("已保存", "Saved"),
    "settings.server": ("服务器的设置：{value}", "Server setting: {value}"),
    "settings.unusable": (
        "您选择的值现在不能使用，暂按服务器的设置处理。",
        "Your choice can no longer be used; the server's setting applies instead.",
    ),
    "settings.wrong_value": ("这个值不能使用。", "This value cannot be used."),
    "settings.wrong_model": (
        "请写成“服务：模型”（英文冒号），例如 openai:deepseek-chat，或只写 Gemini 的模型名。",
        "Write service:model, such as openai:deepseek-chat, or just the name of a Gemini model.",
    ),
    "settings.wrong_key": (
        "这不像密钥：应有 8 到 400 个字符，没有空格和引号。请重新复制；没有保存任何密钥。",
        "This does not look like a key: it should have 8 to 400 characters, without spaces or quotes. Copy it again; no key was saved.",
    ),
    "settings.wrong_address": (
        "这不是可用的网址，例如 `https://example.org/v1`。没有保存任何密钥。",
        "This is not a usable address. Example: `https://example.org/v1`. No key was saved.",
    ),
    "settings.nothing": ("无", "none"),
    "settings.unlimited": ("不限", "no limit"),
    "settings.yes": ("是", "yes"),
    "settings.no": ("否", "no"),
    "settings.everything": ("所有可用来源", "all available"),
    # effort
    "settings.effort": ("默认研究力度", "Default effort"),
    "settings.effort_lead": (
        "新的提问和报告从这里的数值开始，每次研究时仍可另行调整。",
        "New questions and reports start with these values; you can still adjust each run.",
    ),
    "settings.of_question": ("提问", "Questions"),
    "settings.of_report": ("新闻报告", "News reports"),
    "settings.queries": ("每轮查询数", "Queries per round"),
    "settings.loops": ("搜索轮数", "Search rounds"),
    "settings.sections": ("章节数", "Sections"),
    "settings.reflections": ("每节反思次数", "Reflections per section"),
    "settings.sources": ("资料来源（不选：所有可用来源）", "Sources (none selected: all available)"),
    "settings.limits": ("每次研究的上限（0 为不限）", "Limits per run (0 = no limit)"),
    # models
    "settings.models": ("模型与核对", "Models and checking"),
    "settings.models_lead": (
        "写成“服务：模型”（英文冒号），服务有 gemini、openai（以及兼容的服务）和 ollama。留空则沿用服务器的设置。",
        "Write service:model. The services are gemini, openai (and compatible ones) and ollama. Leave empty to follow the server's settings.",
    ),
    "settings.plan_model": ("拟定查询", "Writes the queries"),
    "settings.reflect_model": ("反思", "Reflects"),
    "settings.write_model": ("撰写答案", "Writes the answer"),
    "settings.search_model": ("搜索网络", "Searches the web"),
    "settings.check_model": ("核对句子", "Checks the sentences"),
    "settings.same_as_reflect": ("与反思相同", "same as reflection"),
    "settings.needs": ("还缺少 {setting}", "{setting} is still missing"),
    "settings.check": ("由谁核对句子", "Who checks sentences"),
    "settings.check_rules": ("仅规则", "Rules only"),
    "settings.check_llm": ("规则和模型", "Rules and a model"),
    "settings.repair": ("没有依据的句子", "Sentences without support"),
    "settings.repair_off": ("标出", "Mark"),
    "settings.repair_drop": ("删去", "Remove"),
    "settings.repair_rewrite": ("改写", "Rewrite"),
    # search
    "settings.search": ("网络搜索", "Web search"),
    "settings.search_lead": (
        "依次询问，前一家没有结果或不可用时才问下一家。",
        "Services are tried in order: the next one only if the one before fails or finds nothing.",
    ),
    "settings.search_mode": ("由谁搜索网络", "Who searches the web"),
    "settings.search_auto": ("自动", "Automatic"),
    "settings.search_own": ("自定顺序", "Custom order"),
    "settings.search_off": ("不搜索", "Off"),
    "settings.search_order": ("自定顺序（按选择的先后）", "Custom order (in the order selected)"),
    "settings.search_empty": ("请先选择至少一家，或改为“自动”。", "Choose at least one first, or switch to Automatic."),
    "settings.search_now": ("现在可用：{names}", "Ready now: {names}"),
    "settings.search_lacks": ("还需要其中之一：{names}", "One of these is still needed: {names}"),
    # keys
    "settings.keys": ("密钥", "Keys"),
    "settings.keys_lead": (
        "密钥只用于您自己的研究，保存后不再显示，也不会写入日志、导出文件或数据库。",
        "Keys are used only for your own runs. Once saved they are never shown again, nor written into logs, exports or the database.",
    ),
    "settings.keys_elsewhere": (
        "研究由另外的服务器执行，密钥只能在那里设置，这里不能输入。",
        "Runs are carried out by another server. Keys are set there and cannot be entered here.",
    ),
    "settings.keys_addresses": (
        "模型服务的网址由服务器的管理者设置；您的密钥会发往那里。",
        "The addresses of model services are set by whoever runs this server; your key is sent there.",
    ),
    "settings.key_session": ("已在此输入，程序结束即忘记", "entered here, forgotten when the server stops"),
    "settings.key_machine": ("已在此输入，保存在本机", "entered here, remembered on this machine"),
    "settings.key_environment": ("已在服务器上设置", "set on the server"),
    "settings.key_none": ("未设置", "not set"),
    "settings.key_replace": ("输入新值可替换", "enter a new one to replace it"),
    "settings.key_forget": ("忘记", "Forget"),
    "settings.key_forgotten": ("已忘记", "Forgotten"),
    "settings.key_new": ("{name} 的新值", "New value for {name}"),
    "settings.key_name.GEMINI_API_KEY": ("Gemini 密钥", "Gemini"),
    "settings.key_name.TAVILY_API_KEY": ("Tavily 密钥", "Tavily"),
    "settings.key_name.AMAP_MAPS_API_KEY": ("高德地图密钥", "Amap"),
    "settings.key_name.OPENAI_API_KEY": ("OpenAI 或兼容服务的密钥", "OpenAI or compatible"),
    "settings.key_name.OPENAI_BASE_URL": ("兼容服务的网址", "Compatible service address"),
    "settings.key_name.OLLAMA_BASE_URL": ("Ollama 的网址", "Ollama address"),
    "settings.key_for.GEMINI_API_KEY": (
        "Gemini 模型和谷歌搜索（GEMINI_API_KEY）。在 Google AI Studio（aistudio.google.com）的“Get API key”处创建；搜索需要启用结算的密钥。",
        "Gemini models and Google Search (GEMINI_API_KEY). Create one in Google AI Studio (aistudio.google.com) under “Get API key”; search needs a key with billing enabled.",
    ),
    "settings.key_for.TAVILY_API_KEY": (
        "网络和新闻搜索（TAVILY_API_KEY）。在 app.tavily.com 注册后，首页即有密钥。",
        "Web and news search (TAVILY_API_KEY). Sign up at app.tavily.com; the key is on the home page.",
    ),
    "settings.key_for.AMAP_MAPS_API_KEY": (
        "地点搜索（AMAP_MAPS_API_KEY）。在 lbs.amap.com 的控制台新建应用，添加“Web 服务”类型的密钥。",
        "Place search (AMAP_MAPS_API_KEY). In the lbs.amap.com console, create an application and add a key of type Web service.",
    ),
    "settings.key_for.OPENAI_API_KEY": (
        "OpenAI 或兼容的服务，例如 DeepSeek、通义千问（OPENAI_API_KEY）。密钥在该服务的控制台创建。",
        "OpenAI or a compatible service such as DeepSeek or Qwen (OPENAI_API_KEY). Create the key in that service's console.",
    ),
    "settings.key_for.OPENAI_BASE_URL": (
        "兼容服务的网址，例如 `https://api.deepseek.com/v1`。用自己的网址时，也请输入自己的密钥：服务器的密钥不会发往那里。",
        "The address of a compatible service, such as `https://api.deepseek.com/v1`. If you use your own address, enter your own key too: the server's key is never sent there.",
    ),
    "settings.key_for.OLLAMA_BASE_URL": (
        "本机或局域网中 Ollama 的网址，例如 `http://127.0.0.1:11434`。不需要密钥。",
        "The address of Ollama on this machine or your network, such as `http://127.0.0.1:11434`. It needs no key.",
    ),
    "settings.remember": ("记住在本机上", "Remember on this machine"),
    "settings.remember_help": (
        "不勾选时，密钥只留在内存里，程序结束即忘记。勾选后写入数据目录中的一个文件，只有运行程序的系统账户能读取。",
        "If unticked, keys stay in memory until the server stops. If ticked, they are written to a file in the data folder that only the server's system account can read.",
    ),
    "settings.keys_unsaved": (
        "密钥文件无法写入，没有保存任何密钥。请检查数据目录。",
        "The key file cannot be written, so no key was saved. Check the data folder.",
    ),
    # appearance
    "settings.appearance": ("语言与外观", "Language and appearance"),
    "settings.language": ("界面语言", "Interface language"),
    "settings.language_browser": ("随浏览器", "Follow the browser"),
    "settings.map": ("在地点下显示底图", "Show a base map under places"),
    "settings.map_help": (
        "底图来自 OpenStreetMap；关闭后，浏览器不再访问它。",
        "The base map comes from OpenStreetMap; when off, your browser does not contact it.",
    ),
    "settings.map_off": ("服务器已关闭底图。", "The server has turned the base map off."),
    # reset
    "settings.reset": ("全部恢复默认", "Reset all"),
    "settings.reset_sure": (
        "除密钥外，这里的所有选择都恢复为服务器的设置。",
        "Everything chosen here goes back to the server's settings. Keys are kept.",
    ),
    "settings.reset_do": ("恢复默认", "Reset"),
    "settings.reset_done": ("已恢复默认", "Everything is back to the server's settings"),
}  # fmt: skip
