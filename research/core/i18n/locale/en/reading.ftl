# What a question has been read as: the wording of the interpreter, in a few words each.

reading-count = number of { $things }
reading-number = count
reading-sum = total { $column }
reading-avg = average { $column }
reading-max = highest { $column }
reading-min = lowest { $column }
reading-by = { $what } by { $by }
reading-by_year = year
reading-by_quarter = quarter
reading-by_month = month
reading-by_day = day
reading-per = average { $what } per { $by }
reading-none = no { $things }
reading-highest = { $n ->
    [one] the highest
   *[other] the { $n } highest
}
reading-lowest = { $n ->
    [one] the lowest
   *[other] the { $n } lowest
}
reading-many = { $what } would be counted several times there
