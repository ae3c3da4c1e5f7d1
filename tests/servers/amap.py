"""Amap's REST API on this machine, with its ways: empty values are [], numbers are texts, failures
come with the status of success, and every point is in GCJ-02.

All places but the last are real ones, with invented ids: answers can be held to the world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import asin, cos, radians, sin, sqrt
from typing import Any

from aiohttp import web

from tests.servers.search import Asked, Service

HTML = "<html><head><title>502 Bad Gateway</title></head><body>502</body></html>"
EMPTY: list[Any] = []  # how Amap writes that a field has no value
FAULTS = {
    "key": ("INVALID_USER_KEY", "10001"),
    "platform": ("USERKEY_PLAT_NOMATCH", "10009"),
    "quota": ("USER_DAILY_QUERY_OVER_LIMIT", "10044"),
    "qps": ("CUQPS_HAS_EXCEEDED_THE_LIMIT", "10021"),
    "engine": ("ENGINE_RESPONSE_DATA_ERROR", "30001"),
    "far": ("OVER_DIRECTION_RANGE", "20803"),
}
WIRE = frozenset({"hang", "html502", "html200", "badjson", "drop", "empty", "ok"})

# adcode: province, city, district, code of the city
AREAS = {
    "110101": ("北京市", "北京市", "东城区", "010"),
    "310101": ("上海市", "上海市", "黄浦区", "021"),
    "320106": ("江苏省", "南京市", "鼓楼区", "025"),
    "310115": ("上海市", "上海市", "浦东新区", "021"),
    "330105": ("浙江省", "杭州市", "拱墅区", "0571"),
    "330106": ("浙江省", "杭州市", "西湖区", "0571"),
    "110105": ("北京市", "北京市", "朝阳区", "010"),
    "230102": ("黑龙江省", "哈尔滨市", "道里区", "0451"),
    "320104": ("江苏省", "南京市", "秦淮区", "025"),
    "320114": ("江苏省", "南京市", "雨花台区", "025"),
    "370202": ("山东省", "青岛市", "市南区", "0532"),
    "440105": ("广东省", "广州市", "海珠区", "020"),
    "440114": ("广东省", "广州市", "花都区", "020"),
    "450321": ("广西壮族自治区", "桂林市", "阳朔县", "0773"),
    "610104": ("陕西省", "西安市", "莲湖区", "029"),
    "610113": ("陕西省", "西安市", "雁塔区", "029"),
}
# id, name, type, typecode, address, location, adcode, rating, cost, hours
# fmt: off
PLACES = [
    ("B000AB5AC2", "中国儿童艺术剧院", "体育休闲服务;影剧院;剧场", "080603", "东安门大街64号", "116.409444,39.914704", "110101", "4.7", "", "09:00-17:00"),
    ("B040F4036D", "王府井书店", "购物服务;文化用品店;书店", "061205", "王府井大街218号", "116.411543,39.910204", "110101", "4.8", "", "09:30-21:00"),
    ("B00BFAECF2", "北京apm", "购物服务;商场;购物中心", "060101", "王府井大街138号", "116.411844,39.914404", "110101", "4.5", "98.00", "10:00-22:00"),
    ("B000A0E5B5", "王府中环", "购物服务;商场;购物中心", "060101", "王府井大街269号", "116.410745,39.917204", "110101", "4.6", "215.00", "10:00-22:00"),
    ("B050C956FC", "东方新天地", "购物服务;商场;购物中心", "060101", "东长安街1号", "116.414543,39.910203", "110101", "4.6", "110.00", "10:00-22:00"),
    ("B0699A14F3", "嘉德艺术中心", "科教文化服务;美术馆;美术馆", "140400", "王府井大街1号", "116.411045,39.924205", "110101", "4.6", "", "10:00-18:00"),
    ("B000A907B1", "中国美术馆", "科教文化服务;美术馆;美术馆", "140400", "五四大街1号", "116.409346,39.925205", "110101", "4.7", "", "09:00-17:00"),
    ("B069769852", "皇城根遗址公园", "风景名胜;公园广场;公园", "110101", "北河沿大街", "116.406045,39.917404", "110101", "4.6", "", "00:00-24:00"),
    ("B0938079CD", "中国国家博物馆", "科教文化服务;博物馆;博物馆", "140100", "东长安街16号", "116.401342,39.905303", "110101", "4.9", "", "09:00-17:00"),
    ("B000AF507B", "中山公园", "风景名胜;公园广场;公园", "110101", "中华路4号", "116.394740,39.911200", "110101", "4.7", "3.00", "06:00-21:00"),
    ("B0885978E4", "故宫博物院", "科教文化服务;博物馆;博物馆", "140100", "景山前街4号", "116.397142,39.918301", "110101", "4.9", "60.00", "08:30-16:30"),
    ("B060707F71", "上海外滩美术馆", "科教文化服务;美术馆;美术馆", "140400", "虎丘路20号", "121.488988,31.240633", "310101", "4.5", "80.00", "10:00-18:00"),
    ("B000A3C028", "黄浦公园", "风景名胜;公园广场;公园", "110101", "中山东一路500号", "121.490682,31.242129", "310101", "4.6", "", "05:00-22:00"),
    ("B0ED02AD94", "豫园", "风景名胜;风景名胜;旅游景点", "110200", "福佑路168号", "121.492076,31.227118", "310101", "4.7", "40.00", "09:00-16:30"),
    ("B0F62451CD", "东方明珠广播电视塔", "风景名胜;风景名胜;旅游景点", "110200", "世纪大道1号", "121.499749,31.239700", "310115", "4.7", "199.00", "09:00-21:00"),
    ("B000A3587F", "上海海洋水族馆", "风景名胜;公园广场;水族馆", "110104", "陆家嘴环路1388号", "121.502041,31.240594", "310115", "4.6", "160.00", "09:00-18:00"),
    ("B089674C87", "上海博物馆", "科教文化服务;博物馆;博物馆", "140100", "人民大道201号", "121.475133,31.228366", "310101", "4.8", "", "09:00-17:00"),
    ("B078249E05", "正大广场", "购物服务;商场;购物中心", "060101", "陆家嘴西路168号", "121.499251,31.236300", "310115", "4.5", "105.00", "10:00-22:00"),
    ("B000AAAA6C", "三潭印月", "风景名胜;风景名胜;旅游景点", "110200", "", "120.144733,30.235893", "330106", "4.8", "55.00", "08:00-17:00"),
    ("B01DB7338E", "雷峰塔", "风景名胜;风景名胜;旅游景点", "110200", "南山路15号", "120.149320,30.230686", "330106", "4.7", "40.00", "08:00-17:30"),
    ("B0B7FCBC7F", "花港观鱼", "风景名胜;公园广场;公园", "110101", "杨公堤", "120.141241,30.228498", "330106", "4.8", "", "00:00-24:00"),
    ("B000ACB0E9", "浙江省博物馆孤山馆区", "科教文化服务;博物馆;博物馆", "140100", "孤山路25号", "120.144036,30.251695", "330106", "4.7", "", "09:00-17:00"),
    ("B0E8887418", "断桥残雪", "风景名胜;风景名胜;旅游景点", "110200", "北山街", "120.151118,30.258585", "330106", "4.8", "", "00:00-24:00"),
    ("B082A7A06B", "杭州青少年活动中心", "科教文化服务;文化宫;青少年活动中心", "141100", "昭庆寺里街22号", "120.155107,30.260778", "330105", "4.6", "70.00", "09:00-17:00"),
    ("B0FFH2K7QD", "奇趣岛亲子乐园(王府井店)", "体育休闲服务;娱乐场所;游乐场", "080501", "王府井大街176号", "116.411344,39.914204", "110101", "4.5", "128.00", "10:00-21:30"),
    ("B0FFGW3N5T", "小树林儿童乐园", "体育休闲服务;娱乐场所;游乐场", "080501", "", "116.413043,39.911904", "110101", "", "", ""),
    ("B000A7Q1XC", "全聚德烤鸭店(王府井店)", "餐饮服务;中餐厅;北京菜", "050111", "帅府园胡同9号", "116.410144,39.915804", "110101", "4.4", "168.00", "11:00-21:00"),
    ("B0HZZZ0001", "西街民宿", "住宿服务;旅馆招待所;旅馆招待所", "100200", "西街", "110.496700,24.778300", "450321", "4.6", "268.00", ""),
    ("B0HZZZ0002", "国贸茶馆", "餐饮服务;茶艺馆;茶艺馆", "050600", "建国门外大街1号", "116.459300,39.909300", "110105", "4.5", "120.00", "10:00-22:00"),
    ("B0HZZZ0003", "曲江书城", "购物服务;专卖店;书店", "061205", "雁塔南路", "108.973300,34.206500", "610113", "4.8", "", "10:00-22:00"),
    ("B0HZZZ0004", "三里屯夜宵餐厅", "餐饮服务;中餐厅;中餐厅", "050100", "三里屯路19号", "116.454500,39.935100", "110105", "4.4", "150.00", "17:00-04:00"),
    ("B0HZZZ0005", "中央大街俄式西餐厅", "餐饮服务;外国餐厅;俄国菜", "050212", "中央大街112号", "126.618000,45.775500", "230102", "4.5", "98.00", "10:00-21:00"),
    ("B0HZZZ0006", "机场洗浴中心", "生活服务;洗浴推拿场所;洗浴推拿场所", "071400", "2号航站楼", "121.806200,31.151300", "310115", "4.1", "88.00", "00:00-24:00"),
    ("B0HZZZ0007", "机场观景公园", "风景名胜;公园广场;公园", "110101", "启航路", "121.796200,31.156300", "310115", "4.3", "", ""),
]
# fmt: on
# What an address can name besides a place: location, adcode of its district, level
LANDMARKS = {
    "王府井": ("116.410894,39.911514", "110101", "热点商圈"),
    "Wangfujing": ("116.410894,39.911514", "110101", "热点商圈"),
    "外滩": ("121.490283,31.236227", "310101", "热点商圈"),
    "西湖": ("120.145731,30.242692", "330106", "热点地名"),
    "南京南站": ("118.797499,31.968789", "320114", "兴趣点"),
    "夫子庙": ("118.788850,32.020729", "320104", "兴趣点"),
    "广州塔": ("113.324553,23.106414", "440105", "兴趣点"),
    "白云机场": ("113.308781,23.392436", "440114", "兴趣点"),
    "阳朔西街": ("110.496480,24.778240", "450321", "热点商圈"),
    "浦东机场": ("121.805214,31.150681", "310115", "兴趣点"),
    "浦东国际机场": ("121.805214,31.150681", "310115", "兴趣点"),
    "Pudong airport": ("121.805214,31.150681", "310115", "兴趣点"),
    "Bund": ("121.490283,31.236227", "310101", "热点商圈"),
    "Yuyuan Garden": ("121.492076,31.227118", "310101", "兴趣点"),
    "回民街": ("108.940640,34.263260", "610104", "热点地名"),
    "Qujiang": ("108.972900,34.207600", "610113", "热点地名"),
    "栈桥": ("120.319600,36.060800", "370202", "兴趣点"),
    "八大关": ("120.352600,36.053800", "370202", "热点地名"),
    "国贸三期": ("116.459000,39.909200", "110105", "兴趣点"),
    "三里屯": ("116.455294,39.937492", "110105", "热点商圈"),
    "中央大街": ("126.617600,45.775300", "230102", "热点地名"),
    "灵隐寺": ("120.101406,30.240826", "330106", "兴趣点"),
    "故宫": ("116.397142,39.918301", "110101", "兴趣点"),
    "天坛": ("116.410886,39.881949", "110101", "兴趣点"),
    "天安门": ("116.397469,39.908823", "110101", "兴趣点"),
    "柏林寺": ("116.417600,39.949300", "110101", "兴趣点"),
}
SPELT_OUT = {"天安门", "柏林寺"}  # whose names stand in their addresses
# What several cities have: location, adcode of its district, level
TWINS = {
    "鼓楼": (("116.395829,39.940388", "110101", "兴趣点"), ("118.783553,32.059381", "320106", "兴趣点")),
}  # fmt: skip
# Areas are too large to search around: location, province, city, district, adcode, level
REGIONS = {
    "北京市": ("116.407387,39.904179", "北京市", "北京市", EMPTY, "110000", "省"),
    "上海市": ("121.473667,31.230525", "上海市", "上海市", EMPTY, "310000", "省"),
    "浙江省": ("120.152585,30.266597", "浙江省", EMPTY, EMPTY, "330000", "省"),
    "杭州市": ("120.209903,30.246566", "浙江省", "杭州市", EMPTY, "330100", "市"),
    "东城区": ("116.416334,39.928359", "北京市", "北京市", "东城区", "110101", "区县"),
}


class FakeAmap(Service):
    """`fail(path, fault)` lets calls go wrong whose path ends in `path`, or any call: a key of
    FAULTS, or of the WIRE, where "empty" is success without results. `keys` are the keys that are
    accepted; None is any that is not blank.
    """

    keys: set[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._failing: list[tuple[str, str]] = []

    def fail(self, path: str, fault: str) -> None:
        """The newest rule that fits counts; "ok" ends older ones, and `any` is every path."""
        if fault not in FAULTS.keys() | WIRE:
            raise ValueError(f"Amap has no fault {fault!r}")
        self._failing.insert(0, (path, fault))

    def paths(self) -> list[str]:
        """The calls so far, without the leading slash."""
        return [asked.path.removeprefix("/") for asked in tuple(self.log)]

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        fits = (fault for path, fault in self._failing if path == "any" or asked.path.endswith(path))
        fault = next(fits, "ok")
        if fault == "hang":
            await self._down.wait()
        if fault == "drop" and request.transport:
            request.transport.abort()
        if fault in ("html502", "html200"):
            return web.Response(status=int(fault[4:]), text=HTML, content_type="text/html")
        if fault == "badjson":
            return web.Response(text='{"status": "1", "pois": [', content_type="application/json")
        return web.json_response(self._body(asked, fault))

    def _body(self, asked: Asked, fault: str) -> Any:
        key = asked.query.get("key", "")
        if not key or (self.keys is not None and key not in self.keys):
            fault = "key"
        if fault in FAULTS:
            return _failure(asked.path, *FAULTS[fault])
        answer = PATHS.get(asked.path)
        if answer is None:
            return _failure(asked.path, "SERVICE_NOT_AVAILABLE", "10002")
        try:
            return _emptied(answer(asked.query)) if fault == "empty" else answer(asked.query)
        except (KeyError, ValueError):
            return _failure(asked.path, "MISSING_REQUIRED_PARAMS", "20001")


def _failure(path: str, info: str, code: str) -> dict[str, Any]:
    if path.startswith("/v4"):
        return {"data": None, "errcode": int(code), "errdetail": None, "errmsg": info}
    return {"status": "0", "info": info, "infocode": code}


def _success(**more: Any) -> dict[str, Any]:
    return {"status": "1", "info": "OK", "infocode": "10000", **more}


def _emptied(body: dict[str, Any]) -> dict[str, Any]:
    """A success in which nothing was found."""
    said = {"status", "info", "infocode", "errcode", "errmsg"}
    return {name: value if name in said else EMPTY for name, value in body.items()} | (
        {"count": "0"} if "status" in body else {}
    )


def _metres(a: str, b: str) -> float:
    (x1, y1), (x2, y2) = (map(float, text.split(",")) for text in (a, b))
    up, across = radians(y2 - y1) / 2, radians(x2 - x1) / 2
    square = sin(up) ** 2 + cos(radians(y1)) * cos(radians(y2)) * sin(across) ** 2
    return 2 * 6_371_008.8 * asin(sqrt(square))


# Places


def _poi(row: tuple[str, ...], gap: float | None = None) -> dict[str, Any]:
    id, name, kind, code, address, location, adcode, rating, cost, hours = row
    province, city, district, citycode = AREAS[adcode]
    photo = {"title": EMPTY, "url": f"http://store.is.autonavi.com/showpic/{id.lower()}"}
    times = {"open_time": hours, "opentime2": f"周一至周日 {hours}"} if hours else {}
    return {
        "id": id,
        "name": name,
        "tag": EMPTY,
        "type": kind,
        "typecode": code,
        "address": address or EMPTY,
        "location": location,
        "tel": "010-65132842" if rating and adcode == "110101" else EMPTY,
        "distance": EMPTY if gap is None else str(int(gap)),
        "pname": province,
        "cityname": city,
        "adname": district,
        "adcode": adcode,
        "citycode": citycode,
        "business_area": EMPTY,
        "alias": EMPTY,
        "biz_ext": {"rating": rating or EMPTY, "cost": cost or EMPTY, **times},
        "photos": [photo] if rating else EMPTY,
    }


def _matching(query: Mapping[str, str]) -> list[tuple[str, ...]]:
    words = [word for word in query.get("keywords", "").split("|") if word]
    types = [kind for kind in query.get("types", "").split("|") if kind]
    return [
        row
        for row in PLACES
        if (not words or any(word in row[1] + row[2] for word in words))
        and (not types or any(row[3].startswith(kind.rstrip("0")) or kind in row[2] for kind in types))
    ]


def _page(rows: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    size, page = min(int(query.get("offset", 20)), 25), int(query.get("page", 1))
    shown = rows[(page - 1) * size : page * size]
    if query.get("extensions") != "all":
        deep = {"business_area", "alias"}
        shown = [{name: row[name] for name in row if name not in deep} for row in shown]
    suggestion = {"keywords": EMPTY, "cities": EMPTY}
    return _success(count=str(len(rows)), suggestion=suggestion, pois=shown)


def _around(query: Mapping[str, str]) -> dict[str, Any]:
    radius = min(float(query.get("radius", 5000)), 50_000)
    gaps = [(_metres(query["location"], row[5]), row) for row in _matching(query)]
    near = sorted(pair for pair in gaps if pair[0] <= radius)
    return _page([_poi(row, gap) for gap, row in near], query)


def _text(query: Mapping[str, str]) -> dict[str, Any]:
    if not query.get("keywords") and not query.get("types"):
        raise KeyError("keywords")
    return _page([_poi(row) for row in _matching(query) if _in_city(row[6], query)], query)


def _in_city(adcode: str, query: Mapping[str, str]) -> bool:
    city = query.get("city", "").removesuffix("市")
    province, name, district, code = AREAS[adcode]
    names = (province[:-1], name[:-1], district, code, adcode, f"{adcode[:4]}00")
    whole = (f"{adcode[:2]}0000",) if province == name else ()
    return not city or city in (*names, *whole)


def _detail(query: Mapping[str, str]) -> dict[str, Any]:
    found = [_poi(row) for row in PLACES if row[0] == query["id"]]
    return _success(count=str(len(found)), pois=found)


# Addresses


def _geo(query: Mapping[str, str]) -> dict[str, Any]:
    address = query["address"]
    named = {row[1]: (row[5], row[6], "兴趣点") for row in PLACES} | LANDMARKS
    known = [name for name in named if name in address and _in_city(named[name][1], query)]
    if known:
        name = max(known, key=len)
        location, adcode, level = named[name]
        province, city, district, _ = AREAS[adcode]
        found = [_geocode(location, province, city, district, adcode, level)]
        if name in SPELT_OUT:
            found[0]["formatted_address"] += name
    elif twins := next((TWINS[name] for name in TWINS if name in address), None):
        there = [row for row in twins if any(area[:-1] in address for area in AREAS[row[1]][:2])]
        found = [
            _geocode(location, *AREAS[adcode][:3], adcode, level)
            for location, adcode, level in there or twins
            if _in_city(adcode, query)
        ]
    else:
        regions = [name for name in REGIONS if name[:-1] in address]
        found = [_geocode(*REGIONS[name]) for name in regions[-1:]]
    return _success(count=str(len(found)), geocodes=found)


def _geocode(location: str, province: Any, city: Any, district: Any, adcode: str, level: str) -> dict[str, Any]:
    code = next((area[3] for area in AREAS.values() if area[1] == city), EMPTY)
    return {
        "formatted_address": "".join(dict.fromkeys(filter(None, (province, city or "", district or "")))),
        "country": "中国",
        "province": province,
        "citycode": code,
        "city": city,
        "district": district,
        "township": EMPTY,
        "street": EMPTY,
        "number": EMPTY,
        "adcode": adcode,
        "location": location,
        "level": level,
    }


def _regeo(query: Mapping[str, str]) -> dict[str, Any]:
    near = min(PLACES, key=lambda row: _metres(query["location"], row[5]))
    province, city, district, code = AREAS[near[6]]
    outer = "" if province == city else province
    parts = {
        "country": "中国",
        "province": province,
        "city": EMPTY if province == city else city,  # so Amap does for the four municipalities
        "citycode": code,
        "district": district,
        "adcode": near[6],
        "township": EMPTY,
        "streetNumber": {"street": EMPTY, "number": EMPTY},
    }
    whole = f"{outer}{city}{district}{near[4]}"
    return _success(regeocode={"formatted_address": whole, "addressComponent": parts})


# Ways


def _path(query: Mapping[str, str], speed: float, of: Callable[[float], Any]) -> dict[str, Any]:
    start, end = query["origin"], query["destination"]
    far = _metres(start, end) * 1.3
    corner = f"{end.split(',')[0]},{start.split(',')[1]}"  # first east or west, then north or south
    steps = [
        {
            "instruction": words,
            "orientation": "西",
            "road": EMPTY,
            "distance": of(far / 2),
            "duration": of(far / 2 / speed),
            "polyline": f"{a};{b}",
            "action": EMPTY,
        }
        for words, a, b in (
            ("沿东长安街向西直行", start, corner),
            ("右转进入南池子大街", corner, end),
        )
    ]
    way = {"distance": of(far), "duration": of(far / speed), "steps": steps}
    return {"origin": start, "destination": end, "paths": [way]}


def _digits(value: float) -> str:
    return str(int(value))


def _cycling(query: Mapping[str, str]) -> dict[str, Any]:
    return {"data": _path(query, 4, int), "errcode": 0, "errdetail": None, "errmsg": "OK"}


def _transit(query: Mapping[str, str]) -> dict[str, Any]:
    start, end, _ = query["origin"], query["destination"], query["city"]
    walk = {
        "origin": start,
        "destination": end,
        "distance": "420",
        "duration": "360",
        "steps": EMPTY,
    }
    line = {
        "name": "地铁1号线",
        "type": "地铁线路",
        "distance": "852",
        "duration": "120",
        "polyline": f"{start};{end}",
    }
    stops = {"departure_stop": {"name": "王府井"}, "arrival_stop": {"name": "天安门东"}}
    doors = {"name": "王府井地铁站A口", "location": start}
    none = {"entrance": EMPTY, "exit": EMPTY, "railway": EMPTY, "taxi": EMPTY}
    segments = [
        none | {"walking": walk, "bus": {"buslines": [line | stops]}, "entrance": doors},
        none | {"walking": EMPTY, "bus": {"buslines": EMPTY}},
    ]
    transit = {"cost": "3.0", "duration": "1080", "walking_distance": "840", "segments": segments}
    route = {"origin": start, "destination": end, "distance": _digits(_metres(start, end) * 1.2)}
    return _success(count="1", route=route | {"transits": [transit]})


def _distance(query: Mapping[str, str]) -> dict[str, Any]:
    results = []
    for n, origin in enumerate(query["origins"].split("|"), 1):
        far = _metres(origin, query["destination"]) * {"0": 1, "1": 1.3, "3": 1.2}[query["type"]]
        time = _digits(far / 7) if query["type"] == "1" else "0"
        row = {"origin_id": str(n), "dest_id": "1", "distance": _digits(far), "duration": time}
        results.append(row)
    return _success(count=str(len(results)), results=results)


# The rest


def _weather(query: Mapping[str, str]) -> dict[str, Any]:
    city = next((name for name in REGIONS if query["city"] in (name, name[:-1])), None)
    if city is None:
        return _success(count="0", forecasts=EMPTY)
    days = [
        {
            "date": f"2026-11-{day}",
            "dayweather": "晴",
            "nightweather": "多云",
            "daytemp": "9",
            "nighttemp": "-2",
        }
        for day in (21, 22, 23, 24)
    ]
    forecast = {"city": city, "adcode": REGIONS[city][4], "reporttime": "2026-11-21 18:01:29"}
    return _success(count="1", forecasts=[forecast | {"casts": days}])


def _ip(query: Mapping[str, str]) -> dict[str, Any]:
    if query["ip"].startswith(("10.", "127.", "192.168.")):
        return _success(province="局域网", city=EMPTY, adcode=EMPTY, rectangle=EMPTY)
    box = "116.0119343,39.66127144;116.7829835,40.2164962"
    return _success(province="北京市", city="北京市", adcode="110000", rectangle=box)


PATHS: dict[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
    "/v3/geocode/geo": _geo,
    "/v3/geocode/regeo": _regeo,
    "/v3/place/around": _around,
    "/v3/place/text": _text,
    "/v3/place/detail": _detail,
    "/v3/direction/walking": lambda query: _success(route=_path(query, 1.25, _digits)),
    "/v3/direction/driving": lambda query: _success(route=_path(query, 7, _digits)),
    "/v3/direction/transit/integrated": _transit,
    "/v4/direction/bicycling": _cycling,
    "/v3/distance": _distance,
    "/v3/weather/weatherInfo": _weather,
    "/v3/ip": _ip,
}
