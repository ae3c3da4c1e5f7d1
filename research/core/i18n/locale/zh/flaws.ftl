### 审查他人报告时对每种问题的说明：what 是问题所在，other 是与之冲突的。

flaw-dangling = 引用 { $what } 在来源列表中没有对应条目。
flaw-no-list = 正文引用了 { $what }，但全文没有来源列表。
flaw-unused = 来源 { $what } 从未被引用。
flaw-duplicate = { $what } 被定义了两次（首次在第 { $other } 行）。
flaw-same-url = 来源 { $what } 与 { $other } 是同一网址。
flaw-order = 编号 { $what } 出现在 { $other } 之后，顺序不对。
flaw-gap = 来源编号缺少 { $what }。
flaw-placeholder = { $what } 是占位符，不是来源。
flaw-no-address = 来源 { $what } 没有网址或出处。
flaw-bad-address = 网址不可用：{ $what }
flaw-mismatch = 编号 { $what } 的链接与来源列表不一致：{ $other }
flaw-unlisted = { $what } 在正文中被引用，却不在来源列表里。
flaw-uncited = 这一段含有数字，却没有任何引用。
flaw-uncited-list = 列出了来源，但正文没有任何引用。
flaw-broken-link = Markdown 链接写法有误。
flaw-tracking = 网址带有跟踪参数或跳转：{ $what }
flaw-bare-address = 正文中有裸网址：{ $what }
flaw-in-heading = 标题里有引用 { $what }。
flaw-leading = 引用 { $what } 出现在它所支持的文字之前。
flaw-inconsistent = 导出的编号与来源不一致：{ $what }
