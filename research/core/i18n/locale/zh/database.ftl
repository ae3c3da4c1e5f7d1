### The words of the Database page and of tables of rows.

database-title = 查询数据库
database-lead = 用中文或英文提问，或直接写 SQL。只能读取，不会改动任何数据；每一步都能看到。
database-shipped = 随程序附带的 5A 景区库
database-which = 当前数据库：{ $name }
database-choice = 数据库
database-usual = 默认
database-wrong = 无法查询“{ $name }”：{ $why }
database-mode = 提问方式
database-question = 问题
database-sql = SQL 语句
database-placeholder = 例如：四川有哪些 5A 景区，门票多少钱？
database-sql_placeholder = 一条 SELECT 语句，例如：SELECT name, year_rated FROM a_sight ORDER BY year_rated DESC
database-sql_own = 一条 SELECT 语句
database-sql_help = 语句先经检查再执行：只能是一条读取下列表的 SELECT，最多返回 { $n } 行，更多的可翻页或导出。
database-ask = 查询
database-run = 执行
database-rules = 不用模型时，常见问法由规则写成 SQL，其余请直接写 SQL。
database-rules_own = 用自己的话提问需要由模型来写 SQL；没有模型时请自己写 SQL，或再问已确认正确的问题。
database-model = 由 { $write } 写 SQL；规则能读懂的问题不用模型。
database-model_own = 由 { $write } 写 SQL；您确认过的问题不用模型。
database-schema = 可以问什么：{ $n } 张表
database-table = 表
database-schema_failed = 现在无法查询数据库：{ $why }
database-view = 视图
database-columns = { $table } 的列
database-heading = 名称
database-column = SQL 列名
database-type = 类型
database-comment = 说明
database-values = 取值
database-key = 主键
database-refers = 指向 { $column }
database-write = 这个数据库账号可以写入。Sightline 不会写入，但请换成只读账号。
database-superuser = 这个数据库账号是超级用户，权限过大。请换成只读账号。
database-unreadable = 数据库无法读取、因而略去的表或视图：{ $names }
database-confirmed = 已确认正确的问题（{ $n }）
database-confirmed_help = 再问同一问题时直接用确认过的语句；模型写类似问题的 SQL 时以它们为例。
database-again = 再问一次
database-typed = SQL 语句
rows-table = 查询结果表
rows-rows = { $n } 行
rows-truncated = 还有更多，这里只有前 { $n } 行
rows-page = 页
rows-page_help = 后面的页现在从数据库读取，不属于本次研究及其依据。
rows-reading = 正在读取……
rows-no_page = 没有更多的行了。
rows-span = 第 { $first } 至 { $last } 行
rows-unordered = 没有 ORDER BY，同一行可能出现在两页
rows-all = 全部行
rows-all_help = 重新执行语句，最多将 { $n } 行写入文件，限时五分钟。
rows-exporting = 已有 { $n } 行
rows-all_made = 下载 { $n } 行
rows-all_more = 下载前 { $n } 行（还有更多）
rows-cut = { $n } 个单元格过长，已截短
rows-null = 空值（显示为 –）：{ $what }
rows-null_in = { $name } { $n } 行
rows-known = { $n } 行中有 { $known } 行的{ $name }已知
rows-known_part = 子查询的 { $n } 行中有 { $known } 行的{ $name }已知
rows-uncounted = 未能统计有多少行的{ $name }未知
rows-missed = 有的条件不可能匹配：{ $what }
rows-none = 没有符合条件的行。
rows-pick = 选中一行，地图上会标出它；在地图上点选，这里也会选中。
rows-statement = 执行的 SQL
rows-right = 结果正确
rows-right_help = 记住这条语句：再问同一问题时直接使用，并作为类似问题的示例。
rows-remembered = 已确认并记住
rows-other = 这个问题已记住另一条语句
rows-back = 撤回
rows-edit = 修改这条 SQL
rows-write = 自己写 SQL
rows-chart = 图表
rows-measure = 数值
rows-chart_bar = { $label }的{ $measure }条形图
rows-chart_line = { $measure }随{ $label }变化的折线图
rows-chart_points = { $measure }与{ $label }的散点图
rows-chart_top = 图中只有前 { $n } 个。
rows-steps = 思考过程（{ $n } 步）
rows-place = 第 { $n } 行
rows-cited = 引用的行（{ $n }）
rows-found = 共 { $n } 行
rows-found_more = { $n } 行以上
database-examples =
    各省 5A 景区数量
    每年评定了多少个 5A 景区？
    浙江省门票最贵的 10 个 5A 景区
    四川有哪些 5A 景区，门票多少钱？
