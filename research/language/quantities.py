"""Figures, dates and times of day in a text of either language, in units that can be compared.

1.2万, 12,000 and "twelve thousand" are one value; 100公里 and 62 miles are one length within the
rounding of the claim; 2024年3月 and "March 2024" are one date. Knows nothing of what a figure is of.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

CONVERSION = 0.02  # how far a value may lie off that was converted between units
COARSEST = 0.1  # rounding changes a value by less than this share
BOUND = 1.3  # "more than 100" may be said of up to 130

_YEAR = 31_557_600.0
# kind: unit = how many of the kind's base unit it is
_UNITS = f"""
length: m=1 米=1 metre=1 metres=1 meter=1 meters=1 km=1000 公里=1000 千米=1000 kilometre=1000 kilometres=1000 kilometer=1000 kilometers=1000 里=500 华里=500 mile=1609.34 miles=1609.34 英里=1609.34 cm=0.01 厘米=0.01 centimetres=0.01 centimeters=0.01 mm=0.001 毫米=0.001 millimetres=0.001 millimeters=0.001 ft=0.3048 foot=0.3048 feet=0.3048 英尺=0.3048 inch=0.0254 inches=0.0254 英寸=0.0254 海里=1852 nautical-miles=1852 yards=0.9144 纳米=1e-9 nanometres=1e-9 nanometers=1e-9 nm=1e-9 微米=1e-6 光年=9.46e15 light-years=9.46e15
area: 平方米=1 平米=1 ㎡=1 m²=1 m2=1 sqm=1 square-metres=1 square-meters=1 square-metre=1 square-meter=1 平方公里=1e6 平方千米=1e6 km²=1e6 km2=1e6 square-kilometres=1e6 square-kilometers=1e6 square-kilometre=1e6 square-kilometer=1e6 sq-km=1e6 sq-m=1 公顷=1e4 hectare=1e4 hectares=1e4 ha=1e4 亩=666.667 mu=666.667 acre=4046.86 acres=4046.86 英亩=4046.86 square-miles=2589988 square-mile=2589988 平方英里=2589988 square-feet=0.092903 sq-ft=0.092903 平方英尺=0.092903
volume: 立方米=1 m³=1 cubic-metres=1 cubic-meters=1 升=0.001 公升=0.001 litre=0.001 litres=0.001 liter=0.001 liters=0.001 毫升=1e-6 ml=1e-6 gallon=0.003785 gallons=0.003785 加仑=0.003785 立方公里=1e9 cubic-kilometres=1e9 cubic-kilometers=1e9
mass: kg=1 公斤=1 千克=1 kilogram=1 kilograms=1 kilogrammes=1 吨=1000 tonne=1000 tonnes=1000 ton=1000 tons=1000 克=0.001 gram=0.001 grams=0.001 斤=0.5 毫克=1e-6 mg=1e-6 milligrams=1e-6 微克=1e-9 micrograms=1e-9 lb=0.4536 lbs=0.4536 pounds=0.4536 磅=0.4536 ounces=0.02835 盎司=0.02835
temperature: ℃=1 °c=1 摄氏度=1 degrees-celsius=1 degree-celsius=1 celsius=1 度=1 degrees=1
fahrenheit: ℉=1 °f=1 华氏度=1 degrees-fahrenheit=1
duration: 秒=1 秒钟=1 second=1 seconds=1 分钟=60 minute=60 minutes=60 min=60 mins=60 小时=3600 个小时=3600 钟头=3600 个钟头=3600 hour=3600 hours=3600 hr=3600 hrs=3600 天=86400 day=86400 days=86400 个工作日=86400 工作日=86400 周=604800 星期=604800 个星期=604800 week=604800 weeks=604800 个月={_YEAR / 12} 月={_YEAR / 12} 世纪={_YEAR * 100} month={_YEAR / 12} months={_YEAR / 12} 年={_YEAR} year={_YEAR} years={_YEAR} 载={_YEAR} 岁={_YEAR} 周岁={_YEAR} decade={_YEAR * 10} decades={_YEAR * 10} 个世纪={_YEAR * 100} centuries={_YEAR * 100} 毫秒=0.001 milliseconds=0.001 ms=0.001 个季度={_YEAR / 4} quarters={_YEAR / 4}
speed: km/h=1 kph=1 公里/小时=1 公里每小时=1 公里/时=1 千米/小时=1 kilometres-per-hour=1 kilometers-per-hour=1 km-per-hour=1 kilometres-an-hour=1 kilometers-an-hour=1 km-an-hour=1 miles-an-hour=1.60934 mph=1.60934 miles-per-hour=1.60934 m/s=3.6 米/秒=3.6 米每秒=3.6 metres-per-second=3.6 meters-per-second=3.6
power: w=1 瓦=1 watts=1 kw=1000 千瓦=1000 kilowatts=1000 mw=1e6 兆瓦=1e6 megawatts=1e6 megawatt=1e6 gw=1e9 吉瓦=1e9 gigawatts=1e9 gigawatt=1e9
energy: kwh=1 千瓦时=1 度电=1 kilowatt-hours=1 mwh=1000 兆瓦时=1000 gwh=1e6 twh=1e9 terawatt-hours=1e9 gigawatt-hours=1e6
data: kb=1e3 mb=1e6 gb=1e9 tb=1e12
magnitude: 级=1 magnitude=1
degrees of arc: °=1
ratio: %=1 percent=1 per-cent=1 pct=1 成=10 ‰=0.1
points: 个百分点=1 百分点=1 percentage-point=1 percentage-points=1 个基点=0.01 基点=0.01 basis-point=0.01 basis-points=0.01 bps=0.01
times: 倍=1 times=1 fold=1 -fold=1
money yuan: 元=1 元人民币=1 人民币=1 块=1 块钱=1 yuan=1 renminbi=1 rmb=1 cny=1
money usd: 美元=1 美金=1 dollars=1 dollar=1 usd=1 us-dollars=1 cents=0.01
money eur: 欧元=1 euros=1 euro=1 eur=1
money gbp: 英镑=1 sterling=1 gbp=1 pounds-sterling=1
money hkd: 港元=1 港币=1 hkd=1 hong-kong-dollars=1
money jpy: 日元=1 yen=1 jpy=1
money krw: 韩元=1 won=1
money inr: 卢比=1 rupees=1 rupee=1
money rub: 卢布=1 rubles=1 roubles=1
money nok: kroner=1 kronor=1 krona=1 krone=1 克朗=1 øre=0.01
money kes: shillings=1 shilling=1 先令=1
money chf: 瑞士法郎=1 francs=1
people: 人=1 个人=1 名=1 位=1 人次=1 people=1 persons=1 person=1 visitors=1 visits=1 tourists=1 passengers=1 inhabitants=1 residents=1 residents=1
count: 个=1 家=1 座=1 所=1 条=1 项=1 款=1 件=1 只=1 头=1 枚=1 台=1 部=1 艘=1 场=1 次=1 起=1 轮=1 批=1 期=1 份=1 幅=1 本=1 册=1 种=1 类=1 间=1 套=1 栋=1 幢=1 辆=1 架=1 架次=1 列=1 站=1 处=1 户=1 颗=1 棵=1 株=1 匹=1 层=1 例=1 张=1 篇=1 首=1 支=1 队=1 道=1 片=1 段=1 门=1 节=1 章=1 步=1 席=1 把=1 组=1 对=1 枝=1 字=1 卷=1 集=1 国=1 省=1 市=1 县=1 村=1 镇=1 族=1 尊=1 顶=1 口=1 根=1 块屏=1 班=1 桶=1 球=1 分=1
edition: 届=1
line: 号线=1
"""  # fmt: skip
_UNIT: dict[str, tuple[str, float]] = {}
for _line in _UNITS.strip().splitlines():
    _kind, _, _spellings = _line.partition(": ")
    for _pair in _spellings.split():
        _word, _, _factor = _pair.rpartition("=")
        _UNIT[_word if _word[0] == "-" else _word.replace("-", " ")] = (_kind, float(_factor))
_MONEY = {"$": "usd", "us$": "usd", "usd": "usd", "¥": "yuan", "￥": "yuan", "rmb": "yuan", "cny": "yuan"}  # fmt: skip
_MONEY |= {"€": "eur", "eur": "eur", "£": "gbp", "gbp": "gbp", "hk$": "hkd"}
_SCALE = {
    "万亿": 1e12,
    "千亿": 1e11,
    "百亿": 1e10,
    "十亿": 1e9,
    "亿": 1e8,
    "千万": 1e7,
    "百万": 1e6,
}
_SCALE |= {"十万": 1e5, "万": 1e4, "千": 1e3, "百": 1e2, "trillion": 1e12, "tn": 1e12, "trn": 1e12}
_SCALE |= {"billion": 1e9, "bn": 1e9, "million": 1e6, "mn": 1e6, "thousand": 1e3, "hundred": 1e2}
_SCALE |= {"m": 1e6, "b": 1e9, "k": 1e3, "dozen": 12, "lakh": 1e5, "crore": 1e7}

_DIGIT = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_TENS = {"十": 10, "百": 100, "千": 1000}
_ONES = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen"""
_SPOKEN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPOKEN = {word: value for value, word in enumerate(_ONES.split(), 1)}
_SPOKEN |= {word: value * 10 for value, word in enumerate(_SPOKEN_TENS.split(), 2)}
_SPOKEN["zero"] = 0
_RANKS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
_RANK = {word: value for value, word in enumerate(_RANKS.split(), 1)}
_RANK |= {"twentieth": 20, "nineteenth": 19, "eighteenth": 18, "seventeenth": 17, "sixteenth": 16}
_RANK |= {"twenty-first": 21, "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "hundredth": 100}
_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_MONTH |= {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9}  # fmt: skip
_MONTH |= {"oct": 10, "nov": 11, "dec": 12}
_OTHER_MONTH = re.compile(r"\b(?:january|february|april|june|july|august|september|october|november|december)\b")  # fmt: skip
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_PARTS = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fourth": 25.0, "fifth": 20.0, "sixth": 100 / 6, "eighth": 12.5, "tenth": 10.0}  # fmt: skip
_GROWTH = {"doubled": 2, "doubling": 2, "double": 2, "tripled": 3, "tripling": 3, "triple": 3, "quadrupled": 4, "twice": 2, "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10}  # fmt: skip

_ABOUT = r"approximately|about|around|roughly|nearly|almost|close to|some|circa|an estimated|estimated|大约|大概|将近|接近|约为|约|近|几乎|~|≈"
_MOST = r"no more than|not more than|not exceeding|less than|fewer than|lower than|up to|at most|a maximum of|under|below|within|no later than|不超过|不多于|不高于|不到|不足|少于|低于|至多|最多|最高"
_LEAST = r"no fewer than|no less than|not less than|more than|greater than|higher than|at least|a minimum of|upwards of|in excess of|exceeding|exceeded|exceeds|exceed|surpassed|surpassing|topped|over|above|超过|超出|超|逾|多于|高于|大于|至少|不少于|不低于|突破|最低"
_BEFORE = re.compile(rf"(?:(?P<most>{_MOST})|(?P<least>{_LEAST})|(?P<about>{_ABOUT}))\s?(?:了|达|为|the\s|a\s)?\s?$")  # fmt: skip
_MORE, _ROUND, _LESS = r"多|余|出头|以上|之多|plus\b|or more\b|\+", r"左右|上下|or so\b", r"以下|以内|之内|or less\b|or fewer\b"  # fmt: skip
_AFTER = re.compile(rf"\s?(?:(?P<least>{_MORE})|(?P<about>{_ROUND})|(?P<most>{_LESS}))")


def _either(units: list[str]) -> str:
    return "|".join(re.escape(unit) for unit in sorted(units, key=len, reverse=True))


_HAN_UNITS = _either([u for u in _UNIT if not u[0].isascii() or not u.isascii()])
_EN_UNITS = _either([u for u in _UNIT if u.isascii() and u[0].isalpha()]).replace(r"\ ", r"[\s-]")
_FIGURE = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?: \d{3})+(?![\d.])|\d+(?:\.\d+)?"
_HAN_SCALES = "万亿|千亿|百亿|十亿|亿|千万|百万|十万|万|千(?![瓦米克卡])|百"
_SCALES = rf"{_HAN_SCALES}|(?:trillion|billion|million|thousand|hundred|dozen|lakh|crore)\b|(?:trn|tn|bn|mn|[mkb])(?![a-z²³/0-9])"  # fmt: skip
_UNIT_AFTER = rf"\s?[%‰°](?:[cf]\b)?|\s?(?:{_HAN_UNITS})|[\s-]?(?:{_EN_UNITS})(?![a-z²³])|-fold"
_NUMBER = re.compile(
    rf"(?:(?P<money>us\$|hk\$|(?:usd|rmb|cny|eur|gbp)(?=\s?\d)|[$¥￥€£])\s?|(?<![a-z\d.])(?<![a-z]-))"
    rf"(?P<figure>{_FIGURE})(?P<some>\+|余|多(?=[万亿千百]))?\s?(?:-(?=million|billion|trillion))?(?P<scale>{_SCALES})?"
    rf"(?P<rest>(?<=[万亿千])\d+(?:\.\d+)?(?:{_HAN_SCALES})?)?(?P<more>{_MORE}|几)?(?P<unit>{_UNIT_AFTER})?"
)
_RANGE = re.compile(
    rf"(?<![a-z\d.])(?P<low>{_FIGURE})\s?(?P<scale>{_SCALES})?(?P<one>{_UNIT_AFTER})?"
    rf"(?:\s?(?:-|–|—|~|～|至|到)\s?|(?P<to>\sto\s))(?P<money>[$¥￥€£])?(?P<high>{_FIGURE})\s?(?P<scales>{_SCALES})?(?P<unit>{_UNIT_AFTER}|(?=\s[a-z]{{3}}))"
)
_BETWEEN = re.compile(
    rf"(?:between|from)\s(?P<money>[$¥￥€£])?(?P<low>{_FIGURE})\s?(?P<scale>{_SCALES})?(?P<one>{_UNIT_AFTER})?\s(?:and|to)\s[$¥￥€£]?(?P<high>{_FIGURE})\s?(?P<scales>{_SCALES})?(?P<unit>{_UNIT_AFTER})?"
)
_HAN_NUMBER = re.compile(
    rf"(?P<figure>[一二三四五六七八九两十百千零〇半]+(?:点[零一二三四五六七八九]+)?)(?P<more>多|余)?(?P<scale>万亿|亿|万)?(?P<rest>(?<=[万亿])[一二三四五六七八九两十百千零]+万?)?(?P<after>多|余)?(?P<unit>{_HAN_UNITS}|(?<=[万亿])(?=[\u4e00-\u9fff]))"
)
_SAID = re.compile(
    rf"\b(?P<figure>(?:an?\s(?=(?:hundred|thousand|million|billion|dozen|few\shundred))|(?:{'|'.join(_SPOKEN)})\b)"
    rf"(?:[\s-](?:and\s)?(?:{'|'.join(_SPOKEN)}|hundred|thousand|million|billion|dozen)\b)*(?:(?<=an)\s|(?<=a)\s)?(?:(?<=\s)(?:hundred|thousand|million|billion|dozen))?)"
    rf"(?P<unit>[\s-](?:{_EN_UNITS})\b)?"
)
_AND_HALF = re.compile(
    rf"\b(?P<n>{'|'.join(_SPOKEN)}|\d+)\sand\sa\shalf\s(?P<unit>{_EN_UNITS})\b|\bhalf\san?\s(?P<unit2>{_EN_UNITS})\b"
    r"|(?P<han>[一二两三四五六七八九十\d]+)个半(?P<unit3>小时|月|世纪)"
)
_SHARE_ZH = re.compile(r"(?P<base>[二三四五六七八九十百千两\d]+)分之(?P<top>[一二三四五六七八九十百零两点\d.]+)")  # fmt: skip
_SHARE_EN = re.compile(rf"\b(?:(?P<top>an?|one|two|three|four|five|seven|\d)[\s-])?(?P<part>half|third|quarter|fifth|sixth|eighth|tenth)s?\b(?=\s(?:of|the|below|above|less|more|fewer|lower|higher|smaller|larger|down|up|was|were|stood|had|have|has|are|is)\b|\s(?:all|as|its|their)\b|$|[,.;])|(?<=by\s)(?P<by>half)\b(?!\san?\b)|\b(?P<one>{'|'.join(_SPOKEN)}|\d+)\s(?:in|out\sof)\s(?:every\s)?(?P<of>{'|'.join(_SPOKEN)}|\d+)\b")  # fmt: skip
_EVERY = re.compile(r"每(?P<of>[二三四五六七八九十\d]+)[个家所人位名辆座件只条户份场][^。；]{0,12}?有(?:近|约|大约)?(?P<one>[一二两三四五六七八九\d]+)[个家所人位名辆座件只条户份场]")  # fmt: skip
_POINT_PART = re.compile(
    r"\b(half|quarter)(?:[\s-]of)?(?:[\s-]an?)?[\s-](?:percentage[\s-])?points?\b"
)
_HALF_ZH = re.compile(r"一半|半数|过半|对半")
_GROWN = re.compile(rf"\b(?:{'|'.join(_GROWTH)})\b(?!\s(?:room|bed|decker|track))|翻了?(?P<times>[一两二三四\d])番|翻倍|(?:近|约)?(?P<grown>增长|增加|提高|提升|上升|上涨|扩大|增)了?(?:近|约|超过|逾)?(?P<fold>\d+(?:\.\d+)?|[一二三四五六七八九十两]+)倍")  # fmt: skip
_ISO = re.compile(r"(?<![\d.])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d.])")
_ZH_DATE = re.compile(
    r"(?P<bc>公元前|前)?(?<![\d.])(?P<y>\d{3,4}|[一二三四五六七八九零〇]{4}|(?<=公元前)\d{1,2})\s?年(?!级|代|前|后|来|间|以上|左右|的?历史|多|之久|有余|余|期|寿|龄)(?:\s?(?P<m>\d{1,2}|[一二三四五六七八九十]{1,2})\s?月(?:份)?(?:\s?(?P<d>\d{1,2}|[一二三四五六七八九十]{1,3})\s?[日号])?)?"
    r"|(?<![\d.第])(?P<m2>\d{1,2}|[一二三四五六七八九十]{1,2})\s?月(?:份|(?P<early>初|中旬|底|上旬|下旬|末))?(?:\s?(?P<d2>\d{1,2}|[一二三四五六七八九十]{1,3})\s?[日号])?"
    r"|(?<![\d.一二三四五六七八九十])(?P<d3>\d{1,2})[日号](?![线馆楼门院厅店口航])"
)
_MONTHS_ZH = re.compile(r"(?<![\d.])(?:(?P<y>\d{4})年)?(?P<a>\d{1,2})\s?(?:-|–|—|~|至|到)\s?(?P<b>\d{1,2})月(?:份)?(?!\d)")  # fmt: skip
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_EN_DATE = re.compile(
    rf"\b(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?)?(?P<m>{_NAMES})\b\.?(?:\s(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:]|,\d{{3}}|\.\d|\s?%|\s(?:{_EN_UNITS})\b))?(?:(?:,|\sof)?\s(?P<y>\d{{4}})(?!\d|,\d|\.\d|\s(?:{_EN_UNITS}|people)\b))?"
)
_EN_DAYS = re.compile(rf"\b(?P<m>{_NAMES})\s(?P<a>\d{{1,2}})\s?(?:-|–|—|to)\s?(?P<b>\d{{1,2}})(?:,?\s(?P<y>\d{{4}}))?\b")  # fmt: skip
_EN_YEAR = re.compile(
    r"(?<![\d.,$¥€£#:/a-z-])(?P<y>1[0-9]\d\d|20\d\d|2100)(?P<bc>\s?(?:bce|bc))?(?:\s?[-–]\s?(?P<to>(?:1[0-9]|20)\d\d|\d\d))?(?![\d:%]|[.,]\d|[a-z]|\s?[°%]|\s(?!(?:at|in|on|the|and|to|for|was|were|when|with|by|as|is|had|has|from|of|after|before|but|or|election|season|budget|final|games|olympics|summit)\b)[a-z]|\s?[万亿千百元米公平里个人名家座吨年多余件亩台辆次位只项])"
    r"|\b(?:in|since|by|until|from|of|for|during|before|after|to|and|between|through|year)\s(?:ad\s)?(?P<y2>(?<=ad\s)\d{3}|\d{1,3}(?=\sbce?\b)|1[0-9]\d\d|20\d\d)(?P<bc2>\s(?:bce|bc)\b)?(?!\d|,\d|\.\d|\s?[%°$]|\s?(?:million|billion|thousand|[万亿千百元米公平里个人名家座吨])|\s(?:" + _EN_UNITS + r")\b)(?=\s[a-z]|\W|$)"
)  # fmt: skip
_IN = re.compile(
    r"\b(?:in|since|by|until|from|to|of|last|this|early|late|mid|and|through|between)[ -]$"
)
_DECADE = re.compile(r"\b(?:the\s)?(?P<c>1[0-9]|20)(?P<t>\d)0s\b|(?:(?P<n>\d{1,2}|[一二三四五六七八九十]{1,3})世纪)?(?P<ten>\d0|[二三四五六七八九]十|〇〇)年代")  # fmt: skip
_CENTURY = re.compile(rf"\b(?P<n>\d{{1,2}})(?:st|nd|rd|th)[\s-]century\b|\b(?P<w>{'|'.join(_RANK)})[\s-]century\b|(?P<z>公元前)?(?P<h>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})世纪")  # fmt: skip
_CLOCK = re.compile(
    r"(?P<when>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜间|晚间|晚|早)?\s?(?<![\d.:])(?P<h>\d{1,2})(?:\s?[:：](?P<m>[0-5]\d)(?::[0-5]\d)?(?!\d)|[点时](?!间)(?:(?P<m2>[0-5]?\d)分(?!钟)?|(?P<half>半)|整)?)\s?(?P<ap>[ap]\.?m\b\.?)?"
    r"|(?<![\d.:])\b(?P<h3>\d{1,2})(?:\.(?P<m3>[0-5]\d))?\s?(?P<ap3>[ap]\.?m\b\.?)|\b(?P<noon>noon|midnight|正午)\b"
    r"|(?P<when4>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|晚|早)(?P<h4>[一二三四五六七八九十两]{1,3})点(?P<half4>半)?"
)
_LATE_WORDS = """
下午 傍晚 晚上 夜间 晚间 晚
"""
_LATE = frozenset(_LATE_WORDS.split())
_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b")  # fmt: skip
_UNTIL = re.compile(
    r"(?<!提)前(?P<h>[一二三四五六七八九十两\d]+)(?:个)?(?P<q>季度|月)(?!份)|\bfirst (?P<w>two|three|six|nine|eleven|ten|four|five|seven|eight) (?P<e>quarter|month)s"
)
_QUARTER = re.compile(r"(?<!上)第?([一二三四1-4])季度|\bq([1-4])\b|\b(first|second|third|fourth)[ -]quarter\b")  # fmt: skip
_HALF_YEAR = re.compile(r"(上|下)半年|\bh([12])\b|\b(first|second) half\b")
_ORDINAL = re.compile(rf"第(?P<h>[一二三四五六七八九十百零两]+|\d+)(?!季度)(?P<unit>届)?|(?<![\d.,])(?P<n>\d+)(?:st|nd|rd|th)\b|\bno\.\s?(?P<no>\d+)\b|\b(?P<w>{'|'.join(w for w in _RANK if w != 'first')})\b(?!\s(?:of|half))")  # fmt: skip
_SCORE = re.compile(r"(?<![\d.:-])(?P<a>\d{1,3})\s?(?:比|[:：](?=\d(?!\d)))\s?(?P<b>\d{1,3})(?![\d.:])|(?<![\d.:-])(?P<a2>\d{1,3})[-–](?P<b2>\d{1,3})(?=\s(?:win|victory|defeat|loss|draw|aggregate|against|over|at|on|in|to|thanks)\b|[.,;]|$)")  # fmt: skip


class _Folding(dict[int, str]):
    """Width, case and accents, one character for one: offsets stay, and so does Chinese punctuation."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if (0xFF10 <= code <= 0xFF5A and char.isalnum()) or char in "％．－＄＋／＝":
            char = chr(code - 0xFEE0)
        elif char in "’‘":
            char = "'"
        elif char in "\u00a0\u2009\u202f\u3000":
            char = " "
        elif char in "\u2011\u2212":
            char = "-"
        bare = unicodedata.normalize("NFD", char.lower())
        self[code] = bare[0] if unicodedata.combining(bare[-1]) or len(bare) == 1 else char
        return self[code]


_FOLDING = _Folding()


def plain(text: str) -> str:
    """Lower case and half width, character for character."""
    return text.translate(_FOLDING)


_FAMILY = {kind: "money" for kind, _ in _UNIT.values() if kind.startswith("money")}
_FAMILY |= {"points": "ratio", "times": "ratio", "fahrenheit": "temperature"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure from `low` to `high` in base units of its kind, or a date as `parts` (year, month,
    day). `step` is the worth of its last digit, `coarse` of its last digit that is not 0."""

    kind: str
    low: float
    high: float
    start: int
    end: int
    step: float = 1.0
    coarse: float = 1.0
    bound: str = ""  # about, some, least, most
    unit: str = ""
    parts: tuple[int | None, int | None, int | None] = (None, None, None)
    factor: float = 1.0  # of the unit as it is written
    spoken: bool = False  # a small number written as a word

    @property
    def bare(self) -> float:
        """The number as it is written, whatever it counts."""
        year = self.parts[0]
        return float(year or 0) if self.dated else self.low / self.factor

    @property
    def family(self) -> str:
        """What may stand in its place: money of any currency, a share however it is said."""
        return _FAMILY.get(self.kind, self.kind)

    @property
    def dated(self) -> bool:
        return self.kind == "date"


_TIMES = frozenset(
    ("clock", "weekday", "quarter", "half", "decade", "century", "score", "edition", "until")
)
_RANKED = frozenset(("ordinal", "edition", "duration", "count"))
_COUNTED = frozenset(("count", "people"))
_UNCONVERTED = frozenset(("count", "people", "ratio", ""))


def _bare_agree(claim: Measure, found: Measure) -> bool:
    """Whether a number without a unit is the number of a figure with one, or of a year."""
    one, other = claim.bare, found.bare
    if abs(one - other) > (BOUND - 1) * max(abs(one), abs(other)):
        return False
    if claim.dated or found.dated:
        date = claim if claim.dated else found
        return date.parts[1] is None and _close(one, other)
    if claim.kind in _TIMES or found.kind in _TIMES:
        return False
    if found.spoken and claim.family in ("ratio", "money"):
        return False
    return agrees(_unitless(claim), _unitless(found))


def _weighed(measure: Measure) -> Measure:
    """Pounds, of which one cannot tell money from weight, as a weight."""
    if measure.unit != "pounds":
        return measure
    by = 0.4536
    return replace(measure, kind="mass", low=measure.low * by, high=measure.high * by, step=measure.step * by, coarse=measure.coarse * by, factor=by)  # fmt: skip


def _unitless(measure: Measure) -> Measure:
    by = measure.factor
    return replace(
        measure,
        kind="",
        unit="",
        low=measure.low / by,
        high=measure.high / by,
        step=measure.step / by,
        coarse=measure.coarse / by,
    )


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1e-12)


