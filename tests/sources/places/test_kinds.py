"""Words for kinds of places, in both languages, become tags of OpenStreetMap and codes of Amap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.sources.places import kinds
from research.sources.places.amap import AmapBackend
from research.sources.places.osm import OpenStreetMapBackend
from tests.servers.amap import FakeAmap
from tests.servers.osm import FakeOpenStreetMap
from tests.tables import each_row

HERE = "135.785000,34.994700"
BEIJING = "116.404000,39.915000"

# The classes of Amap's table of categories that have a counterpart in OpenStreetMap, as Amap calls them.
AMAP = """
加油站 加气站 汽车养护 洗车场 汽车租赁 充电站 汽车销售 汽车维修 中餐厅 外国餐厅 快餐厅 休闲餐饮场所 咖啡厅 茶艺馆 冷饮店 糕饼店
甜品店 火锅店 四川菜 广东菜 湖南菜 上海菜 海鲜酒楼 清真菜馆 日本料理 韩国料理 法式菜品餐厅 意式菜品餐厅 泰国菜品餐厅 印度风味
牛扒店 俄国菜 商场 购物中心 便民商店 便利店 家电电子卖场 手机销售 超级市场 花鸟鱼虫市场 家居建材市场 家具城 综合市场 农副产品市场
蔬菜市场 文化用品店 体育用品店 服装鞋帽皮具店 古玩字画店 珠宝首饰工艺品 钟表店 眼镜店 书店 音像店 儿童用品店 自行车专卖店
礼品饰品店 烟酒专卖店 宠物用品店 摄影器材店 土特产专卖店 典当行 化妆品店 旅行社 信息咨询中心 售票处 邮局 物流速递 电讯营业厅
律师事务所 会计师事务所 人才市场 美容美发店 摄影冲印店 洗浴推拿场所 洗衣店 彩票彩券销售点 殡仪馆 公墓 综合体育馆 保龄球馆 网球场
篮球场馆 足球场 滑雪场 溜冰场 户外健身场所 海滨浴场 游泳馆 健身中心 乒乓球馆 台球厅 马术俱乐部 羽毛球场 高尔夫球场 夜总会 KTV
迪厅 酒吧 游戏厅 网吧 度假村 疗养院 游乐场 垂钓园 露营地 电影院 音乐厅 剧场 综合医院 专科医院 口腔医院 诊所 急救中心 药房
宠物诊所 宾馆酒店 旅馆招待所 青年旅舍 公园 动物园 植物园 水族馆 城市广场 风景名胜 世界遗产 纪念馆 寺庙道观 教堂 回教寺 海滩
观景点 政府机关 派出所 法院 消防机关 博物馆 展览馆 会展中心 美术馆 图书馆 科技馆 天文馆 文化宫 学校 高等院校 中学 小学 幼儿园
科研机构 培训机构 驾校 飞机场 火车站 港口码头 长途汽车站 地铁站 轻轨站 公交车站 停车场 出租车 轮渡站 索道站 银行 自动提款机
保险公司 报刊亭 公用电话 公共厕所 服务区
"""
# Values of OpenStreetMap's tags with the names that its editors show for them.
OSM = [
    ("amenity=cafe", "Cafe"), ("amenity=restaurant", "Restaurant"), ("amenity=fast_food", "Fast Food"),
    ("amenity=bar", "Bar"), ("amenity=pub", "Pub"), ("amenity=biergarten", "Beer Garden"),
    ("amenity=ice_cream", "Ice Cream Shop"), ("amenity=nightclub", "Nightclub"), ("amenity=cinema", "Cinema"),
    ("amenity=theatre", "Theater"), ("amenity=library", "Library"), ("amenity=bank", "Bank"),
    ("amenity=atm", "ATM"), ("amenity=pharmacy", "Pharmacy"), ("amenity=hospital", "Hospital"),
    ("amenity=clinic", "Clinic"), ("amenity=dentist", "Dentist"), ("amenity=veterinary", "Veterinary"),
    ("amenity=school", "School"), ("amenity=university", "University"), ("amenity=kindergarten", "Kindergarten"),
    ("amenity=post_office", "Post Office"), ("amenity=police", "Police"), ("amenity=fire_station", "Fire Station"),
    ("amenity=townhall", "Town Hall"), ("amenity=courthouse", "Courthouse"), ("amenity=fuel", "Gas Station"),
    ("amenity=charging_station", "Charging Station"), ("amenity=parking", "Parking Lot"),
    ("amenity=bicycle_rental", "Bicycle Rental"), ("amenity=bicycle_parking", "Bicycle Parking"),
    ("amenity=car_rental", "Car Rental"), ("amenity=car_wash", "Car Wash"), ("amenity=taxi", "Taxi Stand"),
    ("amenity=bus_station", "Bus Station"), ("amenity=ferry_terminal", "Ferry Terminal"),
    ("amenity=toilets", "Toilets"), ("amenity=drinking_water", "Drinking Water"), ("amenity=fountain", "Fountain"),
    ("amenity=marketplace", "Marketplace"), ("amenity=food_court", "Food Court"), ("amenity=casino", "Casino"),
    ("amenity=internet_cafe", "Internet Cafe"), ("amenity=community_centre", "Community Center"),
    ("amenity=arts_centre", "Arts Center"), ("amenity=planetarium", "Planetarium"), ("amenity=embassy", "Embassy"),
    ("amenity=driving_school", "Driving School"), ("amenity=place_of_worship", "Place of Worship"),
    ("tourism=museum", "Museum"), ("tourism=gallery", "Art Gallery"), ("tourism=attraction", "Tourist Attraction"),
    ("tourism=hotel", "Hotel"), ("tourism=hostel", "Hostel"), ("tourism=guest_house", "Guest House"),
    ("tourism=motel", "Motel"), ("tourism=camp_site", "Campground"), ("tourism=zoo", "Zoo"),
    ("tourism=aquarium", "Aquarium"), ("tourism=theme_park", "Theme Park"), ("tourism=viewpoint", "Viewpoint"),
    ("tourism=picnic_site", "Picnic Site"), ("tourism=alpine_hut", "Mountain Lodge"),
    ("leisure=park", "Park"), ("leisure=garden", "Garden"), ("leisure=playground", "Playground"),
    ("leisure=water_park", "Water Park"), ("leisure=sports_centre", "Sports Centre"), ("leisure=stadium", "Stadium"),
    ("leisure=golf_course", "Golf Course"), ("leisure=bowling_alley", "Bowling Alley"), ("leisure=marina", "Marina"),
    ("leisure=ice_rink", "Ice Rink"), ("leisure=dog_park", "Dog Park"), ("leisure=sauna", "Sauna"),
    ("leisure=escape_game", "Escape Room"), ("leisure=resort", "Resort"), ("leisure=dance", "Dance Hall"),
    ("historic=castle", "Castle"), ("historic=monument", "Monument"), ("historic=memorial", "Memorial"),
    ("historic=ruins", "Ruins"), ("historic=tomb", "Tomb"), ("historic=city_gate", "City Gate"),
    ("shop=supermarket", "Supermarket"), ("shop=convenience", "Convenience Store"), ("shop=mall", "Mall"),
    ("shop=department_store", "Department Store"), ("shop=bakery", "Bakery"), ("shop=butcher", "Butcher"),
    ("shop=greengrocer", "Greengrocer"), ("shop=books", "Book Store"), ("shop=clothes", "Clothing Store"),
    ("shop=shoes", "Shoe Store"), ("shop=jewelry", "Jewelry Store"), ("shop=florist", "Florist"),
    ("shop=furniture", "Furniture Store"), ("shop=bicycle", "Bicycle Shop"), ("shop=car_repair", "Car Repair Shop"),
    ("shop=hairdresser", "Hairdresser"), ("shop=laundry", "Laundry"), ("shop=optician", "Optician"),
    ("shop=electronics", "Electronics Store"), ("shop=hardware", "Hardware Store"), ("shop=toys", "Toy Store"),
    ("shop=sports", "Sporting Goods Store"), ("shop=pet", "Pet Store"), ("shop=travel_agency", "Travel Agency"),
    ("shop=wine", "Wine Shop"), ("shop=alcohol", "Liquor Store"), ("shop=tattoo", "Tattoo Studio"),
    ("railway=station", "Train Station"), ("railway=tram_stop", "Tram Stop"), ("aeroway=aerodrome", "Airport"),
    ("highway=bus_stop", "Bus Stop"), ("natural=beach", "Beach"), ("natural=peak", "Peak"),
    ("natural=hot_spring", "Hot Spring"), ("natural=volcano", "Volcano"), ("man_made=lighthouse", "Lighthouse"),
    ("office=lawyer", "Lawyer"), ("office=insurance", "Insurance Office"), ("landuse=cemetery", "Cemetery"),
]  # fmt: skip


def tags(word: str) -> list[str]:
    """The tags that a word asks for, of each kind the first."""
    found, _ = kinds.find_kinds([word])
    return ["".join(kind.tags[0]) for kind in found]


def test_the_names_that_amap_has_for_its_categories_are_kinds() -> None:
    assert [word for word in AMAP.split() if not tags(word)] == []


@each_row(("tag", "name"), OSM)
def test_the_names_that_openstreetmap_has_for_its_tags_are_kinds(tag: str, name: str) -> None:
    for word in (name, name.lower(), name.upper(), tag, tag.partition("=")[2]):
        assert tag in tags(word), word


@each_row(
    ("tag", "words"),
    [
        ("amenity=cafe", "cafe|cafes|Café|cafés|CAFE|coffee shop|coffee shops|coffee|咖啡|咖啡馆|咖啡厅|咖啡店|咖啡屋|咖啡館"),
        ("tourism=museum", "museum|museums|博物馆|博物院|博物館|Museum"),
        ("shop=books", "bookshop|bookshops|book store|bookstores|书店|書店"),
        ("amenity=theatre", "theatre|theater|theatres|剧院|剧场|大剧院"),
        ("shop=bakery", "bakeries|面包店|面包房|烘焙店"),
        ("amenity=pharmacy", "pharmacies|drugstore|药店|药房|買藥"),
        ("amenity=atm", "ATMs|取款机|提款机|提款機"),
        ("tourism=attraction", "scenic spots|scenic areas|tourist attractions"),
        ("amenity=toilets", "restrooms|toilet|厕所|公厕|洗手间|廁所"),
        ("leisure=fitness_centre", "gym|gyms|fitness centre|fitness center|健身房"),
        ("amenity=fuel", "gas stations|petrol station|filling-station|加油站"),
        ("amenity=place_of_worship", "church|churches|temples|mosque|寺庙|教堂|清真寺"),
    ],
)  # fmt: skip
def test_every_day_words_plurals_and_other_spellings_are_kinds(tag: str, words: str) -> None:
    for word in words.split("|"):
        assert tag in tags(word), word


@each_row(
    "word",
    [
        "Starbucks",
        "星巴克",
        "Museum of Fine Arts",
        "国家大剧院音乐厅",
        "The Park Hotel",
        "全聚德",
        "猫咖",
        "cat cafe",
    ],
)
def test_what_is_a_name_is_no_kind(word: str) -> None:
    assert kinds.find_kinds([word]) == ((), (word,))
    assert kinds.find_codes([word]) == ()


def test_every_kind_is_found_by_its_names() -> None:
    for kind in kinds.all_kinds():
        for name in (kind.zh, kind.en):
            found, left = kinds.find_kinds([name])
            assert found and not left, name


# What is asked of the services


@pytest.fixture(scope="module")
def overpass() -> Iterator[FakeOpenStreetMap]:
    with FakeOpenStreetMap() as fake:
        yield fake


@pytest.fixture
async def osm(overpass: FakeOpenStreetMap) -> AsyncIterator[OpenStreetMapBackend]:
    overpass.log.clear()
    client = ServiceClient(overpass.base_url, timeout_seconds=5)
    found = OpenStreetMapBackend(client, client, timeout_seconds=5, rate_limiters=(RateLimiter(0), RateLimiter(0)))
    yield found
    await found.close()


async def test_overpass_is_asked_for_tags_and_for_names_only_where_a_name_is_meant(
    osm: OpenStreetMapBackend, overpass: FakeOpenStreetMap
) -> None:
    await osm.search_around(HERE, 1000, "cafes|博物馆|Starbucks")
    (query,) = overpass.queries()
    assert '["amenity"="cafe"]' in query and '["tourism"="museum"]' in query
    assert query.count('["name"~') == 1 and '["name"~"Starbucks",i]' in query


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@each_row(
    ("keywords", "types"),
    [
        ("咖啡馆|博物馆", "050500|140100"),
        ("cafe|museum|parks", "050500|140100|110100"),
        ("亲子乐园|儿童乐园|游乐场|博物馆|公园", "080500|140100|110100"),
        ("博物馆", None),
        ("博物馆|全聚德", None),
        ("博物馆|长椅", None),
    ],
)
async def test_amap_is_given_the_codes_where_several_kinds_are_asked_for(
    keywords: str, types: str | None, fake: FakeAmap
) -> None:
    amap = AmapBackend("key", base_url=fake.base_url)
    try:
        await amap.search_around(BEIJING, 3000, keywords)
        await amap.search_text(keywords, "北京")
        await amap.search_text(keywords, "北京", "050000")
    finally:
        await amap.close()
    around, text, given = fake.log[-3:]
    assert [one.query.get("types") for one in (around, text)] == [types, types]
    assert {one.query["keywords"] for one in (around, text, given)} == {keywords}
    assert given.query["types"] == "050000"


async def test_what_is_only_called_after_a_kind_is_left_out_by_its_code(fake: FakeAmap) -> None:
    amap = AmapBackend("key", base_url=fake.base_url)
    try:
        found = await amap.search_around(BEIJING, 3000, "博物馆|公园")
    finally:
        await amap.close()
    codes = {place["typecode"] for place in found["pois"]}
    assert codes == {"140100", "110101"}  # the middle class 110100 has the smaller 110101
