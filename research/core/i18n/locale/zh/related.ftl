### 由一次研究的发现引出的问题。

related-conflict = 关于{ $subject }，来源说法不一（{ $a }，{ $b }），哪个是对的？
related-doubtful = 这句话有没有依据：{ $text }
related-near = { $name }附近有什么吃的？
related-passage = 《{ $title }》里“{ $heading }”一节说了什么？