def agrees(claim: Measure, found: Measure) -> bool:
    """Whether what is found bears the claim's figure out: equal, or rounded by the claim."""
    if claim.kind != found.kind:
        if claim.kind == "" or found.kind == "":
            return _bare_agree(claim, found)
        if claim.family == found.family:
            return _shares_agree(claim, found)
        if {claim.kind, found.kind} == {"money yuan", "money jpy"} and "¥" in (
            claim.unit,
            found.unit,
        ):
            return _values_agree(claim, found)
        if "pounds" in (claim.unit, found.unit):
            return "mass" in (claim.kind, found.kind) and _values_agree(
                _weighed(claim), _weighed(found)
            )
        if "ordinal" in (claim.kind, found.kind):
            return {claim.kind, found.kind} <= _RANKED and _close(claim.bare, found.bare)
        counted = {claim.kind: claim, found.kind: found}
        if counted.keys() != _COUNTED or counted["count"].unit not in ("个", "例", "口"):
            return False
    elif claim.dated:
        return dates_agree(claim, found)
    if claim.kind == "clock":
        return _close(claim.low, found.low) or (
            "?" in (claim.unit, found.unit) and _close(claim.low % 720, found.low % 720)
        )
    if {claim.bound, found.bound} == {"least", "most"} and claim.kind != "temperature":
        return False
    if claim.low != claim.high or found.low != found.high:
        return _ranges_agree(claim, found)
    grown = claim.kind == "times" and claim.low > 2 and _close(abs(claim.low - found.low), 1)
    return _values_agree(claim, found) or grown


