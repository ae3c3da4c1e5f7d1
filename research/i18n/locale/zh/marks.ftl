### 词语之间的标点和时间单位。

mark-list = 、
mark-comma = ，
mark-semicolon = ；
mark-colon = ：
mark-stop = 。
mark-aside = { $text }（{ $more }）
mark-quoted = “{ $text }”
duration-second = 秒
duration-minute = 分
duration-hour = 小时
