### 查询地图前需要问清的内容

look-where = 想找哪里附近的？请写明地点，例如“北京王府井附近”。
look-large = “{ $place }”范围太大（{ $level }）。请写明城市或具体地点。
look-several = “{ $place }”有几处：{ $candidates }。请写明是哪一处。
look-vague = 地图没有找到“{ $place }”，只认出了{ $name }。请写得更具体，或写明所在城市。
look-offline = “{ $place }”不在离线示例中，示例只有王府井、外滩和西湖一带的地点。设置 AMAP_MAPS_API_KEY 可查询高德地图（中国大陆、香港和澳门）；在设置中打开开放来源，可用 OpenStreetMap 查询世界各地。
look-offline_none = 离线示例中没有这样的地点：示例只有王府井、外滩和西湖一带的少量地点，并不表示当地没有。设置 AMAP_MAPS_API_KEY 可查询高德地图（中国大陆、香港和澳门）；在设置中打开开放来源，可用 OpenStreetMap 查询世界各地。
look-unknown = 地图没有找到“{ $place }”。请换一个名称，或写明所在城市。
look-no_ways = 离线示例不含路线，只有地点和直线距离。设置 AMAP_MAPS_API_KEY 可向高德地图查询路线。
look-no_way = 地图没有找到这两处之间的路线（{ $means }）。
look-uncovered = “{ $place }”看来不在高德地图的覆盖范围（中国大陆、香港和澳门）内。在设置中打开开放来源，即可用 OpenStreetMap 查找；如果您指的是国内的地点，请写明所在城市。