def _values_agree(claim: Measure, found: Measure) -> bool:
    one, other = claim.low, found.low
    if _close(one, other):
        return True
    gap, size = abs(one - other), max(abs(one), abs(other))
    if claim.bound == "some" and one <= other < one + claim.coarse:
        return True
    if claim.unit != found.unit and gap <= CONVERSION * size and claim.kind not in _UNCONVERTED:
        return True
    if not found.bound and other:
        share = one / other if claim.bound == "most" else other / one if one else 0
        if claim.bound in ("least", "most") and 1 <= share <= BOUND:
            return True
    step = claim.coarse if claim.bound == "about" else claim.step
    known = found.coarse if found.bound == "about" else found.step
    if step <= known or gap > COARSEST * size:
        return False
    return gap < step / 2 or (one > other and _close(gap, step / 2))


def _ranges_agree(claim: Measure, found: Measure) -> bool:
    if claim.low == claim.high:
        ends = {"most": (found.high,), "least": (found.low,)}.get(claim.bound, ())
        if claim.bound == "about":
            return found.low <= claim.low <= found.high
        return any(_close(claim.low, end) for end in ends)
    if found.low == found.high:
        return claim.low <= found.low <= claim.high
    slack = CONVERSION if claim.unit != found.unit else 1e-6
    pairs = ((claim.low, found.low), (claim.high, found.high))
    return all(abs(a - b) <= slack * max(abs(a), abs(b)) for a, b in pairs)


