"""The registry of task suites: one entry says all that the rest of deskgym knows of a suite.

It imports nothing but the standard library: the Makefile reads it before anything is installed. A new suite is a folder
beside this file, and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Columns = tuple[tuple[str, str], ...]
Options = Mapping[str, tuple[str, ...]]

INSTRUCTIONS: Options = {"instruction": ("abstract", "verbose")}
"""What an agent is told: the task, or the task and the steps that solve it."""

SHOWN = ("all", "intent", "frames", "actions", "frames+procedure", "frames alone")
"""What is shown of a recorded workflow beside what a task cannot do without: the ablations of WONDERBREAD's paper."""


@dataclass(frozen=True)
class SuiteEntry:
    """A task suite. What it names as ``"module:name"`` is imported when it is needed.

    Attributes:
        name: what the command line calls it, and its folder below ``task_suites``.
        gym_id: what ``gymnasium.make`` calls it.
        programs: the names of the programs that its tasks use.
        importers: published benchmark → function of the user's copy and the mode that gives their tasks; ``""`` for one
            that cannot be loaded yet.
        code_scripts: those of them whose oracles run programs: the command line plays them with ``action="code"``.
        env: class of its environments, made with the tasks and the arguments of ``gymnasium.make``.
        display: whether these have a screen.
        machine: the only kind of machine that they take; "" leaves the choice to the user.
        load: function of this entry, ``mode`` and the ``options`` that gives its own tasks.
        options: arguments of ``load``, by name, with the legal values; the first one is the default.
        own_modes: whether ``mode`` makes a difference to its own tasks too, not only to a published benchmark's.
        importer_options: the same of an importer's function: published benchmark → options.
        folders: where its task files are, relative to ``task_suites``; ``NAME/tasks`` if left out.
        file_keys: keys by which a user's own task file, which names no ``suite``, is known to be for this one.
        columns: what ``deskgym tasks`` shows beside the id: title and key of the task's description.
        tallies: of which keys of the description it counts the values.
        result_tags: by which tags ``deskgym results`` counts what was solved: title → tags.
        grouped_by: by which key of the description it counts what can be played, for a published benchmark.
        commands: further commands of the command line: name → module.
        extra: the extra of this package that its tasks need.
        by_action: the suite that plays what is asked for with another action: action → suite.
        by_task: the suite that plays tasks of an id that begins so: what is before its first ``/`` → suite.
        by_source: the suite that plays the tasks of a published benchmark, where it is another: benchmark → suite.
        check_up: function that yields what ``deskgym doctor`` says of it beside its programs.
    """

    name: str
    gym_id: str
    programs: tuple[str, ...] = ()
    importers: Mapping[str, str] = field(default_factory=dict)
    code_scripts: tuple[str, ...] = ()
    env: str = "deskgym.envs.desktop_env:DesktopEnv"
    display: bool = True
    machine: str = ""
    load: str = "deskgym.task_suites:load_task_files"
    options: Options = field(default_factory=dict)
    own_modes: bool = False
    importer_options: Mapping[str, Options] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    file_keys: tuple[str, ...] = ()
    columns: Columns = (("difficulty", "difficulty"), ("max steps", "max_steps"), ("oracle", "oracle"))
    tallies: tuple[str, ...] = ()
    result_tags: Options = field(default_factory=dict)
    grouped_by: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    by_action: Mapping[str, str] = field(default_factory=dict)
    by_task: Mapping[str, str] = field(default_factory=dict)
    by_source: Mapping[str, str] = field(default_factory=dict)
    check_up: str = ""

    @property
    def task_folders(self) -> tuple[str, ...]:
        """Where its task files are, relative to ``task_suites``, or absolute."""
        return self.folders or (f"{self.name}/tasks",)


KINDS = (
    "sop_generation", "sop_improvement", "sop_execution", "segmentation", "validation", "question_answering", "ranking",
)  # fmt: skip
"""Of tasks about procedures: WONDERBREAD's six, and procedures that are carried out."""

