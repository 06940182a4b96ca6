"""Spider2-V's metric functions, on values that the getters gave: nothing here runs what an agent wrote."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.task_suites.importers.spider2v.metrics.databases import check_local_database
from deskgym.task_suites.importers.spider2v.metrics.delimited import compare_csv
from deskgym.task_suites.importers.spider2v.metrics.judging import GoldBroken, Judging, Metric, Value
from deskgym.task_suites.importers.spider2v.metrics.notebooks import (
    are_jupyter_outputs_cleared,
    compare_ipynb_files,
    compare_notebook_cells,
    compare_notebook_outputs,
    is_jupyter_cell_executed,
)
from deskgym.task_suites.importers.spider2v.metrics.pictures import (
    compare_image_list,
    compare_images,
    compare_jupyterlab_images,
    compare_metabase_images,
)
from deskgym.task_suites.importers.spider2v.metrics.structures import (
    check_snowflake_log_message,
    check_yaml_file,
    compare_json_file,
    is_snowflake_user_created,
)
from deskgym.task_suites.importers.spider2v.metrics.tables import compare_table
from deskgym.task_suites.importers.spider2v.metrics.texts import (
    check_file_existence,
    check_include_exclude,
    compare_sql,
    compare_text_file,
    diff_text_file,
    exact_match,
    is_expected_url_pattern_match,
    is_not_in_list,
    literal_match,
)

METRICS: Mapping[str, Metric] = {
    function.__name__: function
    for function in (
        are_jupyter_outputs_cleared, check_file_existence, check_include_exclude, check_local_database,
        check_snowflake_log_message, check_yaml_file, compare_csv, compare_image_list, compare_images,
        compare_ipynb_files, compare_json_file, compare_jupyterlab_images, compare_metabase_images,
        compare_notebook_cells, compare_notebook_outputs, compare_sql, compare_table, compare_text_file,
        diff_text_file, exact_match, is_expected_url_pattern_match, is_jupyter_cell_executed, is_not_in_list,
        is_snowflake_user_created, literal_match,
    )
}  # fmt: skip
"""By upstream's names."""

__all__ = ["METRICS", "GoldBroken", "Judging", "Metric", "Value"]
