### 地图对地点、路线和天气的说明，逐行可以引用。

fact-address = 地址：{ $where }
fact-distance = 距{ $centre }约 { $far }（直线）
fact-rating = 评分 { $n }（满分 5）
fact-cost = 人均 { $n } 元
fact-hours = 营业时间：{ $hours }
fact-phone = 电话：{ $phone }
fact-sample = 离线示例数据
fact-walking = 步行
fact-driving = 驾车
fact-bicycling = 骑行
fact-transit = 公共交通
fact-straight = 直线
fact-way = { $means }：从 { $start } 到 { $end }，{ $far }，约 { $n } 分钟
fact-ride = { $means }：从 { $start } 到 { $end }，约 { $n } 分钟
fact-apart = 从 { $start } 到 { $end }，{ $means }：{ $far }
fact-minutes = 约 { $n } 分钟
fact-weather = { $city }天气预报（{ $date }）
fact-day = { $date }：白天{ $day }，夜间{ $night }，{ $low }至{ $high }℃
fact-wider = { $asked } 内没有，已扩大到 { $far }
fact-not_wider = 扩大到 { $far } 也没有
fact-unplaced = 另有 { $n } 处未查到位置，未列入
