"""Runs a job of a file of definitions, or materializes all its assets, in this process: ``FILE JOB CONFIG``."""

import importlib.util
import json
import sys

from dagster import Definitions

path, job, config = sys.argv[1:]
spec = importlib.util.spec_from_file_location("project", path)
module = importlib.util.module_from_spec(spec)
sys.modules["project"] = module
spec.loader.exec_module(module)
found = [each for each in vars(module).values() if isinstance(each, Definitions)]
if len(found) != 1:
    sys.exit(f"the file has {len(found)} Definitions; Dagster takes one")
made = found[0].get_job_def(job) if job else found[0].get_implicit_global_asset_job_def()
sys.exit(0 if made.execute_in_process(run_config=json.loads(config)).success else "the run failed")
