### The words of what can be taken away from a run.

download-markdown = 下载 Markdown
download-pdf = 下载 PDF
download-docx = 下载 Word
download-more = 更多格式
download-notes = Markdown（脚注，适合 Obsidian）
download-page = 网页（HTML）
download-json = 数据（JSON）
download-csl = 引文（CSL-JSON）
download-bib = 引文（BibTeX）
download-ris = 引文（RIS）
download-sources_csv = 来源表（CSV）
download-answer_csv = 答案中的表格（CSV）
download-answer_excel = 答案中的表格（Excel）
download-zip = 全部文件（ZIP）
download-failed = “{ $what }”无法生成。服务器日志中的编号：{ $id }
download_group-report = 报告
download_group-sources = 来源
download_group-places = 地点
download_group-tables = 表格
download_group-all = 全部
