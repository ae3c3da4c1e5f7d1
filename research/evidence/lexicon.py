"""Words of both languages that say the same: how a Chinese sentence is held against an English one,
and how one wording of a thing is held against another.

General words written by hand, no list of topics. A line is one concept, named by its first English
word; English spellings match by their stems, those with a hyphen as neighbouring words. What is a
line of `_PLACES` is a name: a claim that has it needs it in its passage.
"""

from __future__ import annotations

from research.text import stem

_CONCEPTS = """
rise increase grow growth climb jump surge gain raise soar up higher lift expand boost rose grew risen grown widen 上升 上涨 增长 增加 提高 提升 上调 攀升 回升 走高 涨 增 扩大 增至 升至 多了 涨幅 增幅 增速 升高 加大
fall drop decline decrease reduce reduction cut lower down fewer slip ease shed plunge shrink slump tumble fell fallen narrow loss-of 下降 下跌 减少 降低 下调 回落 下滑 缩小 降 跌 降至 跌至 少了 降幅 跌幅 减 缩减 收窄 走低 降息 调低 降到
steady unchanged flat stagnate stagnant stable stagnation 维持 停滞 持平 不变 稳定 保持不变
accept acceptable welcome 接受 欢迎
praise applaud hail 称赞 赞扬 好评
criticise criticize criticism condemn 批评 指责 抨击
rare rarely uncommon seldom 罕见 少见 稀有
common frequent widespread usual 常见 普遍 频繁
cheap inexpensive affordable 便宜 廉价
expensive costly 昂贵 贵
succeed success successful 成功
fail failure failed 失败 未能
open 开放 开馆 开园 开业 开通 启用 通车 投用 营业 开门 对外开放 开启 开幕 inaugurate launch-service
close shut closure closed 关闭 闭馆 闭园 关门 停业 停运 停用 封闭 歇业 不开放
start begin launch began begun kick-off onset 开始 启动 开工 开启 动工 开展
end finish conclude ended expire 结束 终止 完结 截至 截止 落幕 闭幕 收官
free free-of-charge at-no-cost gratis pay-nothing nothing-to-use without-charge no-charge 免费 免票 不收门票 不收费 免门票 免收
charge toll 收费
pay cost fee price fare admission ticket expense 门票 票价 价格 费用 花费 费 收取 售价 支付 价 入场费 票 缴纳
allow permit let legal 允许 可以 可 准许 获准 准予 能 能够
ban prohibit forbid bar outlaw prohibition 禁止 禁令 严禁 不得 不准 不许 禁
win beat defeat victory triumph won beaten overcome clinch 击败 战胜 获胜 夺冠 赢得 胜 取胜 胜出 夺得 获得
lose defeated-by lost 不敌 落败 负于 输 失利 败给
draw tie level equalise equalize 战平 平局 扳平 drew-level drew
buy acquire purchase takeover acquisition bought 收购 购买 买 买入 购入 采购
sell sale sold 出售 销售 卖 售出 卖出 销量 销售额 出售给
import 进口
export 出口
profit net-income 利润 盈利 净利润 净利 赚
loss deficit 亏损 亏 亏钱 赤字
revenue turnover sales-revenue income-from 营收 营业收入 收入 营业额
income earn disposable-income 可支配收入 所得
spend expenditure spending outlay 支出 花 投入 开支 消费支出
invest investment 投资 投入
die death dead lost-their-lives lose-their-lives loss-of-life kill fatal fatality perish died killed 死亡 遇难 丧生 身亡 去世 死 死者 逝世
injure injury hurt wound 受伤 伤者 伤 负伤
missing 失踪 失联
rescue save 获救 救出 营救 救援
found establish set-up create founded founding 成立 创立 创办 设立 建立 创建 始建 建于
build construct construction erect built 建造 修建 兴建 建设 建成 建 建于 搭建 盖
complete completion finish-building completed 竣工 完工 完成 建成 落成
plan aim intend intention scheduled 计划 拟 打算 规划 将 预计 预期
expect forecast projection estimate predict project 预计 预测 预期 估计 有望
publish publication paper release issue 发表 发布 公布 出版 发行 披露
announce say state report tell said told declare claim according statement 表示 宣布 称 说 指出 透露 介绍 通报 报道 声明 消息
show find demonstrate reveal indicate found suggest 显示 表明 发现 说明 证明 结果
study research trial investigation 研究 试验 调查 研究报告 实验
researcher scientist academic 研究人员 科学家 学者 研究者
team group 团队 小组 组 一组
test examine 测试 检测 测验 检验
approve approval pass endorse adopt adopted approved 批准 通过 审议通过 同意 核准 获批
reject refuse veto deny denied 否决 拒绝 驳回 否认
amend revise amended revision revised 修订 修改 修正
law act statute legislation 法 法律 法案 立法 条例
efficacy effective effectiveness 有效 有效率 效力 疗效
take-effect come-into-force in-force implement 施行 实施 生效 执行
vote 投票 表决
elect election 选举 当选
government 政府
parliament congress legislature 议会 国会 人大
minister 部长 大臣
president 总统 主席 总裁 行长
chief-executive ceo chief boss 首席执行官 总裁 总经理 行政总裁
company firm corporation business 公司 企业 集团
bank 银行
central-bank 央行 中央银行
rate interest-rate 利率 率
deposit 存款
inflation consumer-prices 通胀 通货膨胀
tax levy duty 税 税收 税费 征税
exempt exemption waive 免征 豁免 免除
subsidy 补贴
budget 预算
debt 债务 负债
loan 贷款
market 市场
share stock equity 股份 股票 股权 股
economy economic 经济
trade 贸易
gdp gross-domestic-product 国内生产总值 生产总值
unemployment jobless 失业 失业率
job employment post 岗位 就业 工作岗位
worker employee staff workforce labour 员工 工人 职工 雇员 工作人员
employ hire recruit 雇用 聘用 招聘
lay-off dismiss redundancy 裁员
population inhabitant resident 人口 居民 常住人口
people person participant 人 人员 参与者 参加者
visitor tourist traveller traveler visit 游客 观众 参观者 访客 参观 到访 游览
passenger 乘客 旅客 客流
carry transport 运送 发送 运输 搭载
air airline aviation 航空 航空公司
wild 野生
panda giant-panda 大熊猫 熊猫
tariff 关税
cathedral-spire spire 尖顶
nurse 护士
shift 轮班 班次
library-book loan-book 借阅
child children kid 儿童 孩子 小孩 小朋友 幼儿
adult 成人 成年人
elderly senior older-people 老人 老年人 长者
student pupil 学生
teacher 教师 老师
woman women female 女性 女子 妇女 女子组 女
man men male 男性 男子 男子组 男
patient 患者 病人
doctor physician 医生 医师
hospital 医院
disease illness 疾病 病
cancer 癌症 癌
stroke 卒中 中风
heart cardiac 心脏
heart-attack 心脏病发作 心肌梗死 心梗
risk danger 风险 危险
drug medicine medication pill 药 药物 药品 该药
vaccine vaccination 疫苗 接种
dose 剂量
treatment therapy 治疗 疗法
symptom 症状
headache 头痛
placebo 安慰剂
blood 血 血液
salt sodium 盐 食盐 钠
salt-substitute 代用盐 低钠盐 低钠代用盐
diet eat intake consume 饮食 吃 摄入 摄入量 食用
food 食物 食品
home household cook 家庭 家 在家
cooking cook 烹饪 做饭
mortality death-rate 死亡率
health 健康 卫生
school 学校
university college 大学 高校 学院
museum 博物馆 博物院
gallery 美术馆 画廊
library 图书馆
exhibition exhibit display show-objects 展览 展出 展 展陈 陈列
object item piece artefact artifact relic 文物 展品 件 藏品
collection 收藏 藏品 馆藏
temple 寺 寺庙 庙
palace 宫 宫殿
park 公园 园区
garden 花园 园林
lake 湖 湖泊
river 河 江 河流
sea ocean 海 海洋
mountain mount mount peak summit 山 山峰 峰顶 山顶 登顶
island 岛 岛屿
forest wood 森林 林
beach coast 海滩 海岸
bridge 桥 大桥
tower 塔 塔楼
building 建筑 大楼 楼
station 车站 站
railway rail railroad 铁路
train 列车 火车 动车
high-speed-rail high-speed-railway 高铁 高速铁路
metro subway underground 地铁
bus coach 公交 巴士 公交车 客车
airport 机场
flight 航班
aircraft plane airplane airliner 飞机 客机
ship vessel boat 船 船舶 轮船
car vehicle automobile 汽车 车辆 轿车 新车 车
electric-vehicle ev electric-car new-energy-vehicle 电动汽车 电动车 新能源汽车
deliver delivery shipment 交付 交货 发货
road street highway 公路 道路 路 街道
traffic 交通
bicycle cyclist bike cycling cyclists 自行车 骑行 骑车
pedestrian on-foot walk walking hike hiking 行人 步行 徒步 走路
drive driving by-car 自驾 驾车 开车
cross crossing 穿越 通过 过桥
route line trail path 路线 线路 步道
journey trip travel 旅行 旅程 行程
hotel accommodation lodge 酒店 宾馆 住宿
restaurant 餐厅 餐馆 饭店
book reserve reservation booking 预约 预订 预定 订票
limit cap restriction restrict 限制 限流 上限 限额
season 季节 季
summer 夏季 夏天 暑期 暑假
winter 冬季 冬天
spring 春季 春天
autumn 秋季 秋天
morning 上午 早上 早晨 清晨
evening night 晚上 晚间 夜间 晚
weekday 工作日
weekend 周末
holiday vacation 假期 假日 节假日 长假
day daily every-day a-day each-day 每天 每日 天
year annual yearly every-year each-year a-year per-year 每年 年度
month monthly 月度 每月
last-year previous-year year-before year-earlier prior-year past-year 去年 上年 前一年 上年同期
this-year current-year 今年 本年
next-year 明年
year-on-year compared-with-last-year than-a-year-earlier 同比
month-on-month 环比
first-half 上半年 前六个月
per-capita per-person per-head 人均
total overall altogether whole 总 总计 合计 共 总共 共计
average mean median 平均 均值 中位数 均 日均 月均 年均
record 纪录 创纪录 历史最高
percentage share proportion 占比 比重 占 比例 份额
ratio 比值 比
gap 差距
margin gross-margin 毛利率
urban town townspeople 城镇 城市居民
rural countryside village 农村 乡村 村庄
national nationwide country 全国 国家 国
city municipality 城市 市
province 省
capital 首都
region area 地区 区域
world global worldwide international 世界 全球 国际 全世界 世界各地
world-heritage heritage 世界遗产 遗产 文化遗产
list inscribe added entry 名录 列入 入选 载入 名单
culture cultural 文化
history historic historical 历史
ancient old 古 古代 古老
dynasty 朝代 王朝
emperor 皇帝
war 战争
peace 和平
army military troops soldier 军队 部队 军方 士兵 军人
deploy send sent dispatch 部署 派出 派遣
police 警方 警察 公安
court 法院
judge ruling sentence 裁决 判决 判处
sue lawsuit take-to-court legal-action 起诉 诉讼 状告
fine penalty 罚款 处罚
crime criminal 犯罪 罪
arrest detain 逮捕 拘留 被捕
prison jail 监狱 入狱
licence license 许可 许可证 执照 牌照
extend extension prolong 延长 展期
delay postpone 推迟 延期 延误
cancel scrap abolish cancelled 取消 废除
suspend halt pause stop 暂停 停止 中止 叫停
resume reopen restore 恢复 重新开放 重启
replace substitute 取代 替代 代替 更换
remove 移除 拆除 清除
move relocate 搬迁 迁移
return come-back back 返回 回到 归来 带回 返 brought-back
leave depart departure 离开 出发
arrive reach arrival 到达 抵达 达到
pass fly flyby flew passed 飞过 飞越 掠过 经过
land landing 着陆 登陆
spacecraft probe craft 探测器 飞船 航天器
rocket 火箭
satellite 卫星
orbit 轨道
space 太空 航天 空间
moon lunar 月球 月 月面
far-side back-side 背面 月背
sun solar 太阳
earth 地球
mars 火星
star 恒星 星
sample 样品 样本
rock basalt 岩石 玄武岩
volcano volcanic eruption erupt 火山 喷发 火山活动
earthquake quake 地震
flood flooding 洪水 洪灾
fire blaze wildfire 火灾 大火 起火 山火
storm typhoon hurricane cyclone 风暴 台风 飓风
rain rainfall 雨 降雨 降水 雨水
snow 雪 降雪
ice glacier 冰 冰川
weather 天气
climate 气候
temperature 温度 气温
heat hot 热 高温
cold 冷 寒冷
surface 表面
speed 速度 时速
distance kilometres-away away 距离 距 相距
length long 长度 长 全长 总长
height high tall elevation altitude rise-above 高度 高 海拔
width wide 宽度 宽
depth deep 深度 深
area size floor-area cover 面积 占地 占地面积 建筑面积
weight weigh heavy 重量 重 体重
energy 能源 能量
power electricity 电力 电 电能 发电
capacity installed-capacity 装机 容量 装机容量 产能
renewable renewables 可再生能源 可再生
wind wind-power 风电 风力 风
solar-power photovoltaic pv solar-energy 太阳能 光伏 太阳能发电
hydropower hydro hydroelectric 水电 水力发电
nuclear nuclear-power 核电 核能 核
coal coal-power 煤 煤炭 煤电
oil crude petroleum 石油 原油 油
gas natural-gas 天然气 燃气
biomass 生物质
battery 电池
charging 充电
emission carbon-emission emit 排放 排放量
carbon 碳
pollution 污染
water 水
environment 环境
species 物种
animal 动物
plant 植物
bird 鸟 鸟类
fish 鱼
whale whaling fin-whale 鲸 捕鲸 鲸鱼 长须鲸
hunt hunting catch 捕猎 狩猎 捕捞
agriculture farming farm 农业 农场
farmer 农民
crop harvest 作物 收成
rice 大米 水稻
wheat 小麦
rent rental 租金 房租 租房
house housing home 住房 房屋 房
landlord 房东
contract agreement deal 合同 协议 合约
sign signed 签署 签订
product 产品
production produce output manufacture 生产 产量 制造 量产
factory plant-site 工厂 厂
technology tech technological 技术 科技
science 科学
computer 计算机 电脑
software 软件
internet online web 互联网 网上 网络 在线 线上
counter on-site 现场 窗口 柜台
phone smartphone mobile 手机 电话
chip semiconductor 芯片 半导体
artificial-intelligence ai 人工智能
model 模型 型号
data 数据
user 用户
customer client consumer 客户 顾客 消费者
service 服务
overseas abroad foreign 海外 境外 国外
domestic 国内 境内
fund 基金
sovereign-wealth-fund 主权基金 主权财富基金
return 回报 回报率 收益 收益率
asset holding 资产 持仓
shareholder 股东 股民
shareholder-contribution capital-contribution contribution 出资 出资额 缴足 缴清
unlisted 未上市
listed listing ipo go-public 上市
infrastructure 基础设施
real-estate property 房地产 地产 房产
dollar 美元
sport 体育 运动
football soccer 足球
basketball 篮球
marathon 马拉松
match game 比赛 赛事
race run runner 赛跑 起跑 参赛
athlete player competitor 选手 运动员 球员
champion title champion championship 冠军 夺冠
final 决赛
cup european-championship 杯 欧洲杯
goal score scored 进球 得分 破门
team side 队 球队
coach 教练
medal 奖牌
gold 金 金牌 黄金
silver 银 银牌
olympic olympics 奥运会 奥运
tournament 锦标赛 赛会
prize award 奖 奖项 颁奖
name named appoint appointed 任命 评为 被评为
film movie 电影 影片
box-office 票房
current present now nowadays at-present 目前 现在 当前 现有
container teu 集装箱 标准箱 标箱
huangshan-mountain huangshan 黄山
peak-season high-season 旺季
low-season off-season 淡季
senior-card identity-card 身份证
monetary-yield yield 产生 带来
workforce-cut layoff 裁员
music concert 音乐 演唱会
book novel 书 小说
author writer 作者 作家
painting paint 绘画 画
artist 艺术家
art 艺术
design designed designer 设计
architect architecture 建筑师 建筑设计
language 语言
chinese-language mandarin 中文 汉语
english-language 英语 英文
website site 网站 官网
newspaper press media 报纸 媒体
video 视频
photo picture image 照片 图片 图像
large big huge great 大 巨大 大型
largest biggest 最大
small little 小 小型
smallest 最小
highest tallest 最高
lowest 最低
longest 最长
oldest earliest 最早 最古老
fastest 最快
closest nearest closer 最近
most majority mostly largely 多数 大多 大部分 主要 大多数
first first-time initial 首次 首个 首款 首座 第一 首 首位 第一次 首条 首家
last final-time latest 最后 最新
only sole 唯一 仅 只有 只
new newly 新 新的 新馆 全新
main major principal 主要 主
also as-well too 也
many numerous 许多 很多 众多
all every everybody everyone entire 所有 全部 一切 全体
some several 一些 部分 若干
half 一半 半数 半
around circle lap loop 环 绕 一圈 一周 沿 环湖
locate located lie situated stand site-in 位于 坐落 地处
west western 西 西部
east eastern 东 东部
north northern 北 北部
south southern 南 南部
centre center central 中心 中央 中部
near close-to nearby 附近 靠近 邻近
entrance entry enter admission-to 入口 进入 入馆 入园 入场
exit 出口处
transfer change-trains 换乘 转乘
direct directly 直达 直接
minute 分钟
hour 小时
week 周 星期
advance in-advance ahead beforehand 提前
before earlier prior 之前 以前
after later following 之后 以后
since 自从 以来
until till 直到 至 到
during while 期间
need require must have-to requirement 需要 须 必须 要求 需 应 要 应当
may might could possibly possible perhaps 可能 或 也许 或许
will shall going-to 将 会 将会
recommend suggest-that advise advice 建议 推荐
warn caution warning 警告 提醒 告诫
promise commit pledge commitment pre-commit 承诺 保证
reason because cause due driven owing thanks 原因 因为 由于 得益于 导致 造成
result consequence outcome 结果 成果
problem issue-of 问题
change alter modify 改变 变化 变更
develop development 发展 开发
improve improvement better 改善 改进 好转
affect effect impact influence 影响 效果 作用
support back 支持
oppose opposition 反对
agree 同意 一致
protect protection conserve conservation 保护
attack strike 袭击 攻击
threat threaten 威胁
help aid assist 帮助 援助
use usage apply used 使用 利用 采用 应用
provide offer give supply 提供 供应
receive get obtain 收到 获得 得到
hold held host take-place place staged played 举行 举办 召开 进行
join participate attend take-part 参加 加入 参与 出席
lead leader head 领导 领先 负责人
own owner owned 拥有 所有者 持有
work 工作
live life 生活 居住
age aged 年龄 岁
young youth 年轻 青年
family 家庭 家人
name called 名称 名为 名字 称为
number figure count quantity 数量 数字 人数
level 水平 级别
price-rise inflation-rate 物价 涨价
exclude excluded leave-out not-included 排除 不包括 没有纳入 未纳入 不含
include contain comprise included 包括 包含 纳入 含 其中
compare compared comparison 相比 比较 较
slow slower slowest 慢 缓慢 放缓
fast quick rapid 快 快速 迅速
easy simple 容易 简单
difficult hard 困难 难
safe safety 安全
strong strength 强
weak 弱
high-blood-pressure hypertension 高血压
activity active 活动 活跃
date dating dated 测年 年代
operate operation trial-operation run-by 运营 运行 试运行 经营 运作
station-power power-station power-plant 电站 发电厂
measure policy 措施 政策
committee commission 委员会
department ministry agency office authority bureau 部门 部 局 机构 办公室 当局
statistics statistical 统计 统计局
organisation organization 组织 机构
union 联盟 工会
foundation 基金会
institute institution academy 研究所 研究院 科学院
professor 教授
expert specialist 专家
heritage-site site 遗址 景区 景点
tourism 旅游 旅游业
ticket-office 售票处
storey floor floors 层 楼层
room 房间 间
seat 座位 座席
member 成员 会员
border 边境 边界
port harbour harbor 港口 港
canal 运河
dam reservoir 大坝 水库
tunnel 隧道
wall 城墙 墙
gate 门 大门
square plaza 广场
church cathedral 教堂 大教堂
castle fortress 城堡 要塞
tomb grave mausoleum 墓 陵墓 陵
statue sculpture 雕像 雕塑
survive intact unharmed safe-and-sound 幸存 完好 存活
guide guided 导游 向导
permit permit-holder 许可证 通行证
climb climber climbing ascent 攀登 登山 爬
camp camping 营地 露营
shop store 商店 店
restaurant-meal meal 餐 用餐
tea 茶
wine beer alcohol 酒 啤酒
coffee 咖啡
fruit 水果
sugar 糖
sleep 睡眠 睡觉
exercise physical-activity 锻炼 运动量
smoking smoke tobacco 吸烟 烟草
obesity obese overweight 肥胖 超重
diabetes diabetic 糖尿病
infection infect virus 感染 病毒
brain 大脑 脑
gene genetic dna 基因
cell 细胞
light 光 灯
sound noise 声音 噪音
colour color 颜色
stone 石 石头
wood timber 木 木材
iron steel 铁 钢铁 钢
copper 铜
bronze 青铜 青铜器
jade 玉 玉器
silk 丝绸
script screenplay 剧本
director direct-film 导演 执导
paper-sheet 纸
glass 玻璃
plastic 塑料
waste garbage rubbish trash 垃圾 废物 废弃物
recycle recycling 回收 循环利用
refund 退款 退票
insurance 保险
pension retirement retire 养老金 退休
wage salary pay-level 工资 薪资 薪水
strike-action strike walkout 罢工
protest demonstration 抗议 示威
visa visa-free 签证 免签
passport 护照
immigrant migrant immigration 移民
refugee 难民
king queen monarch royal 国王 女王 王室
prime-minister premier 总理 首相
mayor 市长
governor 州长 省长
party political 党 政党 政治
talks negotiation negotiate 会谈 谈判
treaty pact 条约
sanction 制裁
weapon 武器
nuclear-weapon 核武器
""".strip()

