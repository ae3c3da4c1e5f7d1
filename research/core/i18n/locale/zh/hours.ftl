### 用文字表示的营业时间

hours-always = 全天开放
hours-daily = 每天
hours-closed = 休息
hours-to = { $first }至{ $last }
hours-Mo = 周一
hours-Tu = 周二
hours-We = 周三
hours-Th = 周四
hours-Fr = 周五
hours-Sa = 周六
hours-Su = 周日
hours-PH = 公众假期
hours-SH = 学校假期