ENTRIES = (
    SuiteEntry(
        name="data_engineering",
        gym_id="deskgym/DataEngineering-v0",
        programs=(
            "airflow",
            "airflow_dags",
            "calc",
            "chromium",
            "helpdesk",
            "jupyterlab",
            "postgresql",
            "superset",
            "terminal",
            "geany",
            "retail",
            "sqlite",
            "duckdb",
            "dbt",
            "dlt",
            "warehouse",
            "pgadmin",
            "fakesnow",
            "mariadb",
            "views",
            "dagster",
            "dagster_code",
            "dagster_project",
            "code_server",
        ),
        importers={"spider2v": "deskgym.task_suites.importers.spider2v.suite:suite"},
        code_scripts=("spider2v",),
        options=INSTRUCTIONS,
        importer_options={"spider2v": {**INSTRUCTIONS, "context_format": ("txt", "md", "html")}},
        columns=(
            ("category", "category"),
            ("interface", "interface"),
            ("difficulty", "difficulty"),
            ("max steps", "max_steps"),
            ("oracle", "oracle"),
            ("actions", "actions"),
        ),
        tallies=("tags",),
        grouped_by={"spider2v": "app"},
        result_tags={
            "category": (
                "data_warehousing",
                "data_transformation",
                "data_ingestion_and_integration",
                "data_analysis_and_visualization",
                "data_orchestration",
                "traditional_data_processing",
                "it_service_management",
            ),
            "interface": ("cli", "gui", "cli+gui"),
            "account": ("account",),
        },
    ),
    SuiteEntry(
        name="science",
        gym_id="deskgym/Science-v0",
        programs=(
            "coqide",
            "grass",
            "kalgebra",
            "kstars",
            "labplot",
            "pspp",
            "pymol",
            "stellarium",
            "texstudio",
            "lab_report",
        ),
        importers={"scienceboard": "deskgym.task_suites.importers.scienceboard.suite:suite"},
        options={**INSTRUCTIONS, "interface": ("any", "gui")},
        result_tags={
            "domain": (
                "algebra",
                "biochemistry",
                "gis",
                "astronomy",
                "theorem_proving",
                "documentation",
                "statistics",
                "data_analysis",
            ),
            "cross-program": ("cross_program",),
            "command line closed": ("gui_only",),
        },
        by_action={"tactic": "proving"},
        file_keys=("instruction", "oracle"),
    ),
    SuiteEntry(
        name="proving",
        gym_id="deskgym/Proving-v0",
        programs=("prover", "coqide"),
        importers={"scienceboard": "deskgym.task_suites.importers.scienceboard.suite:raw_suite"},
        env="deskgym.task_suites.proving.env:ProverEnv",
        display=False,
        load="deskgym.task_suites.proving.suite:suite",
        options=INSTRUCTIONS,
        result_tags={"domain": ("theorem_proving",)},
    ),
    SuiteEntry(
        name="bpm",
        gym_id="deskgym/BPM-v0",
        programs=(
            "chromium",
            "postgresql",
            "helpdesk",
            "shop",
            "forum",
            "tracker",
            "website",
            "erp",
            "mail",
            "company",
        ),  # fmt: skip
        options=INSTRUCTIONS,
        by_source={"wonderbread": "procedures", "demonstrations": "procedures"},
        by_task=dict.fromkeys(KINDS, "procedures"),
        commands={"wonderbread": "deskgym.cli.wonderbread"},
    ),
    SuiteEntry(
        name="procedures",
        gym_id="deskgym/Procedures-v0",
        importers={
            "wonderbread": "deskgym.task_suites.importers.wonderbread.material:suite",
            "demonstrations": "deskgym.task_suites.procedures.suite:demonstration_suite",
        },
        env="deskgym.task_suites.procedures.env:ProcedureEnv",
        display=False,
        machine="none",
        load="deskgym.task_suites.procedures.suite:suite",
        options={"shown": SHOWN},
        own_modes=True,
        result_tags={
            "kind": KINDS,
        },
        folders=("procedures/demonstrations",),
        importer_options={"wonderbread": {"shown": SHOWN}, "demonstrations": {"shown": SHOWN}},
        extra="procedures",
        tallies=("tags",),
    ),
    SuiteEntry(
        name="table_analysis",
        gym_id="deskgym/TableAnalysis-v0",
        importers={"tapilot": "deskgym.task_suites.importers.tapilot.suite:suite"},
        env="deskgym.task_suites.table_analysis.env:TableAnalysisEnv",
        display=False,
        load="deskgym.task_suites.table_analysis.suite:suite",
        options={"episode": ("turn", "dialogue")},
        own_modes=True,
        folders=("table_analysis/dialogues",),
        file_keys=("turns",),
        columns=(
            ("mode", "modes"),
            ("action type", "action_types"),
            ("result types", "result_types"),
            ("difficulty", "difficulty"),
        ),
        tallies=("modes", "action_types", "result_types"),
        commands={"history": "deskgym.cli.history", "dialogues": "deskgym.cli.dialogues"},
        extra="tables",
        check_up="deskgym.task_suites.table_analysis.check_up:check",
    ),
)
"""All suites, in the order in which they are listed."""
