### Opening hours in words

hours-always = open 24 hours a day
hours-daily = daily
hours-closed = closed
hours-to = { $first } to { $last }
hours-Mo = Mon
hours-Tu = Tue
hours-We = Wed
hours-Th = Thu
hours-Fr = Fri
hours-Sa = Sat
hours-Su = Sun
hours-PH = public holidays
hours-SH = school holidays
