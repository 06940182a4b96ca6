"""Prints what a file of definitions has, as JSON: assets and their sources, jobs and their ops, schedules."""

import importlib.util
import json
import os
import sys

from dagster import Definitions

answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the file prints is no answer; who means to can forge one, so tasks run the file too

spec = importlib.util.spec_from_file_location("project", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["project"] = module
spec.loader.exec_module(module)
found = [each for each in vars(module).values() if isinstance(each, Definitions)]
if len(found) != 1:
    sys.exit(f"the file has {len(found)} Definitions; Dagster takes one")
repository = found[0].get_repository_def()
graph = repository.asset_graph
print(json.dumps({
    "assets": [
        {"name": name, "sources": sorted(parent.to_user_string() for parent in graph.get(key).parent_keys)}
        for name, key in sorted((key.to_user_string(), key) for key in graph.materializable_asset_keys)
    ],
    "jobs": [
        {"name": job.name, "ops": [node.name for node in job.nodes_in_topological_order]}
        for job in sorted(repository.get_all_jobs(), key=lambda job: job.name) if not job.name.startswith("__")
    ],
    "schedules": [
        {
            "name": each.name, "job": each.job_name, "cron": each.cron_schedule,
            "timezone": each.execution_timezone or "UTC", "running": each.default_status.value == "RUNNING",
        }
        for each in sorted(repository.schedule_defs, key=lambda each: each.name)
    ],
}), file=answer, flush=True)  # fmt: skip
