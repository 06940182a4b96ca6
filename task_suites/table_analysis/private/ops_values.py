"""Operations on texts and dates, and the functions of pandas itself."""

from deskgym.task_suites.table_analysis.private.operations import Op

_TEXTS = "a column of texts"
_MASK = "True or False for each text"
_NUMBERS = "a column of numbers"
_TABLE = "a new table"
_COLUMN = "a new column"


def _text(name: str, signature: str, words: str, does: str, returns: str = _TEXTS, like: str = "") -> Op:
    return Op(f".str.{name}", signature, words, does, returns, like, receiver="texts")


def _part(name: str, words: str, does: str, returns: str = _NUMBERS, like: str = "") -> Op:
    return Op(f".dt.{name}", "", words, does, returns, like, f"return {{self}}.dt.{name}", "dates")


def _date(name: str, signature: str, words: str, does: str, returns: str, like: str = "") -> Op:
    return Op(f".dt.{name}", signature, words, does, returns, like, receiver="dates")


def _pandas(name: str, signature: str, words: str, does: str, returns: str, like: str = "") -> Op:
    return Op(f"pd.{name}", signature, words, does, returns, like, receiver="")


OPERATIONS = (
    _text("upper", "", "shout enlarge raise / letters wording script", "Turns all letters into capitals.",
          like=".str.lower .str.title"),
    _text("lower", "", "whisper small quiet / letters wording script", "Turns all letters into small ones.",
          like=".str.upper"),
    _text("title", "", "dignify headline dress / words wording script", "Turns the first letter of every word into a"
          " capital.", like=".str.capitalize"),
    _text("capitalize", "", "dignify headline dress / opening first_letter start", "Turns the first letter of each"
          " text into a capital, the others into small ones.", like=".str.title"),
    _text("strip", "| to_strip", "tidy bare clean / edges ends margins", "Takes blanks (or given characters) off both"
          " ends.", like=".str.lstrip .str.rstrip"),
    _text("lstrip", "| to_strip", "tidy bare clean / left_edge front_end head", "Takes blanks (or given characters)"
          " off the start.", like=".str.rstrip"),
    _text("rstrip", "| to_strip", "tidy bare clean / right_edge rear_end foot", "Takes blanks (or given characters)"
          " off the end.", like=".str.lstrip"),
    _text("len", "", "extent reach measure / of_wording in_letters script", "Counts the characters of each text.",
          _NUMBERS),
    _text("count", "pat", "occurrences hits times / of_wording in_script of_piece", "Counts how often a pattern occurs"
          " in each text.", _NUMBERS, ".str.contains"),
    _text("contains", "pat", "mentions holds includes / wording piece phrase", "Tells which texts have a pattern in"
          " them.", _MASK, ".str.startswith .str.endswith"),
    _text("startswith", "pat", "opens begins leads / with_piece wording phrase", "Tells which texts begin with a given"
          " text.", _MASK, ".str.endswith"),
    _text("endswith", "pat", "closes finishes trails / with_piece wording phrase", "Tells which texts end with a given"
          " text.", _MASK, ".str.startswith"),
    _text("match", "pat", "fits obeys follows / scheme shape form", "Tells which texts begin with a regular"
          " expression.", _MASK, ".str.fullmatch"),
    _text("fullmatch", "pat", "fits obeys follows / scheme_wholly shape_wholly entirely", "Tells which texts"
          " match a regular expression as a whole.", _MASK),
    _text("replace", "pat repl", "exchange substitute reword / piece wording phrase", "Puts a text in place of a"
          " pattern."),
    _text("split", "| pat", "break chop divide / wording pieces at_mark", "Splits each text at a separator (blanks"
          " unless told).", "a list of pieces for each text", ".str.rsplit"),
    _text("rsplit", "| pat", "break chop divide / from_rear backward from_end", "Splits each text at a separator,"
          " counted from the end.", "a list of pieces for each text"),
    _text("get", "i", "choose fetch pick / piece token bit", "Takes the character or piece at a position of each,"
          " from 0."),
    _text("slice", "| start stop", "excerpt snip crop / wording letters script", "Takes the characters between two"
          " positions of each text."),
    _text("extract", "pat", "dig mine lift / pieces tokens bits", "Takes what the groups of a regular expression"
          " match.", "a table with a column per group, or a column"),
    _text("findall", "pat", "hunt collect gather / pieces tokens bits", "Lists all matches of a regular expression in"
          " each text.", "a list for each text"),
    _text("cat", "| others", "glue fuse weld / wording pieces script", "Puts texts together, with a separator between"
          " them.", "a column of texts, or one text if there is only one column"),
    _text("zfill", "width", "pad stuff lead / digits noughts ciphers", "Puts zeros before each text up to a length."),
    _text("pad", "width", "stuff extend stretch / wording to_width script", "Fills each text with blanks up to a"
          " length."),
    _text("get_dummies", "| sep", "flag indicate mark / pieces tokens bits", "Makes a column of 0 and 1 for each piece"
          " that occurs.", _TABLE),
    _part("year", "annum era vintage / of_moment in_calendar number", "Takes the year.", like=".dt.month .dt.quarter"),
    _part("month", "lunar moonly twelfth / of_moment in_calendar number", "Takes the month, 1 to 12.",
          like=".dt.quarter .dt.day"),
    _part("day", "daily date_part numeral / of_moment in_calendar number", "Takes the day of the month, 1 to 31.",
          like=".dt.day_of_week .dt.day_of_year"),
    _part("quarter", "seasonal fiscal part / of_moment in_calendar number", "Takes the quarter of the year, 1 to 4.",
          like=".dt.month"),
    _part("hour", "clock timely part / of_moment in_calendar number", "Takes the hour, 0 to 23.", like=".dt.minute"),
    _part("minute", "clock timely fine / of_moment in_calendar number", "Takes the minute, 0 to 59.",
          like=".dt.second .dt.hour"),
    _part("second", "clock timely finest / of_moment in_calendar number", "Takes the second, 0 to 59.",
          like=".dt.minute"),
    _part("day_of_week", "weekly place seat / of_moment in_sevens number", "Takes the weekday, 0 for Monday to 6 for"
          " Sunday.", like=".dt.day"),
    _part("day_of_year", "annual place seat / of_moment in_calendar number", "Takes the number of the day in the year,"
          " from 1.", like=".dt.day"),
    _part("date", "calendar plain bare / of_moment day_only form", "Takes the date without the time of day.",
          "a column of Python dates"),
    _part("days", "whole full complete / turns_of_sun daylengths rotations", "Takes the whole days of durations.",
          like=".dt.seconds"),
    _part("seconds", "rest remaining odd / ticks of_day moments_left", "Takes the seconds of durations beyond their"
          " whole days.", like=".dt.days"),
    _part("is_month_end", "closing final last / of_calendar_page in_period flag", "Tells which dates are the last of"
          " their month.", "True or False for each date", ".dt.is_month_start"),
    _part("is_month_start", "opening initial first / of_calendar_page in_period flag", "Tells which dates are the"
          " first of their month.", "True or False for each date", ".dt.is_month_end"),
    _date("day_name", "", "weekly spoken called / word_of_moment wording title", "Gives the English name of the"
          " weekday.", _TEXTS, ".dt.month_name"),
    _date("month_name", "", "lunar spoken called / word_of_moment wording title", "Gives the English name of the"
          " month.", _TEXTS, ".dt.day_name"),
    _date("strftime", "date_format", "write spell print / moment calendar stamp", "Writes dates as texts in a"
          " format.", _TEXTS),
    _date("floor", "freq", "lower ground settle / moment stamp to_unit", "Cuts dates down to whole units of time.",
          "a column of dates", ".dt.ceil"),
    _date("ceil", "freq", "raise lift top / moment stamp to_unit", "Brings dates up to whole units of time.",
          "a column of dates", ".dt.floor"),
    _date("to_period", "| freq", "assign place bracket / moment_to_span stamp_to_span calendar", "Gives the period,"
          " such as the month, that each date lies in.", "a column of periods"),
    _date("to_timestamp", "", "anchor start fix / span_to_moment span_to_stamp calendar", "Gives the date at which each"
          " period starts.", "a column of dates"),
    _date("normalize", "", "midnight still quiet / moment stamp clock", "Sets the time of day to midnight.",
          "a column of dates"),
    _date("total_seconds", "", "whole entire full / ticks duration length", "Gives durations in seconds.", _NUMBERS),
    _date("isocalendar", "", "business official formal / weeks numbering calendar", "Gives year, week number and"
          " weekday by the ISO calendar.", "a table with the columns year, week and day"),
    _pandas("DataFrame", "| data index columns", "build form raise / sheet grid ledger_of", "Makes a table.", _TABLE),
    _pandas("Series", "| data index", "build form raise / strand lane line", "Makes a column of values with labels.",
            _COLUMN),
    _pandas("concat", "objs", "chain append pile / sheets blocks portions", "Puts tables or columns one after"
            " another.", "one table or column"),
    _pandas("merge", "left right | how on", "combine match unite / two_by_key both sheets", "Combines two tables: rows"
            " that agree in their keys become one row; rows without a match are left out unless told.", _TABLE),
    _pandas("to_datetime", "arg", "read parse decode / moments stamps calendar", "Turns texts or numbers into dates.",
            "dates"),
    _pandas("to_timedelta", "arg", "read parse decode / durations spans_of_time lengths", "Turns texts or numbers into"
            " durations.", "durations"),
    _pandas("to_numeric", "arg", "read parse decode / numbers figures amounts", "Turns texts into numbers.", "numbers"),
    _pandas("cut", "x bins", "band bin_up slot / values_at ranges_of by_edges", "Sorts values into intervals by the"
            " given edges, each with its right edge and without its left one unless told, or into a number of equally"
            " wide ones.", "the interval of each value", "pd.qcut"),
    _pandas("qcut", "x q", "band bin_up slot / evenly by_share by_headcount", "Sorts values into intervals that hold"
            " equally many of them.", "the interval of each value", "pd.cut"),
    _pandas("crosstab", "index columns", "cross tabulate grid / two_keys pairs_of kinds", "Counts how often each pair"
            " of values of two columns occurs.", "a table of counts"),
    _pandas("get_dummies", "data", "encode flag indicate / kinds categories varieties", "Makes an indicator column for"
            " each category.", _TABLE),
    _pandas("pivot_table", "data", "cross tabulate grid / sheet_by_keys statistics levels", "Spreads a table into a"
            " grid of statistics (the mean unless told).", _TABLE),
    _pandas("melt", "frame", "lengthen unspread gather / sheet_fields to_long strands", "Gathers columns into two: one"
            " with their names, one with their values.", _TABLE),
    _pandas("date_range", "| start end periods", "lay count_off generate / calendar_days moments timeline", "Makes a"
            " sequence of dates at equal distances.", "the dates"),
    _pandas("isna", "obj", "is blank hollow / or_absent entry thing", "Tells whether a value is missing.",
            "True or False", "pd.notna"),
    _pandas("notna", "obj", "is filled known / or_present entry thing", "Tells whether a value is not missing.",
            "True or False", "pd.isna"),
    _pandas("Timestamp", "ts_input", "fix point name / moment instant calendar_day", "Makes one date with time.",
            "the date", "pd.Timedelta"),
    _pandas("Timedelta", "value | unit", "fix name state / duration lapse stretch", "Makes one duration.",
            "the duration"),
    _pandas("Categorical", "values | categories", "declare fix set_out / kinds varieties scale", "Makes values of a"
            " fixed list of categories.", "the values"),
    _pandas("factorize", "values", "number code encode / kinds varieties labels_of", "Numbers the distinct values in"
            " the order in which they occur.", "a pair: the number of each value, and the distinct values"),
    _pandas("unique", "values", "list enumerate roster / distinct_of kinds_of varieties_of", "Lists the distinct"
            " values.", "an array of the values"),
    _pandas("IntervalIndex.from_breaks", "breaks", "fence edge delimit / ranges bands spans", "Makes intervals from"
            " their edges.", "the intervals"),
)  # fmt: skip
