"""Launches the runs that everybody finds, as a page would: one of each job succeeded, one failed; and all assets."""

import json
import time
import urllib.request
from pathlib import Path

import company

URL = "http://127.0.0.1:3000"
LAUNCH = """mutation ($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
__typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
... on RunConfigValidationInvalid { errors { message } } } }"""
STATUS = "query ($id: ID!) { pipelineRunOrError(runId: $id) { ... on Run { status } } }"


def ask(query, **variables):
    """What the server answers to a query."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{URL}/graphql", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))["data"]


def launch(job, config, **selector):
    """Launch a run; gives its id."""
    where = {"repositoryName": "__repository__", "repositoryLocationName": "company", "pipelineName": job, **selector}
    answer = ask(LAUNCH, params={"selector": where, "runConfigData": config, "mode": "default"})
    answer = answer["launchPipelineExecution"]
    if "run" not in answer:
        raise SystemExit(f"{job}: {answer}")
    return answer["run"]["runId"]


def await_end(runs, right):
    """Wait for the end of runs."""
    for run in runs:
        for _ in range(600):
            status = ask(STATUS, id=run)["pipelineRunOrError"]["status"]
            if status in ("SUCCESS", "FAILURE"):
                break
            time.sleep(0.2)
        if status != right:
            raise SystemExit(f"run {run} ended with {status}, not {right}")


for _ in range(600):
    try:
        ask("{ version }")
        break
    except OSError:
        time.sleep(0.5)
outage = Path(company.OUTAGE)
for batch, right in ((company.BATCH, "SUCCESS"), (company.BATCH + 100, "FAILURE")):
    runs = []
    for job, about in company.JOBS.items():
        config = {"ops": {about.ops[0]: {"config": {"region": about.region, "batch": batch}}}}
        runs.append(launch(job, config))
    await_end(runs, right)
    outage.write_text(" ".join(about.ops[about.fails] for about in company.JOBS.values()))
outage.unlink()
await_end([launch("__ASSET_JOB", {}, assetSelection=[{"path": [name]} for name in company.ASSETS])], "SUCCESS")
