### Questions that follow from what a run has found.

related-conflict = Sources disagree about { $subject } ({ $a }, { $b }). Which is right?
related-doubtful = Is there support for this: { $text }
related-near = What is there to eat near { $name }?
related-passage = What does “{ $title }” say under “{ $heading }”?
