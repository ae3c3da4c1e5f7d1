"""What words of headlines mean to each other: the same thing, the opposite, a name, nothing.

General lists of both languages, written by hand; no list of topics. Two headlines that use words of
one concept agree in it, which is also all that Chinese and English headlines are compared by.
"""

from __future__ import annotations

import re
from functools import lru_cache

from research.text import stem

# concept: spellings. English ones match every inflection of a word (by its stem).
_CONCEPTS = """
rise: 上涨 涨 攀升 走高 上升 增长 上调 提高 提升 增加 走强 上行 高开 收高 提价 涨价 飙升 大涨 收涨 回升 反弹 增至 升至 上扬 调升 涨幅 | rise climb jump surge gain increase grow soar rally rebound rose grew up raise raised higher boost hike advance
fall: 下跌 跌 下降 走低 回落 下滑 下调 降低 减少 缩减 走弱 下行 低开 收低 降价 暴跌 大跌 收跌 跌破 降至 下挫 调降 跌幅 降准 降息 破发 | fall drop slip decline plunge tumble sink slump cut down lower decrease shrink fell ease slow lose slide dip cuts reduce lowered
open: 开放 开园 开馆 开业 开通 启用 投用 通车 运营 投入使用 迎客 开门 开张 启幕 开幕 揭幕 投运 投入运营 投入运行 落成 | open inaugurate
reopen: 恢复开放 重新开放 重新 恢复 重启 复课 复工 复产 复航 恢复通车 恢复通行 重开 解封 | reopen resume restart restore reinstate
close: 关闭 闭园 闭馆 关门 停业 停运 停课 停工 停产 封闭 暂停 暂停开放 停航 停售 叫停 停办 停止 中断 闭幕 落幕 | close shut halt suspend closure shutter stop disrupt
end: 闭幕 落幕 结束 收官 谢幕 | end conclude finish wrap
begin: 开幕 启幕 开始 启动 揭幕 首发 开工 | begin start kick launch
die: 遇难 死亡 身亡 丧生 去世 逝世 病逝 离世 遇害 享年 死 | die death dead kill fatal perish killed dies dead toll
hurt: 受伤 伤者 负伤 送医 伤 | injure hurt wound injury
missing: 失联 失踪 | missing
rescue: 获救 救出 救援 营救 | rescue save
launch: 发布 推出 亮相 上市 来了 问世 首发 面世 开售 | launch unveil release introduce debut reveal
launch craft: 发射 升空 | liftoff blast-off
approve: 批准 核准 通过 获批 同意 放行 过会 | approve clear pass greenlight ok back endorse
reject: 否决 驳回 拒绝 不予 未获 叫停 | reject block refuse deny veto turn-down dismiss
win: 击败 战胜 力克 获胜 夺冠 胜诉 取胜 横扫 捧杯 摘金 胜 晋级 挺进 | win beat defeat won victory stun upset edge thrash beaten triumph winner
lose: 不敌 落败 失利 败诉 惨败 负于 出局 败 淘汰 | lose lost defeated knocked-out eliminated loss
draw: 战平 闷平 平局 握手言和 | draw tie
arrest: 逮捕 抓获 拘留 刑拘 被捕 落网 | arrest detain jail custody
free: 释放 获释 无罪 取保 | free release acquit bail freed
ban: 禁止 严禁 禁令 封禁 禁售 不得 限制 | ban prohibit outlaw forbid bar restrict
allow: 允许 准许 解禁 放宽 取消限制 松绑 | allow permit lift legalise legalize relax
confirm: 证实 确认 承认 | confirm admit acknowledge
deny: 否认 辟谣 不实 虚假 澄清 | deny dispute refute false rumour rumor
hire: 招聘 扩招 招募 增员 | hire recruit
lay off: 裁员 裁减 减员 | layoff axe lay sack redundancy
buy: 收购 买入 购买 增持 | buy acquire purchase acquisition
sell: 出售 卖出 抛售 减持 | sell divest sold
profit: 盈利 扭亏 净利润增 | profit
loss: 亏损 巨亏 净亏 | loss deficit
cancel: 取消 撤销 废除 中止 作罢 | cancel scrap abolish axe revoke drop
introduce: 实施 出台 推行 施行 征收 开征 加征 | introduce impose levy charge apply
recall: 召回 | recall
resign: 辞职 卸任 下台 辞去 | resign quit step-down
appoint: 任命 当选 就任 上任 出任 | appoint elect name
agree: 达成 签署 签约 握手 协议 | agree sign deal settle agreement
break off: 破裂 退出 中止谈判 | withdraw collapse walk-out
support: 支持 赞成 | support favour
oppose: 反对 抵制 | oppose boycott against protest
uphold: 维持原判 维持裁决 | uphold affirm
overturn: 推翻 撤销判决 改判 | overturn quash strike-down
keep: 维持 不变 按兵不动 | hold steady unchanged maintain leave
beat forecast: 超预期 好于预期 | exceed top surpass
miss forecast: 不及预期 低于预期 逊于预期 | miss
strengthen: 升值 走强 | strengthen appreciate
weaken: 贬值 走弱 | weaken depreciate
arrive: 登陆 抵达 来袭 到访 | landfall arrive ashore
strike: 袭击 | hit strike
leave: 撤离 离开 撤出 转移 疏散 | evacuate leave
delay: 推迟 延期 延后 暂缓 | delay postpone
early: 提前 | early forward
expand: 扩大 扩建 扩产 延长 | expand extend widen
narrow: 缩小 收窄 缩短 | narrow shorten contract
tighten: 收紧 加强 从严 | tighten
loosen: 放松 宽松 | loosen ease
shortage: 短缺 紧缺 不足 | shortage scarce
surplus: 过剩 盈余 | surplus glut
under control: 得到控制 扑灭 受控 | contained extinguished
worsen: 恶化 失控 加剧 蔓延 | worsen spread
improve: 好转 改善 企稳 | improve recover
quake: 地震 | earthquake quake tremor
fire: 火灾 起火 山火 失火 着火 | fire blaze wildfire
flood: 洪水 洪灾 内涝 | flood deluge
rate: 利率 | rate interest-rate
central bank: 央行 人民银行 | central-bank
tourist: 游客 旅客 | tourist visitor traveller traveler
share: 股价 股票 | share stock
job: 岗位 工作岗位 | job worker staff employee
price: 价格 票价 | price cost
vehicle: 汽车 车辆 轿车 | car vehicle
train: 列车 火车 动车 高铁 | train rail railway
found: 发现 | find discover found
say: 称 表示 通报 宣布 回应 发文 | say tell announce report state said told
plan: 拟 计划 将 | plan aim will intend
record: 历史新高 创新高 纪录 | record
largest: 最大 | biggest largest
power: 停电 电力 | electricity power outage
visit: 访问 访 出访 访华 到访 国事访问 | visit
talk: 会谈 谈判 磋商 | talk negotiation
consumer prices: cpi 居民消费价格 居民消费价格指数 通胀 | inflation cpi
producer prices: ppi 工业生产者出厂价格 | ppi
reserve ratio: 降准 存款准备金率 | rrr
museum: 博物馆 博物院 | museum
month on month: 环比 |
crash: 坠毁 坠机 侧翻 相撞 车祸 追尾 | crash collide derail collision
explosion: 爆炸 | explosion blast explode
corruption: 腐败 贪污 受贿 行贿 | corruption graft bribery
prison: 判刑 获刑 入狱 有期徒刑 | jail sentence prison
limit: 限流 限制 上限 限行 限购 | limit cap restrict curb
fine: 罚款 处罚 被罚 | fine penalty penalise penalize
tax: 税费 关税 税收 | tax levy fee
warn: 警告 预警 警示 提醒 | warn alert warning caution
investigate: 调查 立案 侦查 | probe investigate inquiry investigation
funding: 融资 | fund funding secure financing
chief: 总裁 首席执行官 掌门人 | ceo boss chief
former: 前任 原任 | former ex
sales: 销量 销售 卖出 销售额 热销 | sale
revenue: 营收 营业收入 净营收 收入 | revenue turnover
results: 财报 季报 年报 业绩 | earnings results
complete: 建成 竣工 完工 合龙 | complete completion
build: 建设 修建 兴建 | build construct
free of charge: 免费 免票 免门票 | free
visa: 免签 签证 | visa
heavy rain: 暴雨 强降雨 大雨 | rain downpour
fault: 故障 缺陷 隐患 问题 | fault defect failure
injunction: 禁令 | injunction
fireworks: 烟花 焰火 | fireworks
year on year: 同比 |
"""
# Pairs of concepts that say opposite things of one thing.
_OPPOSED = """
rise fall|open close|reopen close|end begin|approve reject|win lose|win draw|lose draw|arrest free|ban allow
confirm deny|hire lay off|buy sell|profit loss|introduce cancel|resign appoint|agree break off|agree reject
support oppose|uphold overturn|beat forecast miss forecast|strengthen weaken|delay early|expand narrow
tighten loosen|shortage surplus|under control worsen|improve worsen|keep rise|keep fall|launch cancel
approve ban|allow reject|rise loss|month on month year on year|introduce allow|win break off|win miss forecast
"""
# Words of which one replaces the other in headlines that are otherwise the same; no synonyms of either.
_COUNTERS = """
男 女|男子 女子|男篮 女篮|男足 女足|男单 女单|男双 女双|男排 女排|蓝色 黄色 橙色 红色|上半年 下半年|国内 国际|进口 出口|夏季 冬季 春季 秋季
早间 晚间|入境 出境|东部 西部 南部 北部 中部|华东 华南 华北 华中 西南 西北 东北|小学 中学 大学|新房 二手房|买入 卖出
现货 期货|批发 零售|首次 再次|上游 下游|南线 北线 东线 西线|一等奖 二等奖 三等奖|金牌 银牌 铜牌|冠军 亚军 季军
men women|man woman|boy girl|north south east west|northern southern eastern western|import export
summer winter spring autumn|domestic international|monthly quarterly annual weekly|gold silver bronze copper
men's women's|morning evening|amber red yellow green|inbound outbound|wholesale retail
male female|husband wife|son daughter|best worst|first second third fourth fifth|oldest youngest|buyer seller
crude gas|bull bear|eu uk us|senate house|profit revenue loss|upper lower
"""
NEGATIONS_ZH = ("没有", "并未", "尚未", "从未", "不再", "不会", "无意", "未", "不", "无", "非", "勿")  # fmt: skip
NEGATIONS_EN = frozenset({"not", "no", "never", "without", "cannot", "nobody", "neither", "nor"})