# Words that mean nearly the same as the concepts above, or as one another: near enough to speak of one
# thing, not to say that one stands where the other should.
_MORE = """
rise accelerate escalate mount swell advance-by upturn uptick edge-up pick-up went-up inflate multiply rally 激增 大增 增多 递增 走升 扩张 扩 壮大 上扬 抬升 大涨 跳升 飙升 增添 新增 多出
fall shrank shrunk dwindle diminish lessen decelerate contract contraction retreat sink sank subside weaken wane dip slid slide halve curtail trim went-down less-than lessened shorten downturn worsen-by 锐减 减弱 缩短 骤降 大跌 缩水 萎缩 减至 裁减 削减 压缩 变少 更少 滑落 下探 走弱
above-normal above-average 偏多 偏高
below-normal below-average 偏少 偏低
steady constant level-off hold-steady unaltered unmoved as-before same-as 平稳 没变 不动 照旧 如常
accept consent acquiesce tolerate 认可 接纳
praise commend laud tribute congratulate 赞赏 肯定 表扬
criticise fault rebuke denounce blast slam lambast complain complaint 抱怨 投诉 谴责 不满 非议
rare scarce infrequent unusual few-and-far-between sparse 稀缺 稀少 少数 很少
common commonplace prevalent routine ordinary typical normal regular 常规 平常 通常 普通 日常
cheap low-cost low-priced economical budget-priced 低价 实惠 便宜
expensive pricey dear high-priced overpriced 高价 不菲 贵重
succeed pay-off work-out manage-to 成 顺利 奏效
fail fell-short break-down collapse founder miss unsuccessful 失效 倒闭 崩溃 垮 没能
open unveil reopen opening came-into-use go-live public-access 开张 揭幕 开业 上线 投入使用 开放给 通航 开航
close shutter shutdown wind-up off-limits sealed 封锁 关停 关掉 关上 封
start initiate commence embark introduce introduction undertake roll-out rollout set-off trigger opening-of debut premiere came-into-being 着手 发起 推出 引入 上演 首发 开播 开建 起步 破土
end cease stop-doing terminate termination wrap-up over conclude close-out ran-out last-until finale 完 停 终结 到期 告终
free complimentary without-paying 免 无需付费 不花钱 不要钱 不用买票 免票
pay shell-out cough-up remuneration payment afford compensate compensation reimburse damages 付 给钱 赔偿 赔付 支付给 偿付 掏
allow enable authorise authorize authorisation authorization entitle grant clear-to permission may-use let-in 许可 授权 放行 可供 放开
ban forbidden block preclude disallow illegal unlawful stay-out barred keep-out 取缔 违法 非法 限制进入 封禁
win secure clinch outdo outperform prevail champion-of won-out succeed-against 拿下 摘得 问鼎 胜诉 斩获
lose forfeit miss-out suffer-defeat losing 丢 丧失 丢失 失去 败
buy procure snap-up purchaser buyer take-control 买下 购置 入手 购得 买进 买主 买家
sell vend dispose-of offload divest seller retailer 出让 售 甩卖 转让 发售 开卖
profit earnings net-earnings surplus gain-of 盈余 收益额 净赚
loss shortfall negative red-ink 损失 赔钱
revenue takings proceeds sales-of receipts took-in 进账 营业额 票款
income earner wage-earner 薪金
spend outlay disburse disbursement 耗资 斥资 开销 花掉 用掉 耗费
invest investor pour-into put-money financing fund-raising stake backer 出资 融资 注资 投资者 投资方 入股
die decease killing casualty victim death-toll pass-away claim-the-lives slain slay mortal dead-body 死 丧命 身故 死亡人数 罹难
injure maim harm hurt-in casualty-list 受害 伤亡 伤害
rescue pull-out evacuate evacuation retrieve saved 疏散 撤离 搜救 解救
found establishment originate inception form formed set-up-in born founder 创始 成立于 组建 创始人 开办 诞生
build construct rebuild construct-of put-up assemble assembly lay-out 筹建 新建 搭 施工 造 建成于 架设
complete finalise finalize finalised conclude-work done ready wrapped 搞定 做完 完毕
plan propose proposal blueprint scheme envisage design-to prepare preparation mean-to set-to want want-to 方案 想要 蓝图 设想 准备 筹备 拟定
expect anticipate foresee foresaw outlook prediction reckon think believe consider likely-to 料 预料 推测 估算 认为 判断 看好
publish print-in bring-out came-out put-out post posted 刊登 发布于 公开 登载 刊发 推出
announce inform notify disclose disclosure unveil-plans mention remark comment argue assert maintain insist explain note add-that spokesman spokeswoman spokesperson acknowledge admit confirm describe call reply respond answer statement-by testify write wrote tweet 称 强调 回应 解释 承认 确认 告诉 认为 坦言 谈到 提到 通知 公告 宣称 发言人
show display-that prove proof point-to evidence confirm-that exhibit detect identify identified discover discovery spot uncover unearth 证实 发掘 找到 查明 检出 显现 展现 揭示 鉴定 探测到
study survey analysis analyse analyze inquiry probe-into examination experiment experimental research-project poll questionnaire review assessment assess evaluate 论文 分析 考察 评估 考古 问卷 民调 抽样 抽检 研判
researcher investigator analyst biologist physicist archaeologist economist scholar expert-in 分析师 专家 研究员 学界 考古学家
team crew squad panel 队伍 班子
test check-up inspect inspection examine screening screened trial-run 检查 检验 抽查 筛查 试 试用
approve ratify green-light greenlight sanction-to clear okayed endorse authorise back-up rubber-stamp go-ahead nod 放行 获得通过 核定 准许 签批
reject dismiss turn-down rebuff throw-out threw-out decline-to oppose-to strike-down overrule quash vote-down 不予 回绝 推翻 撤销
amend overhaul reform modify-law update change-to 改革 调整 更新 修改为
law rule regulation legal-text ordinance decree code directive bill legislate regulator 规定 法规 规章 规则 办法 监管
vote ballot referendum poll-on cast 公投 表态
elect voted-in polls candidate 竞选 候选人 参选
government state authorities ministerial cabinet administration official public-sector 当局 官方 内阁 政府部门 官员
parliament lawmaker legislator senate house-of mp assembly council councillor 议员 参议院 众议院 市议会 立法会
minister secretary 国务卿
company business enterprise corporate group-of manufacturer maker producer provider operator chain startup start-up industry-player brand subsidiary conglomerate industrial 厂商 厂家 制造商 品牌 商家 生产商 供应商 运营商 子公司 经营者 单位
bank lender banking 银行业 贷款机构
tax levies taxation surcharge excise 附加费 赋税
subsidy grant-aid handout support-payment incentive 补助 津贴 资助
debt owe borrow borrowing liability bond 借款 欠 欠款 债券
loan lend credit mortgage 信贷 房贷 按揭
job position vacancy role occupation career profession staff-post 职位 职业 工作机会 就业机会
worker labourer laborer personnel workmen colleague hand-in staffer 工 劳动者 人手 职员 从业者
employ take-on engage recruitment hiring 雇 招 招募 吸纳
lay-off fire dismissed axe shed-jobs job-cut job-losses 解雇 开除 裁撤
population citizen people-living populace local dweller residence 民众 市民 住户 当地人 百姓 村民
person individual human folk someone resident-of public 民众 公众 群众 人们 个人 人类
visitor guest holidaymaker sightseer spectator attendee crowd audience attend 客人 来客 人流 观光客 听众 宾客
passenger rider commuter traveller-on ridership ride 乘坐者 通勤者 搭乘 乘坐
carry haul ferry shuttle convey ship-to freight cargo goods 货物 货运 载 装载 运力 货
child pupil-age minor infant baby toddler youngster newborn under-age boy girl teenager adolescent juvenile 未成年人 婴儿 少年 青少年 娃 男孩 女孩
elderly pensioner aged-people old-age aging ageing 高龄 退休者 银发
student undergraduate schoolchild learner trainee 学员 毕业生 中学生 大学生
teacher lecturer tutor educator instructor 讲师 导师
woman 雌性 雌 lady girl mother 妇 母亲
man 雄性 雄 gentleman father 父亲
patient sufferer sick ill people-with case 病患 病例
doctor medic surgeon clinician gp practitioner 大夫 外科医生
hospital clinic infirmary medical-centre 诊所 医疗机构 卫生院
disease condition disorder ailment sickness epidemic outbreak pandemic malady 疫情 病症 病毒性 流行病
risk hazard peril probability chance likelihood odds vulnerable exposure 隐患 概率 几率 可能性
drug pharmaceutical tablet remedy compound antibiotic 药剂 制剂 用药
vaccine jab inoculate inoculation immunise immunisation immunize shot 打针 免疫
treatment treat therapeutic cure surgery operation procedure care 手术 医治 诊治 护理
diet ate eating consumption feed nutrition nourish 膳食 喝 喂 进食 营养
home dwelling residence residential house apartment flat household-of domicile 住所 居所 住户 公寓 住宅
health wellbeing medical sanitary medicine-of hygiene healthy 医疗 保健
school classroom education educational 教育 课堂 学堂
university campus academic-institution higher-education 院校 校园
exhibition show-of exhibited on-show on-display 参展 展会 展品展
object artifact-of goods-item thing remains find-of antiquity treasure 器物 宝物 遗物 物品
collection hold-in archive repository 典藏 档案
park reserve-park national-park 国家公园 保护区
lake pond lagoon 池 潭
river stream waterway creek 溪 水道 河流
sea marine maritime offshore ocean-going seabed underwater coastal 海上 海域 海水 海底 近海 沿海
mountain hill slope alpine 山峰 山岳 丘陵 高山
island isle islet archipelago 岛屿 群岛
forest woodland tree trees jungle rainforest 树 树木 林地 雨林 林木
building structure premises edifice construction-of skyscraper facility 设施 场馆 建筑物 楼宇 馆舍
station stop terminal hub depot 车站 站点 枢纽 终点站
railway track tram tramway light-rail train-line 轨道 铁道 有轨电车
train locomotive carriage 车厢 班列
aircraft jet airliner drone helicopter aeroplane 战机 无人机 直升机
ship ferry-boat tanker freighter cruise vessel-of fleet 货轮 邮轮 渔船 舰 船只 舰队
car motor motorist motorcar truck lorry van automotive driver 卡车 货车 车主 司机 整车
deliver hand-over handed-over distribute distribution supply-of 送达 配送 派送 交给 发放 分发
road motorway expressway carriageway lane alley path-way avenue 高速公路 车道 巷 胡同 街
route itinerary course corridor track-of 航线 通道 走廊 路径
trip voyage tour excursion outing ride-to 出行 行 出游 游
hotel inn resort hostel guesthouse lodging 民宿 旅馆 客栈 客房
restaurant cafe diner eatery canteen 食堂 饮食店
book pre-book reserve-in preorder sign-up register registration enrol enroll 登记 报名 注册 挂号 实名
limit ceiling maximum curb restrict threshold quota cap-on constraint 上限为 最多 门槛 配额 限 管制 约束 限购
morning dawn early-hours a.m 凌晨 早
evening dusk overnight nightfall nightly 夜 傍晚 夜里 夜场
weekend saturday-and-sunday 周六日 双休日
holiday festive festival break vacations leave-days 黄金周 春节 国庆 节日
year yearly-basis twelve-month 全年 年份 一年
last-year a-year-ago twelve-months-earlier preceding-year 同期 前年 上一年
year-on-year on-the-year annual-basis from-a-year-earlier compared-with-a-year-earlier 较上年 比上年 比去年
average typical-of per-unit 平均每 均价
total sum combined aggregate-of overall-number in-all in-total 总额 总量 总数 共计 总和 一共 总体
record all-time-high all-time unprecedented never-before highest-ever milestone 新高 最高纪录 破纪录 史上最
percentage portion part slice fraction proportion-of rate-of pct 部分 比率 成 百分比
gap difference disparity discrepancy differential 差异 差别 悬殊 差额
urban metropolitan municipal city-dweller inner-city 都市 市区 城区
rural countryside-of farmland remote 乡下 偏远 山区 田间
national nation state-wide across-the-country countrywide 全境 举国 国内
city town metropolis capital-city municipal 都会 城 市镇
region district zone territory part-of area-of quarter neighbourhood neighborhood county locality local-area site location place-of 区 片区 地带 领域 地点 场地 当地 地方
world planet-wide globe globally planet humanity cross-border multinational 地球上 跨国 国际社会
list register-of roster catalogue catalog index ranking rank 目录 清单 排名 榜单 位居 位列 排
history past historian centuries-old historically 历史上 史 过去 以往
ancient antique prehistoric archaeological old-age-of medieval mediaeval bygone 古迹 远古 史前 中世纪
war conflict fight battle fighting combat hostilities warfare 战 冲突 战斗 交战 开战
army navy forces fighter armed-forces 海军 空军 兵
deploy station-in assign dispatch mobilise 调派 派 投放
police officer constable law-enforcement detective 执法 民警 警员 执法人员
court tribunal judge judicial judiciary bench justice magistrate judges 法官 司法 大法官 法庭
judge verdict decide decision determine hold-that find-that found-that ruled resolve resolution conclude-that conclusion 裁定 判定 决定 判 认定 结论
sue prosecute prosecution claim-against litigation litigate take-legal case-against 控告 打官司 案 官司 诉
fine fined punish punishment penalise penalize 处分 惩罚 罚 罚金
crime offence offense wrongdoing offender criminality fraud theft poach poaching 违法者 罪行 诈骗 盗窃 犯案 违规
arrest apprehend custody seize capture in-custody caught 抓获 羁押 扣押 抓 落网
prison imprison jailed incarcerate behind-bars inmate detention 坐牢 服刑 囚 关押 监禁
licence certificate accreditation authorisation-for 证书 资质 证件 证照
extend lengthen stretch continue renew renewal carry-on go-on keep-going stay-on 延 续 延续 延至 续签 继续 持续
delay put-off push-back defer deferral behind-schedule late held-up lag 晚点 拖延 延后 迟 滞后 推后
cancel call-off scrapped drop-plan revoke withdraw withdrawn withdrawal annul rescind discontinue lift-ban 撤回 撤 作废 解除 放弃 废止
suspend freeze pause-in interrupt interruption disrupt disruption break-off shut-down-temporarily 停摆 中断 冻结 搁置 停课 停工
resume restart reinstate recover recovery rebuild-of restoration return-to back-in-service 复工 重开 恢复运行 重新开始 修复 复苏 重建
substitute swap exchange switch stand-in successor 换 换成 改用 更替 接替 改为
remove take-away eliminate dismantle demolish demolition tear-down erase clear-away get-rid 拆 去除 清理 拆掉 移走 消除
move shift transfer-to relocate-to resettle migrate migration transferred relocation 转移 迁 搬 移 迁徙 迁到 移至
leave quit exit-from resign step-down pull-out flee depart-from evacuate-from go-away 离 辞职 退出 卸任 离任 逃离 离职
arrive come came reach-in enter-in show-up turn-up 来到 抵 到达于 到 来
rocket launcher launch-vehicle missile 导弹 运载
sun sunlight sunshine 日 阳光
earth globe planet 行星 星球
star stellar constellation galaxy astronomical astronomer 天文 星系 脉冲星
rock mineral ore boulder 矿 矿石 岩
volcano lava magma 熔岩 岩浆
earthquake tremor seismic aftershock 余震 震 震级
flood deluge inundate inundation submerge 淹 水灾 内涝
fire burn blaze-of flame burned arson burning 烧 着火 火 燃烧 烧毁
storm gale hurricanes tornado tempest monsoon 暴雨 雷暴 飓 暴风
rain wet precipitation downpour shower 降雨量 暴雨 雨量 雨天
drought dry arid aridity 干旱 旱
weather meteorological climatic forecast-of 气象 天候
temperature thermometer degrees-of warmth warm warmer warming 升温 温 变暖 暖
heat heatwave sweltering scorching 热浪 酷热 炎热
cold chill freezing frost cool cooler 冻 寒潮 凉
speed pace velocity how-fast 速率 速
distance far away-from mileage range 里程 航程 远
height altitude-of stature metres-tall elevation-of 高约 海拔高度 升到
depth deep-down 深
area footprint-of surface-area acreage spread-over span 面积约 跨越 覆盖
weight tonnage mass-of heavy-duty 质量 总重
energy fuel power-use 燃料 能耗
power grid electrical electric generation generate generating utility generator 供电 用电 发电 电网 电厂
capacity throughput volume accommodate hold-up-to 吞吐量 容纳 承载 库容
emission greenhouse greenhouse-gas exhaust carbon-dioxide co2 discharge 温室气体 尾气 碳排放 二氧化碳
pollution pollute contaminant contaminate contamination dirty toxic smog residue 污 毒 雾霾 残留 超标
water drinking-water aquatic tap-water groundwater 饮水 用水 水源 水体 潮水
environment ecological ecology environmental environmentalist green biodiversity conservationist 生态 环保 绿色 环保人士
species kind-of-animal taxon 种类 种
animal wildlife mammal creature beast fauna 兽 动物们 野兽 哺乳动物
plant flora vegetation crop-plant shrub grass 植被 草 花
bird fowl flock poultry 禽 候鸟
fish fishery fishing fisherman trawler seafood 渔 渔业 捕鱼 鱼类 水产
hunt hunter poacher trap trapping shoot-animals 盗猎 偷猎 猎
agriculture agricultural farmed cultivate cultivation grow-crops rural-economy 种植 耕作 栽培 务农
farmer grower herder rancher breeder peasant 种植户 农户 养殖户 牧民 农场主
livestock cattle cow pig sheep herd dairy beef 牛 猪 羊 牲畜 家畜 畜牧
crop yield-of grain cereal harvested produce-of 粮食 粮 庄稼 谷物 产粮
rent lease tenancy tenant let-out lessee 租 承租 租客 租户 租约
house apartment-block residential-building condominium homeowner 楼房 公寓楼 商品房 楼盘
contract accord arrangement pact-of treaty-of bargain memorandum 协定 契约 备忘录 约定
sign ink conclude-a-deal initialled signatory 签 签字 签约
product goods commodity merchandise item-of 商品 货品 产品线
production make made making turn-out churn-out fabricate manufactured maker-of 制 制成 造 产 出产 投产
factory mill workshop plant-in works assembly-line 车间 生产线 工坊
technology technique technical method digital innovation innovative 方法 工艺 数字化 创新 技巧
computer laptop machine server robot robotic automate automation automatic 机器 机器人 自动化 自动 设备
equipment device apparatus instrument machinery gadget tool kit gear 器材 仪器 装置 装备 工具 机
internet digital-platform web-based virtual cyber app application platform 平台 应用 小程序 软件平台
phone telephone handset call text-message sms message texting 短信 讯息 消息 通话
data statistic figures-from dataset information info number-of-data 信息 资料 统计数据 数值
customer shopper client-of patron purchaser subscriber diner clientele buyer 客 用户群 消费
overseas international-market foreigner offshore-market export-market outside-the-country 外国 国际 外籍 海外市场
asset wealth holding-of estate 资金 财产 财富
fund finance money financial monetary fund-of cash 钱 金融 财政 款 现金 资金
shareholder stockholder investor-in 投资人
real-estate housing-market land 楼市 土地 地
sport sporting athletic sports 竞技 体坛
match fixture tie-against contest competition compete game-of tournament-match 赛 场 竞赛 比拼
race sprint relay runner-of racing racer 赛跑 赛车 跑
athlete sportsman sportswoman swimmer cyclist-in footballer competitor-of 运动员们 球手 泳将 健将
champion winner title-holder crown gold-medallist victor first-place 得主 赢家 第一名 卫冕
goal scorer net-in point-scored strike-home 打进 入球
team club national-team 俱乐部 球会
coach manager-of trainer 主帅 教头 教练员
prize honour honor accolade trophy laureate 荣誉 奖杯 获奖
name nominate choose chose pick select selected chosen selection election-as designate 提名 选 选择 选定 推选 选为
film cinema picture-film screen movie-theatre series tv television broadcast show-on 电视 电视剧 播出 影院 节目 影视
music musical song singer band orchestra album symphony 歌 歌曲 歌手 乐队 音乐家
author novelist poet written-by playwright 诗人 写 撰写 小说家
painting canvas portrait drawing fresco mural 壁画 油画 画作
artist painter sculptor creator 画师 画家
language tongue dialect linguistic translate translation speech 方言 翻译 译 语
newspaper journalist reporter broadcaster magazine journal outlet daily-paper 记者 杂志 期刊 电台
photo photograph snapshot shot-of camera imagery 摄影 拍 拍摄 相机
large sizeable sizable substantial significant considerable major-sized vast massive enormous huge-size giant sharply steep strongly broad 大量 大幅 庞大 显著 明显 重大 可观
small tiny minor-sized slight slightly modest marginal minimal low limited narrow-in 少量 轻微 略 略微 微 有限 小幅 些许 低
largest top-ranked biggest-ever greatest most-of leading-in number-one maximum-size 首位 榜首 居首 第一大 头号 最多
highest peak-of top-of maximum steepest 最高点 峰值 高峰
lowest minimum bottom least fewest 最少 谷底
first inaugural pioneering debut-of earliest-of maiden 首创 头一回 头一次 首度 首发 开创 首届
last eventual eventually ultimate most-recent closing 最终 末 近期 最近
only alone merely solely exclusively just-one nothing-but nobody-but single 独 独有 只是 仅仅 仅有 唯独
new fresh recent recently novel modern modernise latest-of brand-new 最新 新型 新近 现代 刚
main chief-of primary key core essential leading important central-to crucial vital chiefly mainly 核心 关键 重要 主要 主力 骨干
many lots a-lot plenty multiple dozens-of several-of a-host numerous-of great-number 大批 不少 多个 多家 多
all whole-of complete-set each each-of in-full full fully completely without-exception throughout universal wholly 全 均 整个 全体 都 整 各 全面 完全
some part-of-them a-few certain handful partly partial 有的 某些 少许 个别 局部
half fifty-per-cent mid-way 一半 过半
near neighbouring neighboring adjacent beside next-to close-by proximity 邻 旁边 毗邻 周边 周围 一带
enter get-in access-to admit go-in admitted access 进 入 进场 准入
advance forward progress in-advance-of earlier-than-planned 提早 预先
before previous former preceding pre previously formerly until-then 此前 原先 原来 先前 以往 曾 曾经 早前
after subsequently subsequent thereafter since-then ensuing then later-on follow 随后 此后 后来 接着 其后 后
need necessity compulsory mandatory obligatory oblige must-be necessary call-for 务必 必需 强制 必要 不得不
may maybe apparently conceivably potential potentially able can could-be 恐 恐怕 似乎 有可能
recommend urge call-on encourage advise-to advocate advisory counsel 呼吁 倡议 敦促 鼓励 倡导 提倡
warn alarm alert fear worry concern concerned caution-that threaten-to 担忧 担心 警示 预警 忧虑 提示
promise vow undertake-to guarantee assurance swear sworn 保证 誓言 许诺
reason factor behind blame explanation explain attribute attributed root-of thanks-to stem-from arise owing-to hinge trigger-of 缘由 因 因素 归因 起因 归咎 致 引起 源于 受
result lead-to effect outcome-of upshot end-result bring-about 后果 成效 效应 以致
problem difficulty trouble challenge obstacle snag hurdle defect flaw fault-in shortcoming 困境 难题 缺陷 挑战 障碍 故障 毛病
change adjust adjustment transform transformation turn-into turn become became conversion convert vary variation evolve 变 变成 转变 转型 改 改为 变更 调整 成为
develop progress-in evolve-into developer developing 研发 开发商 发展中 演变
improve enhance upgrade enhancement boost-to strengthen refine optimise optimize progress-of 提升 优化 升级 加强 增强 完善 改良
affect influential hit harm-to damage damaged hurt-by detrimental implicate 冲击 损害 波及 危害 损坏 受损 破坏
support endorse-of advocate-of favour favor supporter backing in-favour 赞成 拥护 扶持 支撑
oppose opponent against objection object-to resist resistance dissent critic disagree hostile 抵制 抗拒 异议 反对者 批评者 不同意
agree approve-of consensus reach-agreement settle settlement agreed 达成 协商一致 共识 和解 商定
protect safeguard preserve preservation shield defend defence defense guard protective secure-from 保存 守护 维护 防护 防 防止 保障
prevent avert stop-from avoid keep-from block-from hinder prevention ward-off thwart 避免 预防 阻止 阻碍 防止
attack assault raid bomb bombing shell strike-on invade invasion hit-by 轰炸 空袭 进攻 入侵 打击
help assistance relief humanitarian benefit contribute beneficial useful advantage facilitate 救助 助 协助 有助于 有益 好处 帮 助力
use utilise utilize employ-for deploy-in adopt-use exploit rely make-use deployment reliant depend 使用率 运用 用 用于 依靠 依赖 启用 动用
provide furnish equip hand-out present-with serve deliver-to distribute-to availability available 提供给 给予 给 配备 发 供 供给
receive accept-from earn-from collect take-in gather obtain acquire-from granted awarded 拿到 领取 领 取得 收 得 收集 采集 获
hold organise organize stage run-event convene conduct carry-out celebrate celebrated 组织 主办 承办 展开 操办 开
join attend-to enlist sign-up-for contestant involve involved engage-in take-part-in share-in 加盟 报考 投身 涉及 参 参赛者
lead spearhead front head-up chair chaired led direct-team oversee in-charge run-by 带领 率领 牵头 主持 主导 带头
own possess belong property-of ownership hold-in-possession have-got 具有 归 属于 持 所有
live reside dwell residing settle-in inhabit 居 住 定居 安家
age years-old year-old lifespan lifetime 寿命 岁数 年纪 年龄段
young youthful youngster-of under-30 年轻人 青壮年
family relative spouse parent parental kin 亲属 家长 父母 亲人 家属
number amount total-of tally volume-of tallied score-of count-of counted dozens 数目 数额 额度 金额 总数 计数
level degree extent scale scope grade standard 程度 规模 档次 标准 等级 范围
include cover involve-in consist incorporate encompass count-among feature 涵盖 囊括 覆盖 涉 有
exclude except apart-from other-than leave-aside omit exempt-from 除外 除 之外 以外
compare relative-to set-against as-against contrast 相较 对比 与之相比
slow sluggish gradual gradually leisurely drag 迟缓 渐渐 逐步 逐渐
fast speedy swift swiftly soon quickly prompt promptly immediate immediately instant instantly at-once short-notice 立即 迅 马上 尽快 即时 立刻 即
easy straightforward effortless convenient simply convenience 便利 方便 轻松 简便
difficult tough challenging struggle tricky arduous harder hardship 困 不易 艰难 艰巨 吃力
safe secure-place secure security unhurt 安保 平安 安
strong robust powerful intense fierce intensity severe severely severity serious acute grave 严重 强烈 强劲 剧烈 猛烈 激烈
weak fragile feeble frail poor faint 疲软 脆弱 弱势
good better-than positive favourable favorable excellent fine-quality quality well best 良好 优 好 优质 优秀 优异
bad worse worst negative adverse unfavourable poor-quality worsen deteriorate deterioration 差 坏 恶化 不利 不良 恶劣
old aged-of elderly-of long-standing obsolete outdated dated-of 旧 老 陈旧 老旧 老化
activity event campaign action operation-of act undertaking 行动 事件 运动 举措 活动期
operate run running ran function service-of work-on working functional 营运 运转 投运 运作 开行 通航
measure step policymaker initiative strategy approach action-taken programme program scheme-of project plan-of 项目 计划书 工程 策略 战略 做法
committee board council-of panel-of task-force 董事会 理事会 工作组
department official-body authority-of watchdog directorate administration-of office-of regulator 主管部门 厅 委 署 机关 管理局 总局 监管部门
organisation body association society institution charity ngo non-profit group-of-people agency-of federation 协会 学会 团体 社团 联合会 社会组织 公益
expert professional authority-on pundit consultant adviser advisor 顾问 业内人士 人士
tourism sightseeing hospitality travel-industry 观光 文旅
storey stories level-of-building 楼 楼高
room chamber hall space-in bedroom suite 厅 房 室 展厅 大厅
member affiliate participant-in membership 成员国 委员 党员
border frontier crossing-point boundary 国境 口岸 关口
port dock quay terminal-for-ships wharf seaport 码头 港区
dam weir barrage 坝 水坝
tunnel underpass underground-passage 地道 隧洞
wall rampart barrier fence fenced enclosure enclose 围栏 屏障 围墙 栅栏
church chapel basilica minster religious shrine 教会 宗教
castle fort citadel stronghold fortification 堡
tomb burial bury cemetery burial-site 古墓 墓葬 埋葬 坟
statue bust figurine effigy monument memorial 塑像 纪念碑 像
survive outlive remain-alive survivor last-through endure 活下来 生还 存活率 生还者
guide escort interpreter tour-leader lead-around 讲解 讲解员 引导
shop boutique outlet-store supermarket mall retail 门店 商场 超市 零售 店铺 商铺
sleep asleep slumber nap rest-at-night 入睡 安眠
exercise workout training train-body fitness 健身 训练 运动
infection contagious transmit transmission pathogen bacteria bacterial germ 传染 传播 病菌 细菌 病原体
gene genome hereditary chromosome inherit 遗传 基因组
brain neural neuron mental cognitive mind psychological 神经 认知 心理 精神
light lamp illumination lit illuminate 照明 灯光 亮
sound audio hear loud acoustic listen 听 声 响
wood wooden timbered 木质 木头 木制
waste rubbish-of litter refuse-waste landfill sewage discard scrap-of 废 废水 污水 丢弃 弃
recycle reuse reprocess 再生 再利用 回收利用
refund reimbursed money-back 退 退还 返还
insurance insure insured insurer cover-by-insurance 投保 保费 参保 保险公司
pension retiree retirement-pay superannuation 退休 退休金
wage earnings-of salaries pay-packet remunerate 月薪 收入水平 年薪
strike-action work-stoppage industrial-action down-tools 停工 罢
protest demonstrator march rally-against protester demonstrate-against 游行 集会 抗议者
immigrant emigrate newcomer asylum settler 移民者 外来 外来人口
king sovereign crown-prince prince throne emir 王 王子 君主
party faction coalition alliance 联盟 阵营 执政党
talks dialogue discuss discussion meeting summit conference consult consultation confer negotiator meet met 磋商 讨论 商讨 会议 峰会 见面 开会 会晤 洽谈
weapon arms gun ammunition firearm 枪 武装 弹药
size dimension sized proportions 大小 尺寸 体量
sixfold six-times
judge-in-dissent dissenting dissented
empty vacant unoccupied vacancy-of unsold 空置 空 闲置 空房
full crowded packed no-room no-vacancy overcrowded occupied occupancy 满 客满 拥挤 爆满 满员
deadline cut-off time-limit due-date last-day 期限 限期 截止日期
monitor track watch observe observation surveillance tracker observer supervise supervision oversight 监测 观测 监督 观察 监控 巡查
inspect ranger patrol warden guard-on keeper 巡护员 巡逻 管理员 看守
nest egg clutch hatch hatchling hatchery lay-eggs 巢 卵 孵化 蛋 筑巢
tide surf wave sea-level 潮 浪 潮汐
equal equivalent same identical similar alike even-with comparable as-much level-with 相当 相同 同等 一样 类似 等于 相等
different differ differing varied diverse distinct unlike 不同 差异化 各异
double twofold-rise twice-as 翻番 翻倍
enough sufficient adequate suffice ample 足够 充足 够
lack shortage short-of scarcity insufficient deficient deficiency absence without-enough want-of missing-of 缺乏 缺少 不足 短缺 缺 匮乏
owner landlord-of proprietor homeowner-of 业主 主人
crisis emergency turmoil disaster catastrophe urgent 危机 紧急 灾难 应急 灾害
try attempt effort seek endeavour strive sought 努力 尝试 试图 力求 谋求
begin-construction break-ground groundbreaking ground-breaking
keep retain maintain-in preserve-in remain stay stayed kept hold-on 保留 留 留在 保持 仍
store storage stockpile reserve-of stock-of warehouse 储存 储备 存储 仓库 库存 储能
connect link linked tie-to join-up bridge-between connection connected relation related relationship 连接 衔接 关联 有关 相连 连通 相关
separate divide division split apart dividing 分 分开 划分 分为 分隔
travel-by go-by journey-by commute 通勤 上下班
hope optimism optimistic hopeful wish 希望 盼 期望 期待 愿 乐观
pessimism pessimistic gloomy doubt doubtful sceptical skeptical question-whether 质疑 怀疑 悲观 疑虑
secret confidential classified undisclosed 机密 秘密 保密
public open-to-all publicly civic 公共 公众 公立
private privately-owned privately individual-owned 私人 私有 民营 私营
military-service conscription draft-into 兵役 征兵
covid covid-19 coronavirus 新冠 新冠疫情
speed-up accelerate-to hasten quicken expedite 加快 加速 提速
slow-down decelerate-to 减速 变慢
throw threw hurl toss
fight-against combat-against tackle crack-down clampdown curb-in address deal-with handle cope 打击 应对 治理 整治 处理 解决
dig excavate excavation unearthed 挖 发掘 挖掘 出土
sink founder-at-sea capsize went-under 沉没 沉 翻船
crash collide collision accident derail 相撞 碰撞 事故 坠毁 撞
explode explosion blast-of blow-up detonate 爆炸 引爆
freeze frozen icy
repair fix mend renovate renovation refurbish refurbishment maintenance restore-building 维修 修缮 翻修 改造 修理 检修
paint-over coat coating
pull drag-along tow
burn-down gutted
teach taught instruct lesson course-of-study curriculum training-of 教 教学 课程 培训 授课
learn study-at studied 学习 学 上学
read reader reading literacy 读 阅读 读者
write-down text document paperwork letter 文件 文字 信 书面 文本
count-on trust confidence rely-on reliable 信任 信赖 信心 可靠
lift hoist elevate
cut-off isolated stranded trapped 被困 孤立 滞留
hide conceal cover-up mask 隐瞒 掩盖 藏
share-with divide-among distribute-among 分享 共享
link-between correlation association-with associated associated-with 关联 相关性 联系
gas-price energy-price fuel-price
electric-power kilowatt power-supply
blood-pressure 血压
heart-disease cardiovascular cardiac-disease 心血管 心脏病
birth born-in newborn-of birthplace give-birth fertility 出生 生育 诞 新生儿
marry marriage wedding married wed spouse-of 结婚 婚姻 婚礼
divorce separate-from 离婚
soil earth-in land-of ground 土壤 土 地面
desert sand dune sandy 沙漠 沙 沙子 荒漠
salt-lake saline brine
seed sow sapling planting 种子 播种 树苗 栽
insect bee butterfly mosquito pest 昆虫 蜜蜂 蝴蝶 蚊子 虫
dog puppy canine 狗 犬
cat kitten feline 猫
horse pony equestrian 马
elephant ivory tusk 大象 象 象牙
turtle tortoise 海龟 龟
bear polar-bear 熊
wolf wolves 狼
tiger lion leopard 虎 狮子 豹
shark sharks 鲨鱼
cave cavern grotto 洞窟 石窟 洞穴 洞
emoji emoticon thumbs-up symbol icon pictogram sign-of 表情 符号 图标
colleague-of fellow peer counterpart 同事 同行
lawyer attorney solicitor barrister counsel-for legal-team 律师
appeal appellant appeal-against 上诉 申诉
witness testimony testify-in 证人 作证
guilty convict conviction convicted culprit 有罪 定罪
innocent acquit acquittal cleared 无罪 清白
suspect suspected-of accused defendant alleged 嫌疑人 被告 涉嫌
plaintiff claimant complainant 原告
""".strip()

