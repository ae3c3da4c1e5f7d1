"""How good or bad the news of a headline sounds: a rough count of words, for when no model is asked.

It knows words and negation, no irony, no context and no side: a fall in prices is bad news in it,
whoever buys. Every result says that it is rough.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from research.hanzi import simplified
from research.records import Record, Tone
from research.text import HAN, stem

_GOOD_ZH = """
上涨 增长 回升 反弹 走强 创新高 新高 突破 盈利 扭亏 增收 丰收 提升 改善 好转 复苏 回暖 稳定 平稳 企稳 繁荣 利好 红利 受益 领先 领跑 夺冠 获奖 摘金
金牌 冠军 胜利 获胜 胜诉 晋级 成功 圆满 顺利 达成 签署 合作 共赢 支持 欢迎 点赞 好评 满意 喜爱 热销 火爆 畅销 畅通 通车 开通 启用 落成 竣工 建成 恢复
重启 重开 复工 复产 复航 解除 解禁 获批 批准 通过 创新 首创 领军 升级 优化 便利 便捷 免费 优惠 减税 减负 补贴 惠民 惠及 保障 保护 修复 守护 救出 获救
脱险 平安 安全 康复 治愈 痊愈 痊 出院 团圆 回家 释放 和解 停火 和平 缓和 降温 缓解 放宽 扩大 超预期 好于预期 达标 合格 优秀 卓越 先进 表彰 荣获 荣誉
信心 希望 乐观 看好 机遇 活力 强劲 旺盛 红火 亮眼 惊喜 美丽 幸福 健康 绿色 清洁 环保 节能 文明 捐赠 公益 暖心 感动 英雄 勇敢 致富 脱贫 振兴 崛起
"""
_BAD_ZH = """
下跌 暴跌 大跌 下滑 下降 走弱 跌破 亏损 巨亏 破产 倒闭 违约 爆雷 负债 裁员 失业 欠薪 停工 停产 停业 停运 停课 停电 关闭 取消 推迟 延误 滞留 中断 故障
事故 车祸 坠机 坠毁 相撞 追尾 侧翻 脱轨 沉没 爆炸 火灾 起火 山火 地震 洪水 洪灾 内涝 暴雨 暴雪 台风 泥石流 滑坡 塌方 坍塌 干旱 灾害 灾难 受灾 遇难 死亡
身亡 丧生 去世 逝世 病逝 受伤 重伤 伤亡 失踪 失联 被困 溺水 中毒 感染 疫情 确诊 病毒 污染 超标 泄漏 召回 缺陷 隐患 造假 欺诈 诈骗 骗局 谣言 虚假 违规 违法
犯罪 逮捕 被捕 刑拘 判刑 入狱 贪污 受贿 腐败 处罚 罚款 起诉 败诉 诉讼 调查 丑闻 争议 质疑 批评 谴责 抗议 抵制 投诉 不满 愤怒 恐慌 担忧 警告 预警 危机 风险
衰退 萎缩 短缺 紧缺 拥堵 涨价 宰客 乱象 恶化 冲突 战争 袭击 枪击 恐袭 绑架 杀害 制裁 封锁 威胁 紧张 破裂 失败 落败 惨败 出局 淘汰 不敌 不及预期 拒绝 否决
"""
_GOOD_EN = """
gain rise rally rebound surge soar jump climb grow growth boost record recover recovery improve improvement strong stronger strength profit profitable beat exceed win won winner
victory triumph champion gold medal award prize success successful succeed breakthrough milestone advance innovate innovation launch open reopen resume restore complete upgrade
expand approve approval clear pass agree agreement deal accord sign support welcome praise applaud celebrate honour honor popular bestseller boom thrive flourish lead leader
best better good great excellent outstanding impressive remarkable safe safely safety rescue save survive heal cure healthy free release reunite peace ceasefire truce ease calm relief relieve
hope hopeful optimism optimistic confident confidence opportunity benefit bonus reward subsidy discount cheaper affordable clean green sustainable renewable protect preserve
donate donation charity help aid hero brave kind happy joy delight enjoy love beautiful smooth stable steady settle resolve lift
"""
_BAD_EN = """
fall drop plunge tumble slump sink slip slide decline shrink lose loss deficit bankrupt bankruptcy default debt layoff sack unemployment strike shutdown close closure cancel delay
postpone halt suspend disrupt disruption outage blackout fault failure fail crash collision derail capsize explode explosion blast fire wildfire blaze earthquake quake flood storm
hurricane typhoon tornado landslide avalanche drought disaster catastrophe kill dead death die fatal toll injure injury hurt wound missing trap drown poison infect infection outbreak
virus disease pollute pollution contaminate leak spill recall defect flaw fraud scam fake false hoax illegal crime criminal arrest jail prison convict guilty bribe bribery corrupt
corruption scandal fine penalty sue lawsuit probe controversy criticise criticize condemn protest boycott complain complaint anger angry outrage fear panic worry concern warn warning
crisis risk recession shortage congestion worsen worst worse bad weak weaker conflict war attack shoot shooting bomb terror kidnap murder sanction threat threaten tension collapse defeat reject
refuse deny ban victim damage destroy hack breach cyberattack evict abuse miss slow slowdown cut
"""
_NOT_ZH = ("没有", "并未", "尚未", "未", "不再", "不会", "不", "无", "免于", "避免", "防止", "杜绝", "否认", "零", "解除", "走出", "摆脱")  # fmt: skip
_NOT_EN_WORDS = """
no not never without cannot deny denies denied avoid avoids avoided avert averts averted
prevent prevents prevented halt halts end ends ended lift lifts lifted
"""
_NOT_EN = frozenset(_NOT_EN_WORDS.split())
_WINDOW_EN = 2  # words
_WINDOW_ZH = 6  # characters


class Sentiment(Record):
    """`tone` by the words found; `balance` is good minus bad words, `words` are those that counted.

    `rough` is always true: it is how the result has to be shown.
    """

    tone: Tone
    balance: int
    words: tuple[str, ...] = ()
    rough: Literal[True] = True


def _table(*lists: tuple[str, int]) -> tuple[dict[str, int], re.Pattern[str]]:
    values = {word: value for words, value in lists for word in words.split()}
    longest = sorted(values, key=len, reverse=True)
    return values, re.compile("|".join(map(re.escape, longest)))


_ZH, _FIND_ZH = _table((_GOOD_ZH, 1), (_BAD_ZH, -1))
_EN = {stem(word): -1 for word in _BAD_EN.split()} | {stem(word): 1 for word in _GOOD_EN.split()}
_EN |= {stem(word): -1 for word in set(_BAD_EN.split()) & set(_GOOD_EN.split())}


@lru_cache(4_000)
def sentiment(headline: str) -> Sentiment:
    """The rough tone of one headline in Chinese or English, or in both."""
    text = simplified(unicodedata.normalize("NFKC", headline)).lower().replace("’", "'")
    counted = [*_chinese(text), *_english(text)]
    balance = sum(value for _, value in counted)
    return Sentiment(tone=_tone(balance), balance=balance, words=tuple(word for word, _ in counted))


def overall(headlines: Iterable[str]) -> Sentiment:
    """The tone of several headlines: each counts once, and a fifth more on one side decides."""
    tones = [sentiment(headline) for headline in headlines]
    good = sum(one.tone == "positive" for one in tones)
    bad = sum(one.tone == "negative" for one in tones)
    decided = abs(good - bad) * 5 > len(tones)
    words = tuple(dict.fromkeys(word for one in tones for word in one.words))
    return Sentiment(tone=_tone(good - bad) if decided else "neutral", balance=good - bad, words=words)  # fmt: skip


def _tone(balance: int) -> Tone:
    return "positive" if balance > 0 else "negative" if balance < 0 else "neutral"


def _chinese(text: str) -> list[tuple[str, int]]:
    out = []
    for run in re.finditer(f"[{HAN}]+", text):
        last = 0
        for match in _FIND_ZH.finditer(run[0]):
            before = run[0][max(last, match.start() - _WINDOW_ZH) : match.start()]
            denied = any(mark in before for mark in _NOT_ZH)
            out.append((match[0], -_ZH[match[0]] if denied else _ZH[match[0]]))
            last = match.end()
    return out


def _english(text: str) -> list[tuple[str, int]]:
    spoken = re.findall(r"[a-z]+(?:'[a-z]+)?", text)
    out = []
    for at, word in enumerate(spoken):
        value = _EN.get(stem(word.removesuffix("'s")), 0)
        near = spoken[max(0, at - _WINDOW_EN) : at]
        denied = any(other in _NOT_EN or other.endswith("n't") for other in near)
        if value and not (word in _NOT_EN and at + 1 < len(spoken) and _governs(spoken, at)):
            out.append((word, -value if denied else value))
    return out


def _governs(spoken: list[str], at: int) -> bool:
    """Whether a word such as "ends" turns a word behind it, and so has no tone of its own."""
    return any(stem(word) in _EN for word in spoken[at + 1 : at + 1 + _WINDOW_EN])