# Agencies whose pieces others print; the same agency under its names.
AGENCIES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("Xinhua", r"新华社|新华网|\bXinhua\b"),
        ("CCTV", r"央视新闻|央视网|央视财经|总台央视|中央广播电视总台|\bCCTV\b|\bCGTN\b"),
        ("China News Service", r"中新社|中新网|中国新闻网|中国新闻社|\bECNS\b|China News Service"),
        ("People's Daily", r"人民日报|人民网|People['’]s Daily"),
        ("The Paper", r"澎湃新闻"),
        ("Caixin", r"财新网|财新传媒|\bCaixin\b"),
        ("CLS", r"财联社"),
        ("Jiemian", r"界面新闻"),
        ("Reuters", r"路透社|路透|\bReuters\b|\(REUTERS\)"),
        ("AP", r"美联社|\bAssociated Press\b|\(AP\)|\bAP News\b|^AP$"),
        ("AFP", r"法新社|\bAFP\b|Agence France-Presse"),
        ("Bloomberg", r"彭博社|彭博|\bBloomberg\b"),
        ("Kyodo", r"共同社|\bKyodo\b"),
        ("Yonhap", r"韩联社|\bYonhap\b"),
        ("DPA", r"德新社|\bdpa\b"),
        ("TASS", r"塔斯社|\bTASS\b"),
        ("EFE", r"埃菲社|\bEFE\b"),
        ("PTI", r"\bPTI\b|Press Trust of India"),
        ("PA Media", r"\bPA Media\b|\bPress Association\b"),
        ("CNA Taiwan", r"中央社"),
    )
)
# Areas with what lies in them: a headline that names one may mean the other. / parts names of one.
_WITHIN = """
河北 石家庄 唐山 秦皇岛 邯郸 邢台 保定 张家口 承德 沧州 廊坊 衡水 雄安|山西 太原 大同 阳泉 长治 晋城 朔州 晋中 运城 忻州 临汾 吕梁
内蒙古 呼和浩特 包头 乌海 赤峰 通辽 鄂尔多斯 呼伦贝尔 巴彦淖尔 乌兰察布|辽宁 沈阳 大连 鞍山 抚顺 本溪 丹东 锦州 营口 阜新 辽阳 盘锦 铁岭 葫芦岛
吉林 长春 四平 辽源 通化 白山 松原 白城 延边|黑龙江 哈尔滨 齐齐哈尔 鸡西 鹤岗 双鸭山 大庆 伊春 佳木斯 七台河 牡丹江 黑河 绥化 漠河
江苏 南京 无锡 徐州 常州 苏州 南通 连云港 淮安 盐城 扬州 镇江 泰州 宿迁|浙江 杭州 宁波 温州 嘉兴 湖州 绍兴 金华 衢州 舟山 台州 丽水 义乌
安徽 合肥 芜湖 蚌埠 淮南 马鞍山 淮北 铜陵 安庆 黄山 滁州 阜阳 宿州 六安 亳州 池州 宣城|福建 福州 厦门 莆田 三明 泉州 漳州 南平 龙岩 宁德
江西 南昌 景德镇 萍乡 九江 新余 鹰潭 赣州 吉安 宜春 抚州 上饶|山东 济南 青岛 淄博 枣庄 东营 烟台 潍坊 济宁 泰安 威海 日照 临沂 德州 聊城 滨州 菏泽
河南 郑州 开封 洛阳 平顶山 安阳 鹤壁 新乡 焦作 濮阳 许昌 漯河 三门峡 南阳 商丘 信阳 周口 驻马店|湖北 武汉 黄石 十堰 宜昌 襄阳 鄂州 荆门 孝感 荆州 黄冈 咸宁 随州 恩施 神农架
湖南 长沙 株洲 湘潭 衡阳 邵阳 岳阳 常德 张家界 益阳 郴州 永州 怀化 娄底 湘西|广东 广州 深圳 珠海 汕头 佛山 韶关 湛江 茂名 肇庆 惠州 梅州 汕尾 河源 阳江 清远 东莞 中山 潮州 揭阳 云浮
广西 南宁 柳州 桂林 梧州 北海 防城港 钦州 贵港 玉林 百色 贺州 河池 来宾 崇左|海南 海口 三亚 三沙 儋州
四川 成都 自贡 攀枝花 泸州 德阳 绵阳 广元 遂宁 内江 乐山 南充 眉山 宜宾 广安 达州 雅安 巴中 资阳 阿坝 甘孜 凉山 泸定|贵州 贵阳 六盘水 遵义 安顺 毕节 铜仁 黔东南 黔南 黔西南
云南 昆明 曲靖 玉溪 保山 昭通 丽江 普洱 临沧 楚雄 红河 文山 西双版纳 大理 德宏 怒江 迪庆|西藏 拉萨 日喀则 昌都 林芝 山南 那曲 阿里
陕西 西安 铜川 宝鸡 咸阳 渭南 延安 汉中 榆林 安康 商洛|甘肃 兰州 嘉峪关 金昌 白银 天水 武威 张掖 平凉 酒泉 庆阳 定西 陇南 临夏 甘南 敦煌
青海 西宁 海东 玉树 果洛|宁夏 银川 石嘴山 吴忠 固原 中卫|新疆 乌鲁木齐 克拉玛依 吐鲁番 哈密 喀什 和田 伊犁 阿克苏 阿勒泰 石河子
日本 东京 大阪 京都 北海道 福冈|韩国 首尔 釜山|美国 华盛顿 纽约 洛杉矶 加州 得州 白宫|英国 伦敦 英格兰 苏格兰|法国 巴黎|德国 柏林 慕尼黑|俄罗斯 莫斯科|乌克兰 基辅|土耳其 安卡拉 伊斯坦布尔|意大利 罗马 米兰 威尼斯|西班牙 马德里 巴塞罗那|泰国 曼谷|印度 新德里 孟买|北京|上海|天津|重庆|欧洲|欧盟|亚洲|非洲|中东|中国|香港|澳门|台湾|越南|菲律宾|马来西亚|新加坡|柬埔寨|巴西|阿根廷|墨西哥|加拿大|埃及|伊朗|以色列|希腊|荷兰|瑞士|瑞典|挪威|芬兰|波兰|葡萄牙|印尼 雅加达 巴厘岛|澳大利亚 悉尼 墨尔本
japan/japanese tokyo osaka kyoto hokkaido|us/america/american/usa washington california texas florida|uk/britain/british/england/english london scotland
france/french paris|germany/german berlin munich frankfurt|russia/russian moscow kremlin|ukraine/ukrainian kyiv|turkey/turkish/turkiye ankara istanbul|italy/italian rome milan venice
spain/spanish/spaniard madrid barcelona|thailand/thai bangkok|india/indian delhi mumbai|indonesia/indonesian jakarta bali|australia/australian sydney melbourne canberra
china/chinese beijing shanghai shenzhen guangzhou|canada/canadian ottawa toronto|denmark/danish copenhagen|greece/greek athens|ireland/irish dublin|egypt/egyptian cairo
portugal/portuguese lisbon|switzerland/swiss geneva zurich|brazil/brazilian rio|mexico/mexican|netherlands/dutch amsterdam|belgium/belgian brussels|poland/polish warsaw|korea/korean seoul
vietnam/vietnamese hanoi|iceland/icelandic reykjavik|norway/norwegian oslo|sweden/swedish stockholm|austria/austrian vienna|philippines/philippine/filipino manila|malaysia/malaysian
nepal/nepalese kathmandu|chile/chilean santiago|peru/peruvian lima|kenya/kenyan nairobi|israel/israeli|iran/iranian tehran|saudi riyadh|eurozone/europe/european/eu brussels
finland/finnish helsinki|hungary/hungarian budapest|pakistan/pakistani|argentina/argentine buenos|colombia/colombian bogota|nigeria/nigerian lagos|singapore|taiwan/taiwanese taipei|mars/martian|moon/lunar
"""