def _shares_agree(claim: Measure, found: Measure) -> bool:
    """Twice is 200 %, and so is a growth by 100 %; points are no per cent."""
    kinds = {claim.kind, found.kind}
    if kinds == {"times", "ratio"}:
        times, ratio = (claim, found) if claim.kind == "times" else (found, claim)
        return any(_close(ratio.low, (times.low - less) * 100) for less in (0, 1)) or (
            times.low > 0 and abs(ratio.low * times.low - 100) <= 1
        )
    if kinds == {"temperature", "fahrenheit"}:
        celsius, other = (claim, found) if claim.kind == "temperature" else (found, claim)
        return abs((other.low - 32) / 1.8 - celsius.low) <= max(0.6, CONVERSION * abs(celsius.low))
    return False


def dates_agree(claim: Measure, found: Measure) -> bool:
    """Whether every part that the claim gives is given and the same."""
    return all(mine is None or mine == its for mine, its in zip(claim.parts, found.parts, strict=True))  # fmt: skip


def dates_clash(claim: Measure, found: Measure) -> bool:
    """Whether a part that both give is another."""
    pairs = zip(claim.parts, found.parts, strict=True)
    return any(mine is not None and its is not None and mine != its for mine, its in pairs)


class _Reader:
    """Reads one text; each character counts once, the more certain patterns come first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.taken = bytearray(len(text) + 1)
        self.found: list[Measure] = []

    def keep(self, start: int, end: int, *measures: Measure | None) -> None:
        kept = [m for m in measures if m]
        if kept and end > start and not any(self.taken[start:end]):
            self.taken[start:end] = b"\x01" * (end - start)
            self.found += kept

    def free(self, match: re.Match[str]) -> bool:
        return not any(self.taken[match.start() : match.end()])

    def bound(self, start: int, end: int, inside: str = "") -> str:
        """What is said before and after a figure: an estimate, a least or a most, or that it is more
        by less than its last digit: 500多."""
        if inside:
            return "some"
        before = _BEFORE.search(self.text, max(0, start - 22), start)
        after = _AFTER.match(self.text, end)
        for match in (before, after):
            if match:
                name = next(name for name, value in match.groupdict().items() if value)
                return (
                    "some" if name == "least" and match[0].strip() in ("多", "余", "出头") else name
                )
        return ""


def _number(said: str) -> float:
    return float(said.replace(",", "").replace(" ", ""))


def han(said: str) -> float:
    """一百二十 is 120, 二〇二六 is 2026, 三点五 is 3.5."""
    whole, _, rest = said.partition("点")
    if re.fullmatch(r"[\d.]+", said):
        return _number(said.strip(".") or "0")
    if whole == "半":
        return 0.5
    if not set(whole) & set(_TENS):
        value = float("".join(str(_DIGIT.get(char, 0)) for char in whole) or 0)
    else:
        total, digit = 0, 0
        for char in whole:
            if char in _TENS:
                total += (digit or 1) * _TENS[char]
                digit = 0
            else:
                digit = _DIGIT.get(char, 0)
        value = float(total + digit)
    return value + (float("0." + "".join(str(_DIGIT[char]) for char in rest)) if rest else 0)


def _steps(said: str, scale: float) -> tuple[float, float]:
    """The worth of the last digit of a figure, and of its last digit that is not 0."""
    whole, _, rest = said.replace(",", "").replace(" ", "").partition(".")
    step: float = scale * 10.0 ** -len(rest)
    zeros = len(whole) - len(whole.rstrip("0")) if not rest.strip("0") else 0
    return step, scale * 10.0**zeros if zeros and whole.strip("0") else step


def _coarse(value: float) -> float:
    """The worth of the last digit of a whole number that is not 0."""
    digits = f"{value:.0f}"
    return 10.0 ** (len(digits) - len(digits.rstrip("0")))


def _part(said: str | None) -> int | None:
    return int(han(said)) if said else None


def _surely(match: re.Match[str]) -> bool:
    """Whether the name of a month by itself is one: not what one may do, nor how one marches."""
    name = match["m"]
    if name not in _MONTHS.split():
        return False
    if name not in ("may", "march"):
        return True
    before = _IN.search(match.string[: match.start()])
    joined = before is not None and before[0].strip() in ("and", "to", "through")
    return before is not None and (not joined or _OTHER_MONTH.search(match.string) is not None)


def _dates(r: _Reader) -> None:
    def date(
        match: re.Match[str],
        y: int | None,
        m: int | None = None,
        d: int | None = None,
        end: int = 0,
    ) -> Measure | None:
        if (m is not None and not 1 <= m <= 12) or (d is not None and not 1 <= d <= 31):
            return None
        return Measure("date", 0, 0, match.start(), end or match.end(), parts=(y, m, d))

    text = r.text
    for match in _ISO.finditer(text):
        r.keep(*match.span(), date(match, *(int(match[name]) for name in "ymd")))
    for match in _DECADE.finditer(text):
        century = (
            int(match["c"]) if match["c"] else int(han(match["n"])) - 1 if match["n"] else None
        )
        ten = int(match["t"]) if match["t"] else int(han(match["ten"])) // 10
        value = (century if century is not None else 19) * 100 + ten * 10
        r.keep(*match.span(), Measure("decade", value, value, *match.span()))
    for match in _CENTURY.finditer(text):
        value = (
            int(match["n"] or 0) or _RANK.get(match["w"] or "", 0) or int(han(match["h"] or "0"))
        )
        r.keep(*match.span(), Measure("century", value, value, *match.span()))
    for match in _MONTHS_ZH.finditer(text):
        year = _part(match["y"])
        r.keep(*match.span(), date(match, year, int(match["a"])), date(match, year, int(match["b"])))  # fmt: skip
    for match in _ZH_DATE.finditer(text):
        year = _part(match["y"])
        if year and match["bc"] == "公元前":
            year = -year
        month, day = _part(match["m"] or match["m2"]), _part(match["d"] or match["d2"] or match["d3"])  # fmt: skip
        r.keep(*match.span(), date(match, year, month, day))
    for match in _EN_DAYS.finditer(text):
        year, month = _part(match["y"]), _MONTH[match["m"]]
        r.keep(*match.span(), date(match, year, month, int(match["a"])), date(match, year, month, int(match["b"])))  # fmt: skip
    for match in _EN_DATE.finditer(text):
        said, in_year = match["d"] or match["d2"], _part(match["y"])
        if said or in_year or _surely(match):
            r.keep(*match.span(), date(match, in_year, _MONTH[match["m"]], _part(said)))
    for match in _EN_YEAR.finditer(text):
        said, bc = match["y"] or match["y2"], match["bc"] or match["bc2"]
        year = -int(said) if bc else int(said)
        start = match.start("y") if match["y"] else match.start("y2")
        first = Measure("date", 0, 0, start, match.end(), parts=(year, None, None))
        second = None
        if match["to"]:
            upto = int(match["to"] if len(match["to"]) == 4 else said[:2] + match["to"])
            second = Measure("date", 0, 0, start, match.end(), parts=(upto, None, None))
        r.keep(start, match.end(), first, second)


def _times(r: _Reader) -> None:
    for match in _CLOCK.finditer(r.text):
        if match["noon"]:
            value, sure = (0 if match["noon"] == "midnight" else 720), True
        else:
            hour = int(match["h"] or match["h3"] or han(match["h4"] or "0"))
            minute = int(match["m"] or match["m2"] or match["m3"] or (30 if match["half"] or match["half4"] else 0))  # fmt: skip
            half = (match["ap"] or match["ap3"] or "")[:1]
            when = match["when"] or match["when4"] or ""
            if hour > 24 or (match["h"] and not match["m"] and re.match(r"\d*时(?:速|代|期|隔)", r.text[match.start("h") :])):  # fmt: skip
                continue
            late = half == "p" or when in _LATE
            if late and hour < 12:
                hour += 12
            if half == "a" and hour > 12:
                continue
            if half == "a" and hour == 12:
                hour = 0
            value, sure = hour * 60 + minute, bool(half or when or hour > 12 or (match["m"] and len(match["h"]) == 2))  # fmt: skip
        r.keep(*match.span(), Measure("clock", value, value, *match.span(), unit="" if sure else "?"))  # fmt: skip
    for match in _WEEKDAY.finditer(r.text):
        index = "一二三四五六日".find(match[1]) if match[1] else _WEEKDAYS.index(match[2][:3])
        value = 6 if index < 0 else index
        r.keep(*match.span(), Measure("weekday", value, value, *match.span()))
    for match in _UNTIL.finditer(r.text):
        count = han(match["h"]) if match["h"] else float(_SPOKEN[match["w"]])
        months = count * 3 if match["q"] == "季度" or match["e"] == "quarter" else count
        r.keep(*match.span(), Measure("until", months, months, *match.span()))
    for match in _QUARTER.finditer(r.text):
        said = next(filter(None, match.groups()))
        value = _RANK.get(said) or int(han(said))
        r.keep(*match.span(), Measure("quarter", value, value, *match.span()))
    for match in _HALF_YEAR.finditer(r.text):
        value = 1 + ((match[1] or match[2] or match[3]) in ("下", "2", "second"))
        r.keep(*match.span(), Measure("half", value, value, *match.span()))


def _parts_of_points(r: _Reader) -> None:
    for match in _POINT_PART.finditer(r.text):
        value = 0.5 if match[1] == "half" else 0.25
        r.keep(*match.span(), Measure("points", value, value, *match.span(), 0.25, 0.25))


def _shares(r: _Reader) -> None:
    for match in _SHARE_ZH.finditer(r.text):
        base, top = match["base"], match["top"]
        value = han(top) if base == "百" else han(top) * 100 / (1000 if base == "千" else han(base) or 1)  # fmt: skip
        step = 1.0 if base == "百" else 5.0
        r.keep(*match.span(), Measure("ratio", value, value, *match.span(), step, step, r.bound(*match.span()), "%"))  # fmt: skip
    for match in _EVERY.finditer(r.text):
        one, of = han(match["one"]), han(match["of"])
        if one < of:
            value = 100 * one / of
            r.keep(*match.span(), Measure("ratio", value, value, *match.span(), 5, 5, "about", "part"))  # fmt: skip
    _parts_of_points(r)
    for match in _SHARE_EN.finditer(r.text):
        if match["by"]:
            value = 50.0
        elif match["part"]:
            if not match["top"] and match["part"] != "half":
                continue
            top = {"a": 1, "an": 1, None: 1}.get(match["top"]) or _SPOKEN.get(match["top"]) or int(match["top"])  # fmt: skip
            value = _PARTS[match["part"]] * top
        else:
            one, of = (float(_SPOKEN.get(match[name], 0) or match[name]) for name in ("one", "of"))
            value = 100 * one / of if of else 0
        if value <= 100:
            r.keep(*match.span(), Measure("ratio", value, value, *match.span(), 5, 5, r.bound(*match.span()), "part"))  # fmt: skip
    for match in _HALF_ZH.finditer(r.text):
        bound = "least" if match[0] == "过半" else r.bound(*match.span())
        r.keep(*match.span(), Measure("ratio", 50, 50, *match.span(), 5, 5, bound, "part"))
    for match in _GROWN.finditer(r.text):
        if match["times"]:
            value = 2.0 ** han(match["times"])
        elif match["fold"]:
            value = han(match["fold"]) + 1
        else:
            value = _GROWTH.get(match[0], 2)
        start = match.start("fold") if match["fold"] else match.start()
        r.keep(start, match.end(), Measure("times", value, value, start, match.end()))


def _ordinals(r: _Reader) -> None:
    for match in _ORDINAL.finditer(r.text):
        said = match["h"] or match["n"] or match["no"]
        value = han(said) if said else float(_RANK[match["w"]])
        if value == 1 and not match["unit"]:
            continue
        kind = "edition" if match["unit"] else "ordinal"
        r.keep(*match.span(), Measure(kind, value, value, *match.span()))
    for match in _SCORE.finditer(r.text):
        a, b = (int(match[x] or match[x + "2"]) for x in "ab")
        value = max(a, b) * 1000 + min(a, b)
        r.keep(*match.span(), Measure("score", value, value, *match.span()))


def _unit_of(said: str | None) -> tuple[str, float]:
    unit = re.sub(r"[\s-]+", " ", (said or "").strip())
    return _UNIT.get(unit) or _UNIT.get(unit.replace(" ", "-")) or _UNIT.get(unit.strip()) or ("", 1.0)  # fmt: skip


def _spans(r: _Reader) -> None:
    """Ranges: both ends bear the unit that is said once."""
    for match in (*_BETWEEN.finditer(r.text), *_RANGE.finditer(r.text)):
        groups = match.groupdict()
        if (groups["unit"] is None and not (groups["scales"] or groups["money"])) or not r.free(
            match
        ):
            continue
        moved = re.search(r"从|由|自|\bfrom\s?$|(?:rose|fell|rise|fall|grew|grow\w*|increas\w*|decreas\w*|drop\w*|declin\w*|jump\w*|climb\w*|slip\w*)[^.]{0,12}$", r.text[max(0, match.start() - 12) : match.start()])  # fmt: skip
        if moved or (match.re is _BETWEEN and match[0].startswith("from") and re.search(r"(?:rose|fell|rise|fall|grew|grow\w*|increas\w*|decreas\w*|drop\w*|declin\w*|jump\w*|climb\w*|slip\w*|cut|rais\w*|lower\w*)[^.]{0,40}$", r.text[max(0, match.start() - 60) : match.start()])):  # fmt: skip
            continue
        kind, factor = _unit_of(groups["unit"])
        if groups["money"]:
            kind, factor = "money " + _MONEY[groups["money"]], 1.0
        if groups["one"] and _unit_of(groups["one"])[0] != kind:
            continue
        high_scale = _SCALE.get((groups["scales"] or "").strip(), 1)
        low_scale = _SCALE.get((groups["scale"] or "").strip(), 0) or high_scale
        low, high = (_number(groups[name]) * scale * factor for name, scale in (("low", low_scale), ("high", high_scale)))  # fmt: skip
        if low < high:
            unit = (groups["unit"] or "").strip()
            r.keep(*match.span(), Measure(kind, low, high, *match.span(), unit=str(factor) + kind if unit else "", factor=factor))  # fmt: skip


def _figures(r: _Reader) -> None:
    text = r.text
    for match in _NUMBER.finditer(text):
        if not r.free(match):
            continue
        figure = match["figure"]
        unit_said = match["unit"]
        scale_said = (match["scale"] or "").strip()
        end = match.start() + len(match[0].rstrip())
        if not unit_said and not scale_said and re.match(r"[a-z]|-[a-z]*\d", text[end : end + 3]):
            continue  # 5A, 3D, 737-800: names
        scale = _SCALE.get(scale_said, 1.0)
        value = _number(figure) * scale
        step, coarse = _steps(figure, scale)
        if match["rest"]:
            rest = re.fullmatch(rf"([\d.]+)({_HAN_SCALES})?", match["rest"])
            if rest:
                extra = _SCALE.get(rest[2] or "", 1.0)
                value += _number(rest[1]) * extra
                step, coarse = _steps(rest[1], extra)
        kind, factor = _unit_of(unit_said)
        pounds = False
        if kind == "mass" and (unit_said or "").strip() == "pounds" and scale > 1:
            kind, factor, pounds = "money gbp", 1.0, True
        if match["money"]:
            kind, factor = "money " + _MONEY[match["money"]], 1.0
        if kind == "length" and re.search(r"时速.{0,3}$|每小时.{0,2}$", text[max(0, match.start() - 6) : match.start()]):  # fmt: skip
            kind, factor = "speed", factor / 1000
        if kind in ("temperature", "fahrenheit") and re.search(r"零下|minus\s?$|(?<![\d])[-−]$", text[max(0, match.start() - 6) : match.start()]):  # fmt: skip
            value = -value
        inside = (match["some"] or match["more"] or "") and "some"
        r.keep(
            match.start(),
            end,
            Measure(
                kind,
                value * factor,
                value * factor,
                match.start(),
                end,
                step * factor,
                coarse * factor,
                r.bound(match.start(), end, inside),
                "¥"
                if match["money"] and match["money"].strip() in "¥￥"
                else "pounds"
                if pounds
                else (unit_said or "").strip()
                if kind == "count"
                else f"{factor}{kind}",
                factor=factor,
            ),
        )


_SURE_WORDS = """
倍 成 小时 个小时 公里 米 岁 周岁 个月 公顷 吨 亩 分钟 天 年 级 世纪 元 人次 届 个百分点 平方米 平方公里 千米 英里
"""
_SURE = frozenset(_SURE_WORDS.split())
_NO_NUMBER_AFTER = {"台": "山", "里": "屯洋山塘河庄", "道": "口", "门": "峡", "国": "演志时", "层": "次", "对": "一", "分": "之钟", "年": "级"}  # fmt: skip


def _halves(r: _Reader) -> None:
    """half an hour, six and a half miles, 一个半小时"""
    for match in _AND_HALF.finditer(r.text):
        said = match["n"] or match["han"] or "0"
        whole = _SPOKEN.get(said) or (float(said) if said.isdigit() else han(said))
        kind, factor = _unit_of(match["unit"] or match["unit2"] or match["unit3"])
        value = (whole + 0.5) * factor
        r.keep(*match.span(), Measure(kind, value, value, *match.span(), 0.5 * factor, 0.5 * factor, r.bound(*match.span()), f"{factor}{kind}", factor=factor))  # fmt: skip


def _said(r: _Reader) -> None:
    text = r.text
    for match in _HAN_NUMBER.finditer(text):
        figure, unit = match["figure"], match["unit"]
        before = text[match.start() - 1] if match.start() else ""
        following = text[match.end() : match.end() + 1]
        if (figure == "一" and before in tuple("这那上下同")) or before in tuple("第几数初星其之万统唯周每某") or following in tuple(_NO_NUMBER_AFTER.get(unit, ())):  # fmt: skip
            continue
        single = len(figure) == 1 and not match["scale"]
        if (single and figure in "百千零〇") or ("半" in figure and figure != "半"):
            continue
        if single and figure in "一半" and unit not in _SURE:
            continue
        if (figure == "一" and unit in ("天", "年", "级", "人", "元")) or set(figure) <= set(
            "百千"
        ):
            continue
        scale = _SCALE.get(match["scale"] or "", 1.0)
        value = han(figure) * scale
        if match["rest"]:
            value += han(match["rest"].rstrip("万")) * (1e4 if match["rest"].endswith("万") else 1)
            scale = 1.0
        kind, factor = _unit_of(unit)
        inside = (match["more"] or match["after"] or "") and "some"
        r.keep(*match.span(), Measure(kind, value * factor, value * factor, *match.span(), scale * factor, _coarse(value) * factor, r.bound(*match.span(), inside), unit if kind == "count" else f"{factor}{kind}", factor=factor, spoken=value <= 4 and kind in _COUNTED))  # fmt: skip
    for match in _SAID.finditer(text):
        words = re.findall(r"[a-z]+", match["figure"])
        unit_said = match["unit"]
        if words in (["one"], ["a"], ["an"]) and not unit_said:
            continue
        if len(words) == 1 and words[0] in ("a", "an"):
            continue
        value = _spoken(words)
        kind, factor = _unit_of(unit_said)
        r.keep(*match.span(), Measure(kind, value * factor, value * factor, *match.span(), _coarse(value) * factor, _coarse(value) * factor, r.bound(*match.span()), f"{factor}{kind}", factor=factor, spoken=value <= 10 and kind in ("", "duration")))  # fmt: skip


def _spoken(words: list[str]) -> float:
    """two hundred and fifty is 250; a dozen is 12."""
    total, part = 0.0, 0.0
    for word in words:
        if word in _SPOKEN:
            part += _SPOKEN[word]
        elif word in ("hundred", "dozen"):
            part = (part or 1) * _SCALE[word]
        elif word in _SCALE:
            total += (part or 1) * _SCALE[word]
            part = 0
    return total + part


_READERS: tuple[Callable[[_Reader], None], ...] = (_dates, _times, _spans, _shares, _ordinals, _halves, _figures, _said)  # fmt: skip


@lru_cache(8_192)
def measures(text: str) -> tuple[Measure, ...]:
    """The figures and dates of a text as `plain` gives it, in the order in which they stand."""
    reader = _Reader(text)
    for read in _READERS:
        read(reader)
    found = _joined(sorted(reader.found, key=lambda m: m.start), text)
    return tuple(_dated(found))


def _joined(found: list[Measure], text: str) -> list[Measure]:
    """The figures of a text with 1小时30分钟 or "1 minute 15 seconds" as one."""
    kept: list[Measure] = []
    for measure in found:
        last = kept[-1] if kept else None
        if (
            last
            and last.kind == "duration"
            and _smaller(measure, last)
            and _JOINT.fullmatch(text, last.end, measure.start)
        ):
            factor = 60.0 if measure.kind == "count" else 1.0
            value, step = last.low + measure.low * factor, measure.step * factor
            kept[-1] = replace(last, low=value, high=value, end=measure.end, step=step, coarse=step, unit="joint")  # fmt: skip
        else:
            kept.append(measure)
    return kept


def _smaller(measure: Measure, last: Measure) -> bool:
    """Whether a figure goes on with the one before it: minutes after hours, which may be 39分."""
    if measure.kind == "count":
        return measure.unit == "分" and last.factor == 3600 and measure.low < 60
    return measure.kind == "duration" and last.factor > measure.factor and measure.low < last.factor  # fmt: skip


_JOINT = re.compile(r"\s?(?:,\s|and\s|零|又)?")


def _dated(found: list[Measure]) -> Iterator[Measure]:
    """A day without its month, or a month without its year, takes that of the date before it where
    the two are one stretch of time: 3月1日至15日, 2024年3月至5月, March to May 2024."""
    for at, measure in enumerate(found):
        previous = found[at - 1] if at else None
        y, m, d = measure.parts
        if measure.dated and previous and previous.dated and measure.start - previous.end <= 5:
            if d and not m:
                m = previous.parts[1]
            if not y:
                y = previous.parts[0]
            measure = replace(measure, parts=(y, m, d))
            found[at] = measure
        yield measure


def _near(one: float, other: float, claim: Measure) -> bool:
    """Whether a claim's value is one that was worked out, as far as it is rounded."""
    if claim.bound in ("least", "some") and one <= other < one * 1.1:
        return True
    if claim.bound == "most" and one / 1.1 < other <= one:
        return True
    step = claim.coarse if claim.bound else claim.step
    slack = max(step / 2, 1e-6 * abs(other))
    if claim.unit == "part":
        slack = 0.04 * max(abs(other), 1)
    return abs(one - other) <= min(slack, COARSEST * abs(other)) * (1 + 1e-9)


