### 模型所写文字旁边的说明，以及引文摘录的全部文字：它不用模型。

draft-nobody = 摘自搜索结果，非模型撰写
draft-direct = 模型直接作答，未经搜索，没有来源。
draft-unsearched = 搜索轮数设为 0：以下来自模型自身的知识，没有来源，可能过时。
draft-cut = 答案未写完：模型达到了输出上限。
draft-broken = 答案未写完：模型中途中断。继续研究即可重写，无需重新搜索。
draft-uncited = 模型的回答没有引用任何来源，无法核对。下面列出搜索到的内容。
draft-stand_in = 模型未能写出答案。以下原样摘引搜索到的内容；继续研究即可重写，无需重新搜索。
draft-unchecked = 模型写这一节时没有引用任何来源，无法核对。
draft-section = 模型未能写出这一节。以下原样摘引搜索到的内容。
draft-nothing = 没有搜索到可以引用的内容，因此没有作答。
draft-failed = 搜索失败，因此没有作答；这不表示没有相关内容。
draft-left_out = 没有进行搜索，因此没有作答；这不表示没有相关内容。
draft-no_sources = 搜索模型给出了文字，但没有标明哪句话出自哪个来源，无法核对：
draft-named = 搜索模型列出的来源，未说明支持哪句话：{ $names }
draft-too_long = 材料超出了 { $author } 的上下文长度：{ $what }。
draft-missing = { $all } 个来源中有 { $n } 个没有用上，最不相关的先舍去（{ $names }）
draft-others = 另有 { $n } 个只读了节选
draft-partly = { $all } 个来源中有 { $n } 个只读了节选
draft-more =
    { $names }{ $n ->
       *[other] 等
    }
draft-gap = 仍然缺少：{ $what }
draft-unplanned = 模型未能拟出计划
draft-unreflected = 未能反思：{ $why }
draft-covered = 资料足以作答。
digest-author = 引文摘录（按规则摘引原文，未使用模型）
digest-nothing = 问题里没有可以搜索的词。请写出想了解的对象和内容，例如“故宫的门票多少钱”。
digest-greeting = 欢迎提问，例如“故宫的门票多少钱”。
digest-nearest = 所查资料中没有直接说到这一点，以下是最接近的句子。
digest-missing = 所查资料中未找到。
digest-looked_for = 查找过：{ $names }
digest-closest = 资料库里最接近的文档：{ $names }
digest-unsearched = 没有搜索过这一部分，这不表示资料中没有。
digest-failed = 未能查询：搜索失败了，这不表示资料中没有。
digest-sample = 部分引文来自随程序附带的示例资料库，仅供演示，可在“资料库”页关闭。
digest-sample_places = 地点来自随程序附带的离线示例，只有王府井、外滩、西湖一带，位置精确到约一百米；设置 AMAP_MAPS_API_KEY 可查询高德地图。
digest-no_map = 未能查询地图，这不表示附近没有；原因见下。
digest-which = “{ $words }”指的是哪一个？请写出名称再问一次。
digest-no_tables = 没有为此查询数据库：不用模型时，它只能回答关于景区的常见问题，以及您确认过的问题。
digest-general = 概况
digest-covered = 每个部分都有引文；引文是否充分由读者判断。
digest-gap = 还没有引文的部分：{ $parts }
digest-between = 、
