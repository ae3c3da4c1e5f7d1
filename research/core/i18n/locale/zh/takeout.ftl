### 全部导出中的 README。

takeout-title = Sightline 导出，{ $when }（UTC）
takeout-runs = runs/：{ $n } 次研究，每次一个 JSON 文件和一个 Markdown 文件
takeout-personal = personal.json：标题、置顶、标签、关注的主题、确认过的查询语句、批注、笔记本、偏好、从文件载入的表
takeout-library = library/：{ $n } 篇自有文档的正文及已保存的原文件，目录在 library/index.json
takeout-no_keys = 密钥不在其中。
takeout-lost = 有 { $n } 次研究无法写出。
