# 问题被读成了什么：不用模型时的措辞，每条只有几个字。

reading-count = { $things }数量
reading-number = 数量
reading-sum = { $column }合计
reading-avg = 平均{ $column }
reading-max = 最高{ $column }
reading-min = 最低{ $column }
reading-by = { $what }，按{ $by }
reading-by_year = 年
reading-by_quarter = 季度
reading-by_month = 月
reading-by_day = 日
reading-per = 平均每{ $by }的{ $what }
reading-none = 没有{ $things }
reading-highest = 最高的 { $n } 个
reading-lowest = 最低的 { $n } 个
reading-many = { $what }在那里会被重复计算