_PLACES = """
china chinese 中国 我国 中华人民共和国
united-states america american us usa u.s 美国 美方
united-kingdom britain british uk u.k 英国
england english 英格兰
scotland scottish 苏格兰
wales welsh 威尔士
france french 法国
germany german 德国
italy italian 意大利
spain spanish 西班牙
portugal portuguese 葡萄牙
netherlands dutch holland 荷兰
belgium belgian 比利时
switzerland swiss 瑞士
austria austrian 奥地利
sweden swedish 瑞典
norway norwegian 挪威
denmark danish 丹麦
finland finnish 芬兰
iceland icelandic 冰岛
ireland irish 爱尔兰
poland polish 波兰
hungary hungarian 匈牙利
czech czechia 捷克
greece greek 希腊
turkey turkish türkiye turkiye 土耳其
russia russian 俄罗斯
ukraine ukrainian 乌克兰
japan japanese 日本
korea korean south-korea 韩国
north-korea 朝鲜
india indian 印度
pakistan 巴基斯坦
indonesia indonesian 印度尼西亚 印尼
thailand thai 泰国
vietnam vietnamese 越南
malaysia malaysian 马来西亚
singapore 新加坡
philippines philippine 菲律宾
nepal nepalese 尼泊尔
australia australian 澳大利亚
new-zealand 新西兰
canada canadian 加拿大
mexico mexican 墨西哥
brazil brazilian 巴西
argentina argentine 阿根廷
chile chilean 智利
peru peruvian 秘鲁
colombia colombian 哥伦比亚
egypt egyptian 埃及
south-africa south-african 南非
kenya kenyan 肯尼亚
ethiopia ethiopian 埃塞俄比亚
tanzania tanzanian 坦桑尼亚
nigeria nigerian 尼日利亚
morocco moroccan 摩洛哥
israel israeli 以色列
iran iranian 伊朗
iraq iraqi 伊拉克
saudi-arabia saudi 沙特 沙特阿拉伯
uae emirates 阿联酋
europe european 欧洲
european-union eu 欧盟
asia asian 亚洲
africa african 非洲
north-america 北美 北美洲
south-america 南美 南美洲
latin-america 拉丁美洲 拉美
middle-east 中东
antarctica antarctic 南极 南极洲
arctic 北极
pacific 太平洋
atlantic 大西洋
mediterranean 地中海
beijing peking 北京
shanghai 上海
tianjin 天津
chongqing 重庆
guangzhou 广州
shenzhen 深圳
hangzhou 杭州
suzhou 苏州
nanjing 南京
wuhan 武汉
chengdu 成都
xian xi'an 西安
xiamen 厦门
qingdao 青岛
dalian 大连
harbin 哈尔滨
shenyang 沈阳
changsha 长沙
zhengzhou 郑州
kunming 昆明
dali 大理
lijiang 丽江
guilin 桂林
lhasa 拉萨
urumqi 乌鲁木齐
guanghan 广汉
dunhuang 敦煌
hong-kong 香港
macau macao 澳门
taiwan taiwanese 台湾
taipei 台北
sichuan 四川
zhejiang 浙江
jiangsu 江苏
guangdong 广东
yunnan 云南
hainan 海南
tibet tibetan 西藏
xinjiang 新疆
fujian 福建
shandong 山东
shaanxi 陕西
shanxi 山西
henan 河南
hubei 湖北
hunan 湖南
anhui 安徽
jiangxi 江西
hebei 河北
liaoning 辽宁
jilin 吉林
heilongjiang 黑龙江
guizhou 贵州
guangxi 广西
gansu 甘肃
qinghai 青海
ningxia 宁夏
inner-mongolia 内蒙古
mongolia 蒙古
yangtze 长江
yellow-river 黄河
west-lake 西湖
great-wall 长城
forbidden-city palace-museum 故宫 紫禁城 故宫博物院
sanxingdui 三星堆
terracotta-army terracotta-warriors 兵马俑
everest qomolangma 珠穆朗玛 珠峰 珠穆朗玛峰
kilimanjaro 乞力马扎罗 乞力马扎罗山
fuji 富士山
london 伦敦
paris 巴黎
berlin 柏林
rome roman 罗马
madrid 马德里
barcelona 巴塞罗那
lisbon 里斯本
porto 波尔图
amsterdam 阿姆斯特丹
brussels 布鲁塞尔
vienna 维也纳
zurich 苏黎世
geneva 日内瓦
stockholm 斯德哥尔摩
oslo 奥斯陆
copenhagen 哥本哈根
helsinki 赫尔辛基
reykjavik 雷克雅未克
dublin 都柏林
athens 雅典
istanbul 伊斯坦布尔
moscow 莫斯科
kyiv kiev 基辅
tokyo 东京
osaka 大阪
kyoto 京都
seoul 首尔
bangkok 曼谷
hanoi 河内
jakarta 雅加达
delhi new-delhi 新德里 德里
mumbai 孟买
sydney 悉尼
melbourne 墨尔本
toronto 多伦多
vancouver 温哥华
new-york 纽约
washington 华盛顿
los-angeles 洛杉矶
san-francisco 旧金山
chicago 芝加哥
california 加州 加利福尼亚
texas 得州 德克萨斯
cairo 开罗
dubai 迪拜
venice 威尼斯
florence 佛罗伦萨
milan 米兰
munich 慕尼黑
golden-gate-bridge golden-gate 金门大桥
eiffel-tower 埃菲尔铁塔
louvre 卢浮宫
united-nations un 联合国
unesco 联合国教科文组织 教科文组织
world-health-organization world-health-organisation who-recommends 世界卫生组织 世卫组织 世卫
european-central-bank ecb 欧洲央行 欧洲中央银行
federal-reserve fed 美联储
bank-of-england 英国央行 英格兰银行
world-bank 世界银行
imf international-monetary-fund 国际货币基金组织
national-bureau-of-statistics 国家统计局
nasa 美国宇航局 美国国家航空航天局
chang'e-6 嫦娥六号
chang'e 嫦娥
parker-solar-probe parker 帕克 帕克太阳探测器
the-lancet lancet 柳叶刀
nature-journal 《自然》
byd 比亚迪
xiaomi 小米
huawei 华为
tencent 腾讯
alibaba 阿里巴巴
baidu 百度
geely 吉利
catl 宁德时代
tesla 特斯拉
apple-inc apple 苹果公司 苹果
google 谷歌
microsoft 微软
amazon 亚马逊
nvidia 英伟达
openai OpenAI
samsung 三星
toyota 丰田
boeing 波音
airbus 空客
volkswagen 大众汽车
lagarde 拉加德
trump 特朗普
biden 拜登
putin 普京
xi-jinping 习近平
musk elon-musk 马斯克
""".strip()

