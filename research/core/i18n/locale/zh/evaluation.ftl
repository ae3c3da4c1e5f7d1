### 命令行审查报告引用时表格里的词。

evaluation-file = 文件
evaluation-style = 引用样式
evaluation-citations = 引用
evaluation-sources = 来源
evaluation-sentences = 句子
evaluation-cited = 有引用
evaluation-errors = 错误
evaluation-warnings = 警告
evaluation-line = 第 { $n } 行
evaluation-error = 错误
evaluation-warning = 警告
evaluation-info = 提示
evaluation-none = 无
evaluation-quoted = 逐字摘引
evaluation-supported = 有依据
evaluation-unclear = 依据不明
evaluation-unsupported = 所引段落不支持
evaluation-differs = 与来源不符
evaluation-statuses = 句子状态
