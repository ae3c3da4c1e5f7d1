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
PHRASES = frozenset(spelling.partition("-")[0] for spelling in CONCEPTS if "-" in spelling)
LONGEST = max(len(spelling) for spelling in CONCEPTS if not spelling.isascii())
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