_SUMS = re.compile(r"合计|总共|一共|共计|加起来|两者|两项|三项|合起来|总和|之和|各|\b(?:together|combined|both|altogether|in all|in total|total|sum|overall|between them|add up)\b")  # fmt: skip
_GAPS = re.compile(r"[多少高低快慢长短早晚贵差降升减增涨跌]|相差|差距|常年|往年|平时|剩|其余|其他|还有|没有|未|上一|上个|此前|原|去年|前一|上年|上届|上次|间隔|距|历时|\b(?:normal\w*|usual\w*|more|less|fewer|higher|lower|longer|shorter|gap|differ\w*|apart|up|down|rose|fell|risen|fallen|gained|lost|dropped|declin\w*|increas\w*|grew|shrank|shed|added|cut|rest|remain\w*|left|other|others|not|without|empty|vacant|unsold|outside|before|earlier|previous\w*|year before|later|after|between|lasted|took|over|within|margin|ahead|behind|cheaper|dearer|save\w*|old|ago)\b")  # fmt: skip
_TIMES_CUES = re.compile(r"倍|成|分之|一半|半数|翻|比例|占|平均|每|均|\b(?:times|twice|half|thirds?|quarters?|fifths?|sixths?|eighths?|tenths?|doubl\w*|tripl\w*|quadrupl\w*|per cent|percent|share|in|out of|average|each|per|a|an|every|fold|multiple)\b|%")  # fmt: skip


