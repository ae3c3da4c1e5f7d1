### 由一次研究的发现引出的问题。

onward-conflict = 关于{ $subject }，来源说法不一（{ $a }，{ $b }），哪个是对的？
onward-doubtful = 这句话有没有依据：{ $text }
onward-near = { $name }附近有什么吃的？
onward-passage = 《{ $title }》里“{ $heading }”一节说了什么？
