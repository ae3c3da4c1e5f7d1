"""Text processing in Chinese and English: numbers, units, dates, sentences and tokens."""
