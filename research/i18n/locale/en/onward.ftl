### Questions that follow from what a run has found.

onward-conflict = Sources disagree about { $subject } ({ $a }, { $b }). Which is right?
onward-doubtful = Is there support for this: { $text }
onward-near = What is there to eat near { $name }?
onward-passage = What does “{ $title }” say under “{ $heading }”?
