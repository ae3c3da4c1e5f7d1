"""Text in the one spelling in which figures and dates are read, character for character."""

from __future__ import annotations

import unicodedata

# Traditional characters of numbers, units and dates, and the simplified ones beside them.
_TRADITIONAL = "萬億兩點個幾餘歲號時鐘鍾幣圓噸畝顆隻條項場輛層張臺從約將過達韓歐鎊盧週紀頃攝華級戶架屆線塊錢禮國後間縣鎮來開門樓總於種頭價漲減數參對為爲亞侖倫蘭茲內冊歷曆釐員處賓爾棟沒電祕筆類納紐組緬羅聯臘節薩負貳車輪載裏裡銖長閏陰陸頁頂魯嵗雙滿"
_SIMPLIFIED = "万亿两点个几余岁号时钟钟币圆吨亩颗只条项场辆层张台从约将过达韩欧镑卢周纪顷摄华级户架届线块钱礼国后间县镇来开门楼总于种头价涨减数参对为为亚仑伦兰兹内册历历厘员处宾尔栋没电秘笔类纳纽组缅罗联腊节萨负贰车轮载里里铢长闰阴陆页顶鲁岁双满"
_ALIKE = {
    **dict(zip(_TRADITIONAL, _SIMPLIFIED, strict=True)),
    **dict.fromkeys("’‘", "'"),
    **dict.fromkeys("\u00a0\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u2011\u2212\ufe63\uff0d", "-"),
}


class _Folding(dict[int, str]):
    """Width, case, accents and digits; offsets stay, and so does Chinese punctuation."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if (0xFF10 <= code <= 0xFF5A and char.isalnum()) or char in "％．＄＋／＝":
            char = chr(code - 0xFEE0)
        char = _ALIKE.get(char, char)
        if char.isdecimal():
            char = str(unicodedata.decimal(char))
        bare = unicodedata.normalize("NFD", char.lower())
        self[code] = bare[0] if unicodedata.combining(bare[-1]) or len(bare) == 1 else char
        return self[code]


_FOLDING = _Folding()


def plain(text: str) -> str:
    """Lower case, half width, simplified where figures need it; offsets are those of the text."""
    return text.translate(_FOLDING)