# Concepts of which one says the contrary of the other about one thing.
_OPPOSED = """
rise steady|fall steady|reject accept|praise criticise|common rare|cheap expensive|succeed fail
rise fall|open close|start end|free charge|free pay|allow ban|win lose|win draw|lose draw|buy sell|import export
profit loss|approve reject|support oppose|delay advance|before after|largest smallest|highest lowest|first last
north south|east west|north east|north west|south east|south west|summer winter|summer autumn|summer spring|winter spring
winter autumn|spring autumn|woman man|child adult|urban rural|domestic overseas|include exclude|all some|fast slow
easy difficult|strong weak|large small|year-on-year month-on-month|arrive leave|morning evening|rise lose|rise loss|cold heat|young elderly
resume suspend|resume close|last-year this-year|this-year next-year|last-year next-year|cancel extend|weekday weekend
above-normal below-normal|employ lay-off|keep remove|keep cancel|start cancel|extend end|extend cancel|extend shorten|keep leave|full empty|good bad|safe danger|enough lack|guilty innocent|praise complain|near distance|public private|separate connect
silver gold|suspend start|rise steady|fall steady|reject accept|common rare|cheap expensive|succeed fail|most some|support reject|since until|start delay
"""

# Things of one sort: a statement about one of them is none about another.
_KINDS = """
stroke heart-attack cancer diabetes infection
wind solar-power hydropower nuclear coal biomass oil gas
revenue profit spend loss debt
income profit spend
adult child elderly student
woman man
urban rural national
import export
gold silver bronze
spring summer autumn winter
north south east west
morning evening
train bus flight ship metro
museum temple church castle university hospital school library
football basketball marathon
player coach referee
wheat rice
president prime-minister minister mayor governor
rain snow
share real-estate
moon sun mars earth
railway road
king queen
domestic overseas
fish bird whale
""".strip()

