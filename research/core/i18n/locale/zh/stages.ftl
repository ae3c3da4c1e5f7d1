### 研究各阶段对自己工作的说明：在计划里、答案旁和核对中。

answering-widened = “{ $place }”周围 { $asked } 内没有找到，已扩大到 { $far }。
answering-nowhere = “{ $place }”周围 { $far } 内没有找到。
answering-unlike = 这份答案以英文写成，与提问的语言不同。
checking-done = 由 { $author } 核对了 { $n } 句与来源是否相符。
checking-unchecked = 有 { $n } 句没有由模型核对（{ $why }），仍按规则判断。
checking-repaired = 没有来源支持的句子：删去 { $dropped } 句，改写 { $rewritten } 句，原句留在核对记录里。
checking-failed = 调用失败
checking-quote = 在段落中没有找到所引的原文
checking-many = 句子太多
checking-room = 本次研究的上限没有余量
unwritten-failed = 这一节的搜索失败，因此没有写成，原因见下；这不表示没有相关内容。
unwritten-empty = 这一节没有搜索到任何内容，因此没有写成。
unwritten-other = 这一节没有写成，原因见下。
planning-cut = 有 { $n } 个查询超出上限，已略去
planning-sections = 有 { $n } 节超出上限，已略去
planning-carried = 沿用上一次研究的 { $n } 次搜索，再查 { $rounds } 轮
planning-own_words = 没有拟出查询，直接搜索问题本身
budget-searches = { $n } 次搜索
budget-tokens = { $n } 个 token
budget-cost = { $n } 美元
budget-seconds = { $n } 秒
budget-stopped = 搜索应您的要求提前结束：答案只用了当时已找到的内容。
budget-short = 本次研究的上限是{ $limit }，因此没有再搜索：答案只用了已找到的内容。
budget-unwritten = 本次研究的上限是{ $limit }，没有余量撰写答案。以下原样摘引搜索到的内容。
budget-over = 本次研究的上限是{ $limit }，实际计费 { $n } 次：有的服务在一次搜索里会运行多个查询，事后才报告。
budget-unknown = 无法按费用上限控制：有模型的价格未知。