unreadable-kind = { $file } 不是可读取为表格的文件类型。支持 CSV、TSV、Excel、Parquet、JSON，以及网页和 Word 文件里的表格。
unreadable-size = { $file } 太大：单个文件最大 1 GB。
unreadable-rows = { $file } 超过 2000 万行。
unreadable-columns = { $file } 超过 500 列。
unreadable-empty = { $file } 中没有数据行。
unreadable-encoding = 无法识别 { $file } 的文字编码。请选择编码，或另存为 UTF-8。
unreadable-ragged = { $file } 第 { $row } 行的列数与其他行不同。
unreadable-broken = { $file } 已损坏，或内容与扩展名不符。
unreadable-broken_at = { $file } 从第 { $row } 行起无法读取：是否有未闭合的引号？
unreadable-extent = { $file } 在离表格很远的地方还有单元格，中间隔着数百万个空单元格。请删除这些单元格，重新保存后再试。
unreadable-unpacked = { $file } 解压后的大小远超其文件大小所允许的范围。请重新保存，或另存为 CSV。
unreadable-time = 读取 { $file } 所需时间超过了这个大小的文件的上限。文件可能已损坏，或是有意让程序停摆：请重新保存，或另存为 CSV。
unreadable-memory = 读取 { $file } 所需内存超过了这个大小的文件的上限。文件可能已损坏，或是有意让程序停摆：请重新保存，或另存为 CSV。
unreadable-busy = 正在读取的文件太多，请稍后再试 { $file }。
unreadable-start = { $file } 未能读取：本机无法启动读取文件的进程。
unreadable-value = { $file } 中有些值无法按识别出的类型读取。
loaded-table = { $table }（{ $rows } 行），来自 { $file }：{ $columns }
loaded-commas = 逗号分隔
loaded-semicolons = 分号分隔
loaded-tabs = 制表符分隔
loaded-bars = 竖线分隔
loaded-other_delimiter = 以 { $mark } 分隔
loaded-sheet = 工作表 { $sheet }
loaded-own_types = 采用文件自带的类型
loaded-headings_in_row = 表头在第 { $row } 行
loaded-headings_in_rows = 表头在第 { $first } 至 { $last } 行
loaded-no_headings = 无表头
loaded-decimal_commas = { $columns } 用逗号作小数点
loaded-days_first = { $columns } 日在前
loaded-months_first = { $columns } 月在前
loaded-unit = { $columns } 的单位为 { $unit }
loaded-identifiers = { $columns } 按文本保存以保留全部数位
loaded-missing = { $columns } 中 { $n } 个“N/A”之类的值为空
loaded-chosen = 已指定 { $columns } 的类型
loaded-totals_aside = { $n } 行合计不计入数据
loaded-notes_aside = { $n } 行注释不计入数据
loaded-wide_aside = { $n } 行过长，不计入数据
loaded-rows_aside = { $n } 行不计入数据
loaded-totals_kept = 合计行保留在数据中
loaded-left_out =
    { $column } 的 { $total } 个值中有 { $count } 个无法读作{ $type ->
        [integer] 整数
        [date] 日期
        [datetime] 日期和时间
        [boolean] 是或否
       *[number] 数字
    }，已略去
loaded-mixed =
    { $column } 保留为文本，因{ $total ->
        [0] 有些值
       *[other] { " " }{ $total } 个值中有 { $count } 个
    }无法读作{ $type ->
        [integer] 整数
        [date] 日期
        [datetime] 日期和时间
        [boolean] 是或否
       *[number] 数字
    }
loaded-as_thousands = { $column } 中的 1,234 按 1234 读取；无法确定逗号是千位分隔符还是小数点
loaded-as_decimals = { $column } 中的 1.234 按小数读取；无法确定点号是千位分隔符还是小数点
loaded-day_or_month_first = { $column } 保留为文本：无法确定日期是日在前还是月在前
loaded-different_units = { $column } 保留为文本：各个值的单位不同
loaded-totals = { $table } 有 { $count } 行合计不计入数据
loaded-wide_rows = { $table } 有 { $count } 行的值多于列数，不计入数据
loaded-short_rows = { $table } 有 { $count } 行的值少于列数，缺少的值为空
type-text = 文本
type-integer = 整数
type-number = 数字
type-date = 日期
type-datetime = 日期和时间
type-boolean = 是/否
type-number_point = 数字（小数点）
type-number_comma = 数字（小数逗号）
type-date_dmy = 日期（日在前）
type-date_mdy = 日期（月在前）
files-title = 您的文件（{ $n }）
files-upload = 添加 CSV、TSV、Excel、Parquet、JSON 文件，或含表格的网页、Word 文件
files-limit = 此处单个文件最大 { $size } MB，命令行最大 1 GB。文件仅您自己可见。
files-load = 载入
files-loading = 正在载入：{ $done } / { $size } MB
files-choice = 文件：{ $names }
files-change = 更改读取方式
files-set_aside =
    { $n } 行不计入数据
files-row = 第 { $n } 行，{ $kind }：{ $text }
files-row_total = 合计
files-row_note = 注释
files-row_width = 过长
files-keep_totals = 将合计行保留在数据中
files-read_again = 重新读取
files-read_as_detected = 恢复自动识别
files-reading_again = 正在读取…
files-not_kept = 如需更改读取方式，请重新添加这些文件。
files-encoding = 编码
files-delimiter = 分隔符
files-detected = 自动识别
files-comma = 逗号
files-semicolon = 分号
files-tab = 制表符
files-bar = 竖线
files-header = 表头所在行
files-header_help = 没有表头时填 0，各列将自动编号。
files-heading = 表头
files-first = 首个值
files-delete = 删除

meaning-title = 含义说明
meaning-help = 把表和列的中英文叫法写清楚一次：模型写的 SQL 更准确，表头也更易读。
meaning-draft = 这是根据数据库中的名称和注释生成的草稿。
meaning-desk = 这是为本服务器所有人准备的说明。
meaning-owner = 这是您自己的版本。
meaning-problem = 说明无法使用，暂以草稿代替：{ $why }
meaning-refused = 未保存：{ $why }
meaning-tables = 表
meaning-metrics = 指标
meaning-file = YAML 文件
meaning-metrics_help = 常按名称查询的数字，例如销售额：某一张表上的聚合表达式，如 sum(price * quantity)。
meaning-first = 第一行是表本身。
meaning-zh = 中文名
meaning-en = 英文名
meaning-synonyms = 同义词
meaning-synonyms_help = 其他叫法，中英文均可，用逗号分隔
meaning-unit = 单位
meaning-name = 标识
meaning-expression = 表达式
meaning-yaml = YAML 格式的语义模型
meaning-save = 保存
meaning-download = 下载
meaning-back = 放弃我的版本