# What lies in what: who names the part has named the whole.
_WITHIN = """
china beijing shanghai tianjin chongqing guangzhou shenzhen hangzhou suzhou nanjing wuhan chengdu xian xiamen qingdao dalian harbin shenyang changsha zhengzhou kunming dali lijiang guilin lhasa urumqi guanghan dunhuang hong-kong macau sichuan zhejiang jiangsu guangdong yunnan hainan tibet xinjiang fujian shandong shaanxi shanxi henan hubei hunan anhui jiangxi hebei liaoning jilin heilongjiang guizhou guangxi gansu qinghai ningxia inner-mongolia
united-kingdom england scotland wales london bank-of-england
united-states new-york washington los-angeles san-francisco chicago california texas federal-reserve nasa
california los-angeles san-francisco golden-gate-bridge
france paris eiffel-tower louvre
germany berlin munich
italy rome venice florence milan
spain madrid barcelona
portugal lisbon porto
netherlands amsterdam
belgium brussels
austria vienna
switzerland zurich geneva
sweden stockholm
norway oslo
denmark copenhagen
finland helsinki
iceland reykjavik
ireland dublin
greece athens
turkey istanbul
russia moscow
ukraine kyiv
japan tokyo osaka kyoto fuji
korea seoul
thailand bangkok
vietnam hanoi
indonesia jakarta
india delhi mumbai
australia sydney melbourne
canada toronto vancouver
egypt cairo
uae dubai
tanzania kilimanjaro
zhejiang hangzhou west-lake
jiangsu nanjing suzhou
sichuan chengdu guanghan sanxingdui
guangdong guangzhou shenzhen
hubei wuhan
shaanxi xian terracotta-army
beijing forbidden-city
paris eiffel-tower louvre
europe european-central-bank france germany italy spain portugal netherlands belgium switzerland austria sweden norway denmark finland iceland ireland poland hungary greece
asia china japan korea india thailand vietnam singapore malaysia indonesia philippines
africa egypt kenya ethiopia tanzania nigeria morocco south-africa
""".strip()


