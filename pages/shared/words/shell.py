"""The words of around every page: the menu, the login, a data folder that cannot be used."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    # nav
    "nav.ask": ("提问", "Ask"),
    "nav.places": ("地点", "Places"),
    "nav.database": ("数据库", "Database"),
    "nav.library": ("资料库", "Library"),
    "nav.history": ("历史", "History"),
    "nav.status": ("状态", "Status"),
    "nav.language": ("语言", "Language"),
    "nowhere.title": ("页面不存在", "This page does not exist"),
    "nowhere.lead": (
        "此地址没有页面。请检查地址，或从菜单中选择。",
        "There is no page at this address. Check it, or choose a page from the menu.",
    ),
    "nowhere.ask": ("去提问", "Ask a question"),
    "nav.active": ("进行中", "In progress"),
    "nav.news": ("新闻", "News"),
    # login
    "login.title": ("登录 Sightline", "Sign in to Sightline"),
    "login.lead": (
        "这里的研究只属于提问的人：登录后只能看到自己的研究。",
        "Runs belong to whoever asked: once signed in, you see only your own.",
    ),
    "login.in": ("登录", "Sign in"),
    "login.in_with": ("用 {name} 登录", "Sign in with {name}"),
    "login.note": (
        "在登录服务的页面上登录后会自动返回，Sightline 看不到您的密码。",
        "You sign in on the provider's page and are brought back here. Sightline never sees your password.",
    ),
    "login.out": ("退出登录", "Sign out"),
    "login.as": ("已登录", "Signed in as"),
    "login.unnamed": ("未提供姓名", "no name given"),
    "login.expired": ("登录已过期，请重新登录。", "Your sign-in has expired. Sign in again."),
    "login.nobody": (
        "登录服务没有说明您是谁（缺少 sub 或 iss），因此无法放行。请退出后换一个账号，或联系管理员。",
        "The sign-in service did not say who you are (sub or iss is missing), so you cannot be let in. Sign out and use another account, or ask whoever runs this server.",
    ),
    "login.broken": (
        "登录设置有误，现在谁也不能进入。",
        "The login settings are wrong, so nobody can sign in at the moment.",
    ),
    "login.missing": ("secrets 的 [auth] 里缺少：{keys}", "Missing from [auth] in the secrets: {keys}"),
    "login.name": (
        "登录服务的名称 {name} 里不能有下划线。",
        "The provider's name {name} must not contain an underscore.",
    ),
    "login.weak": (
        "cookie_secret 太短，至少要 {n} 个字符，并且应随机生成。",
        "cookie_secret is too short: it needs at least {n} characters, generated at random.",
    ),
    "login.redirect": (
        "redirect_uri 必须是本站的网址，并以 /oauth2callback 结尾。",
        "redirect_uri must be an address of this site that ends in /oauth2callback.",
    ),
    "login.authlib": (
        "缺少程序库 Authlib（{version} 或更新版本）。请安装 requirements.txt。",
        "The Authlib library is missing ({version} or newer). Install requirements.txt.",
    ),
    "login.unreadable": ("secrets 文件无法读取，请检查它的格式。", "The secrets file cannot be read. Check its format."),
    "login.unread": (
        "有 {file}，但没有被读取。请在程序所在的目录里启动。",
        "{file} exists but was not read. Start the server from the program's folder.",
    ),
    "login.gone": (
        "启动时有 [auth]，现在没有了。要关闭登录，请重新启动。",
        "[auth] was there at startup and is gone now. To turn login off, restart the server.",
    ),
    # trouble
    "trouble.store": ("存放研究的数据库无法使用", "The database for runs cannot be used"),
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
        "{path} is read-only. Set STORE_URL to a writable database.",
    ),
    "trouble.server": (
        "{path} 无法使用。请检查数据库服务器和 STORE_URL，日志中有详情。",
        "{path} cannot be used. Check the server and STORE_URL; the log has the details.",
    ),
    "trouble.title": ("数据目录无法使用", "The data folder cannot be used"),
    "trouble.corrupt": (
        "文件 {path} 已损坏，或不是 Sightline 的文件。程序没有改动它。请恢复备份，或把它移到别处后重试。",
        "The file {path} is damaged or is not a Sightline file. It was left unchanged. Restore a backup or move it away, then try again.",
    ),
    "trouble.read-only": (
        "{path} 不可写。请改为可写，或把 SIGHTLINE_DATA_DIR 设为可写的目录。",
        "{path} is not writable. Make it writable, or set SIGHTLINE_DATA_DIR to a folder that is.",
    ),
    "trouble.full": (
        "磁盘已满，{path} 无法增长。请腾出空间；已保存的内容没有丢失。",
        "The disk is full, so {path} cannot grow. Free up some space; nothing stored was lost.",
    ),
    "trouble.locked": ("{path} 正被另一个程序占用。请关闭它后重试。", "{path} is in use by another program. Close it and try again."),
    "trouble.newer": ("{path} 由更新版本的 Sightline 写成，请升级。", "{path} was written by a newer version of Sightline. Please update."),
    "trouble.unusable": ("{path} 无法打开。请检查 SIGHTLINE_DATA_DIR。", "{path} cannot be opened. Check SIGHTLINE_DATA_DIR."),
    "trouble.setting": ("设置有误", "A setting is wrong"),
    "trouble.retry": ("重试", "Try again"),
    # error
    "error.page": (
        "这一部分暂时无法显示，已保存的内容没有丢失。服务器日志中的编号：{id}",
        "This part cannot be shown at the moment. Nothing stored was lost. Error number in the server log: {id}",
    ),
    "error.pace": (
        "一分钟内最多开始 {limit} 次研究、预览 {limit} 份计划，请在 {seconds} 秒后再试。",
        "At most {limit} runs can be started and {limit} plans previewed per minute. Try again in {seconds} s.",
    ),
}  # fmt: skip
