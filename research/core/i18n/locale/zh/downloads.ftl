### The words of what can be taken away from a run.

download-now = 下载 { $format }
download-more = 其他格式
download-failed = “{ $what }”无法生成。服务器日志中的编号：{ $id }
download_group-report = 报告
download_group-sources = 来源
download_group-places = 地点
download_group-tables = 表格
download_group-all = 全部
