"""Characters for the radicals that some programs write into PDF files instead of them, such as ⻔ for 门.

Fonts have one glyph for both, and a program that maps glyphs back to characters may take the wrong one. The
pairs are those of Unicode's EquivalentUnifiedIdeograph.txt, for the radicals that look the same.
"""

from __future__ import annotations

import unicodedata

_SUPPLEMENT = (
    "⺅亻⺆冂⺈刀⺉刂⺊卜⺌小⺒巳⺓幺⺔彑⺕彐⺖忄⺗㣺⺘扌⺙攵⺛旡⺜日⺝月⺞歺⺟母⺠民⺡氵⺢氺⺣灬⺤爫⺥爫⺦丬⺧牛⺨犭⺩王⺪疋⺫目⺬示⺭礻⺮竹"
    "⺯糹⺰纟⺱罓⺲罒⺶羊⺸羊⺹耂⺺肀⺻聿⺼肉⺽臼⺾艹⺿艹⻀艹⻁虎⻂衤⻃覀⻄西⻅见⻆角⻇角⻈讠⻉贝⻊足⻋车⻌辶⻍辶⻎辶⻏阝⻐钅⻑長⻒镸⻓长⻔门⻖阝⻗雨"
    "⻘青⻙韦⻚页⻛风⻜飞⻝食⻟飠⻠饣⻢马⻣骨⻤鬼⻥鱼⻦鸟⻧卤⻨麦⻩黄⻪黾⻫斉⻬齐⻭歯⻮齿⻯竜⻰龙⻱龜⻲亀⻳龟"
)
IDEOGRAPHS: dict[int, str] = {
    **{code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x2F00, 0x2FD6)},
    **{ord(radical): character for radical, character in zip(_SUPPLEMENT[::2], _SUPPLEMENT[1::2], strict=True)},
}
"""Code points of radicals, and the characters that they stand for."""