def derived(claim: Measure, text: str, given: Sequence[Measure]) -> bool:
    """Whether a figure follows from others by one step of arithmetic that the claim's words speak of:
    a sum, a difference, a rest, a change, a share."""
    value = claim.low
    if claim.low != claim.high or claim.dated or not value or len(given) > 40:
        return False
    same = [m.low for m in given if not m.dated and (m.kind == claim.kind or {m.kind, claim.kind} <= _UNCONVERTED - {"ratio"}) and m.low == m.high]  # fmt: skip
    if _SUMS.search(text) and any(_near(value, total, claim) for total in _totals(same)):
        return True
    if _GAPS.search(text) and _gap(claim, given, same):
        return True
    return bool(_TIMES_CUES.search(text)) and _ratio(claim, given)


def _totals(values: list[float]) -> Iterator[float]:
    for size in range(2, len(values) + 1):
        for at in range(len(values) - size + 1):
            yield sum(values[at : at + size])
    for i, one in enumerate(values):
        yield from (one + other for other in values[i + 2 :])


def _gap(claim: Measure, given: Sequence[Measure], same: list[float]) -> bool:
    value = claim.low
    for i, one in enumerate(same):
        for other in same[i + 1 :]:
            if any(_near(value, result, claim) for result in (abs(one - other), one + other)):
                return True
    ratios = [m.low for m in given if m.kind == "ratio"]
    points = [m.low for m in given if m.kind == "points"]
    if claim.kind == "ratio":
        worked = [100 - r for r in ratios if r < 100]
        worked += [r + sign * p for r in ratios for p in points for sign in (1, -1)]
        return any(_near(value, result, claim) for result in worked)
    if claim.kind == "points":
        return any(_near(value, abs(a - b), claim) for a in ratios for b in ratios if a != b)
    if claim.kind == "duration":
        years = [m.parts[0] for m in given if m.dated and m.parts[0]]
        return any(_near(value, abs(a - b) * _YEAR, claim) for a in years for b in years if a != b)
    return any(_near(value, one / (1 + sign * r / 100), claim) for one in same for r in ratios for sign in (1, -1) if r < 100)  # fmt: skip


def _ratio(claim: Measure, given: Sequence[Measure]) -> bool:
    value = claim.low
    if claim.kind not in ("ratio", "times"):
        plain_ones = [m.low for m in given if m.kind == claim.kind and m.low == m.high]
        shares = [m.low for m in given if m.kind == "ratio"]
        if any(_near(value, one * share / 100, claim) for one in plain_ones for share in shares):
            return True
        counted = [m.low for m in given if m.kind in ("", "count", "people") and m.low > 1]
        counted += [m.bare for m in given if m.kind == "duration" and m.bare > 1]
        return any(_near(value, one / n, claim) for one in plain_ones for n in counted if one != n)
    figures = [m for m in given if m.low > 0 and m.low == m.high and not m.dated]
    for one in figures:
        for other in figures:
            alike = one.kind == other.kind or {one.kind, other.kind} <= {"", "count", "people"}
            if one is other or not alike or other.low == one.low:
                continue
            share = one.low / other.low
            worked = (share,) if claim.kind == "times" else (100 * share, 100 * abs(share - 1))
            if any(_near(value, result, claim) for result in worked):
                return True
    return False
