"""Dialogues: let a model write dialogues about tables, as tasks in the form of our own."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from deskgym.cli.models import add_model, asked_model
from deskgym.cli.output import note
from deskgym.envs.errors import near


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DOMAIN, --out, --personas, --turns, and the model."""
    parser.add_argument("domain", metavar="DOMAIN", help="the tables, such as wines")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder of the files")
    parser.add_argument("--personas", type=int, default=1, metavar="N", help="dialogues (default: 1)")
    parser.add_argument("--turns", type=int, default=4, metavar="N", help="questions of each, 3 to 8 (default: 4)")
    parser.add_argument("--machine", default="sandbox", help="where code runs (default: sandbox)")
    add_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the dialogues; 0 where each could be written."""
    from deskgym.agents.llm.company import Bench, CompanyError, DecisionCompany
    from deskgym.task_suites.table_analysis.domains import domain_names

    if arguments.domain not in domain_names():
        legal = ", ".join(domain_names())
        raise ValueError(f"domain {arguments.domain!r}; legal are {legal}{near(arguments.domain, domain_names())}")
    if not 3 <= arguments.turns <= 8 or arguments.personas < 1:
        raise ValueError(f"--turns {arguments.turns} --personas {arguments.personas}; legal are 3 to 8, and 1 or more")
    out, written = Path(arguments.out), 0
    with asked_model(arguments) as model, closing(Bench(arguments.domain, arguments.machine)) as bench:
        company = DecisionCompany(model, bench, arguments.domain, arguments.turns, note=note)
        for persona in company.personas(arguments.personas):
            try:
                text = company.dialogue(persona)
            except CompanyError as error:
                note(f"no dialogue of {persona.name}: {error}")
                continue
            path = out / f"{text.partition(chr(10))[0].removeprefix('id: ').replace('/', '-')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path)
            written += 1
        spent = model.spending.usage
        note(f"{written} of {arguments.personas} dialogues, {spent.prompt} prompt and {spent.answer} answer tokens")
    print(f"read them, since they run on this host when they are drawn; then prove them: deskgym verify {out}")
    return int(written < arguments.personas)