def _lines(table: str) -> list[str]:
    return [line.strip() for line in re.split(r"[\n|]", table) if line.strip()]


def _concepts() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Spelling to concepts: Chinese words as they stand, English words by their stem."""
    zh: dict[str, set[str]] = {}
    en: dict[str, set[str]] = {}
    for line in filter(None, map(str.strip, _CONCEPTS.splitlines())):
        name, _, rest = line.partition(":")
        for word in rest.replace("|", " ").split():
            if word.isascii():
                en.setdefault(stem(word), set()).add(name)
            else:
                zh.setdefault(word, set()).add(name)
    return {k: frozenset(v) for k, v in zh.items()}, {k: frozenset(v) for k, v in en.items()}


def _opposed() -> frozenset[frozenset[str]]:
    names = sorted((line.partition(":")[0].strip() for line in _CONCEPTS.splitlines() if ":" in line), key=len, reverse=True)  # fmt: skip
    pairs = set()
    for line in _lines(_OPPOSED):
        first = next(name for name in names if line.startswith(name + " "))
        pairs.add(frozenset((first, line[len(first) + 1 :])))
    return frozenset(pairs)


ZH, EN = _concepts()
OPPOSED = _opposed()
_LONGEST = max(map(len, ZH))
COUNTERS: dict[str, frozenset[str]] = {}
for _line in _lines(_COUNTERS):
    for _word in _line.split():
        COUNTERS[_word] = COUNTERS.get(_word, frozenset()) | frozenset(_line.split()) - {_word}
_AREA: dict[str, frozenset[str]] = {}
for _line in _lines(_WITHIN):
    _whole, *_parts = _line.split()
    for _name in (_names := _whole.split("/")):
        _AREA[_name] = _AREA.get(_name, frozenset()) | {*_names, *_parts}
    for _part in _parts:
        _AREA[_part] = _AREA.get(_part, frozenset()) | {*_names, _part}
_SUFFIX = re.compile(r"(?<=..)(?:省|市|县|区|州|自治区|特别行政区|国)$")


@lru_cache(20_000)
def place(name: str) -> str:
    """A place by its short name: 四川省 is 四川."""
    return _SUFFIX.sub("", name)


def is_place(word: str) -> bool:
    """Whether the table of areas knows a name."""
    return place(word) in _AREA


def related(one: str, other: str) -> bool:
    """Whether two names of places may mean one: the same, one inside the other's name or area."""
    one, other = place(one), place(other)
    if one == other or (not one.isascii() and (one in other or other in one)):
        return True
    return other in _AREA.get(one, ())


@lru_cache(20_000)
def concepts(run: str) -> frozenset[str]:
    """The concepts of a run of Han characters, the longest spelling first, none inside another."""
    found: set[str] = set()
    at = 0
    while at < len(run):
        for size in range(min(_LONGEST, len(run) - at), 0, -1):
            if names := ZH.get(run[at : at + size]):
                found |= names
                at += size
                break
        else:
            at += 1
    return frozenset(found)


def english(word: str) -> frozenset[str]:
    """The concepts of one English word."""
    return EN.get(stem(word), frozenset())
