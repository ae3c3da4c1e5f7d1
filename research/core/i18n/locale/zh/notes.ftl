### 对一次新闻检索的说明。

note-feeds = 来自自选的 { $count } 个订阅源，其中只有最近的报道
note-in_English = 订阅源中还有 { $count } 篇英文报道，中文查询词只按两种语言共有的名称和新闻用语匹配，可改用英文再查
note-in_Chinese = 订阅源中还有 { $count } 篇中文报道，英文查询词只按两种语言共有的名称和新闻用语匹配，可改用中文再查
note-seen = GDELT 只提供标题和收录时间，不提供发布时间
note-seen_days = 所限日期按 GDELT 的收录时间计算
note-shortened = 查询词已截短为 { $count } 个字符
note-no_address = { $all } 条结果中有 { $count } 条没有可用的网址
note-no_dates = { $tool } 不按日期搜索，所给日期未使用
note-swapped = 起止日期颠倒，已按 { $start } 至 { $end } 搜索
note-to_come = { $end } 尚未到来，已搜索至 { $today }
note-outside = { $all } 篇中有 { $count } 篇不在所限日期之内
note-no_tool = 没有名为 { $tool } 的搜索方式，已改用 { $basic }
note-no_days = { $tool } 需要起止日期，已改用 { $basic }
note-days_to_come = { $tool } 的起始日期 { $start } 尚未到来，已改用 { $basic }
note-undated = { $all } 篇中有 { $count } 篇日期不明
note-avoided = 已略去来自回避网站的 { $count } 条结果