def _key(spelling: str) -> str:
    return "-".join(stem(part) for part in spelling.split("-"))


def _read(table: str) -> dict[str, str]:
    """Spelling to concept; of two concepts with one spelling the first counts."""
    found: dict[str, str] = {}
    for line in table.splitlines():
        name, *rest = line.split()
        for spelling in (name, *rest):
            found.setdefault(_key(spelling.lower()) if spelling.isascii() else spelling, name)
    return found


PLACES = frozenset(line.split()[0] for line in _PLACES.splitlines())
CONCEPTS = _read(_PLACES + "\n" + _CONCEPTS)
SENSES = _read(_MORE) | CONCEPTS
PHRASES = frozenset(spelling.partition("-")[0] for spelling in SENSES if "-" in spelling)
LONGEST = max(len(spelling) for spelling in SENSES if not spelling.isascii())
_PAIRS = [pair.split() for line in _OPPOSED.strip().splitlines() for pair in line.split("|")]
OPPOSED: dict[str, frozenset[str]] = {
    one: frozenset(b if a == one else a for a, b in _PAIRS if one in (a, b))
    for one in {name for pair in _PAIRS for name in pair}
}
KIN: dict[str, frozenset[str]] = {}
for _line in _KINDS.splitlines():
    for _name in (_names := _line.split()):
        KIN[_name] = KIN.get(_name, frozenset()) | frozenset(_names) - {_name}
PARTS: dict[str, frozenset[str]] = {}
for _line in _WITHIN.splitlines():
    _whole, *_names = _line.split()
    PARTS[_whole] = PARTS.get(_whole, frozenset()) | frozenset(_names)
