"""What the corrected mode mends of upstream's metric functions: for a task's notes."""

from __future__ import annotations

from collections.abc import Mapping

CORRECTIONS: Mapping[str, str] = {
    "are_jupyter_outputs_cleared": "outputs count too, not the execution counts alone",
    "check_file_existence": "the file must have something in it",
    "check_include_exclude": "the words must be words of their own, not parts of longer ones",
    "check_local_database": "rows and columns have no order, and numbers are equal to nine digits",
    "check_yaml_file": "what a value must contain is a word of its own",
    "compare_csv": "cells count as a spreadsheet reads them, and rows have no order where the instruction sets none",
    "compare_image_list": "pictures must have one size; one pixel in a hundred may differ",
    "compare_images": "sizes may differ by a tenth at most",
    "compare_ipynb_files": "all cells must be there: upstream stops with the shorter file",
    "compare_json_file": "records have no order where the instruction sets none, and true is not 1",
    "compare_jupyterlab_images": "pixels are compared, not histograms of one channel",
    "compare_metabase_images": "what is drawn must be in the same places; upstream compares a histogram of one channel",
    "compare_notebook_cells": "empty cells at the end and spaces at the ends of lines do not count",
    "compare_notebook_outputs": (
        "execution counts, warnings, addresses in memory and empty cells at the end do not count; "
        "pictures that look alike are equal"
    ),
    "compare_sql": "white space, case outside quotes and a last semicolon do not count",
    "compare_table": (
        "cells are compared one by one, not as columns that pandas gives a type; pivot tables by the names of fields, "
        "their labels as any LibreOffice writes them; charts of dates can be read; "
        "a number as the second sheet is the gold's; "
        "looks by what is seen; the direction and stacking of bars where the instruction names them"
    ),
    "compare_text_file": "spaces at the ends of lines and of the file do not count",
    "diff_text_file": "the score is 1 or 0, not the share of equal lines",
    "exact_match": "white space and a last semicolon do not count",
    "is_expected_url_pattern_match": "an origin must begin the address: upstream finds it anywhere in it",
    "is_jupyter_cell_executed": "cells with nothing in them need not be run",
    "is_not_in_list": "upstream looks for a list in the list, so nothing fails",
    "literal_match": "the option ignore_order counts: upstream does not read it",
}
"""By the function's name; the two of Snowflake's users and logs are judged as upstream does."""
