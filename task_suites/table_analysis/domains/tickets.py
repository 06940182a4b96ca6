"""A support desk: half a year of tickets, and the agents who work on them. Generated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

ABOUT = """\
The support desk of a made-up software company, in two tables.
tickets: one row per ticket, opened from 2024-01-01 to 2024-06-30. ticket_id, opened_at (date and time), channel (email,
chat, phone or web form), topic (billing, login, bug, how-to or cancellation), priority (low, normal, high or urgent),
plan of the customer (free, pro or enterprise), agent_id (missing where nobody took the ticket), queue (how many tickets
were waiting when it was opened), words (length of the customer's text), first_reply_min (minutes until the first reply;
missing where nobody has replied), solve_hours (hours until it was solved; missing where it is still open), reopened (1
if the customer opened it again, else 0), score (the customer's satisfaction, 1 to 5; missing where none was given).
agents: one row per agent. agent_id (text such as A07), team (Front Line, Billing, Technical or Escalations), site
(Porto, Tallinn or Leeds), hired (date), weekly_hours (by contract)."""

TICKETS = 5000
HOLDOUT = 800
AGENTS = 36
CHANNELS = {"email": 0.4, "chat": 0.28, "phone": 0.12, "web form": 0.2}
TOPICS = {"billing": 0.22, "login": 0.2, "bug": 0.26, "how-to": 0.22, "cancellation": 0.1}
PRIORITIES = {"low": 0.25, "normal": 0.48, "high": 0.2, "urgent": 0.07}
PLANS = {"free": 0.4, "pro": 0.42, "enterprise": 0.18}
TEAMS = {"Front Line": 14, "Billing": 8, "Technical": 9, "Escalations": 5}
TEAM_OF = {"billing": "Billing", "cancellation": "Billing", "bug": "Technical", "how-to": "Front Line"}
TEAM_OF["login"] = "Front Line"
OFFICE = [1, 0.7, 0.6, 0.5, 0.6, 1, 2, 4, 8, 11, 11, 9, 7, 8, 10, 10, 9, 7, 5, 4, 3, 2.5, 2, 1.5]
REPLY = {"email": 95.0, "chat": 9.0, "phone": 4.0, "web form": 120.0}  # minutes
PACE = {"low": 1.7, "normal": 1.0, "high": 0.6, "urgent": 0.3}
EFFORT = {"billing": 9.0, "login": 4.0, "bug": 26.0, "how-to": 7.0, "cancellation": 12.0}  # hours


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """The tables of a variant: ``tickets``, ``agents`` and ``holdout_tickets`` (other tickets of the same desk)."""
    rng = np.random.default_rng(variant)
    agents = _agents(rng)
    skill = rng.lognormal(0, 0.22, AGENTS)
    everything = _outcomes(rng, _requests(rng, agents, TICKETS + HOLDOUT), skill)
    later = np.isin(np.arange(len(everything)), rng.choice(len(everything), HOLDOUT, replace=False))
    tickets = _with_gaps(rng, everything[~later].reset_index(drop=True))
    return {"tickets": tickets, "agents": agents, "holdout_tickets": everything[later].reset_index(drop=True)}


def _agents(rng: np.random.Generator) -> pd.DataFrame:
    hired = np.datetime64("2016-02-01") + rng.integers(0, 2800, AGENTS).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "agent_id": [f"A{k:02d}" for k in range(1, AGENTS + 1)],
            "team": rng.permutation(np.repeat(list(TEAMS), list(TEAMS.values()))),
            "site": rng.permutation(np.repeat(["Porto", "Tallinn", "Leeds"], [15, 12, 9])),
            "hired": hired.astype(str),
            "weekly_hours": rng.choice([20, 30, 38], AGENTS, p=[0.2, 0.25, 0.55]),
        }
    )


def _requests(rng: np.random.Generator, agents: pd.DataFrame, count: int) -> pd.DataFrame:
    """What customers wrote, when, and who took it."""
    days = np.arange(182)
    busy = np.where((days % 7) >= 5, 0.35, 1.0) * (1 + 0.004 * days)  # 2024-01-01 is a Monday
    hour = rng.choice(24, count, p=np.array(OFFICE) / sum(OFFICE))
    minutes = rng.choice(182, count, p=busy / busy.sum()) * 1440 + hour * 60 + rng.integers(0, 60, count)
    minutes = np.sort(minutes)
    opened = np.datetime64("2024-01-01T00:00") + minutes.astype("timedelta64[m]")
    topic = rng.choice(list(TOPICS), count, p=list(TOPICS.values()))
    load = np.array(OFFICE)[minutes // 60 % 24] / 11
    plan = rng.choice(list(PLANS), count, p=list(PLANS.values()))
    length = rng.lognormal(4.1, 0.6, count) * np.where(topic == "bug", 1.5, 1.0)
    frame = pd.DataFrame(
        {
            "ticket_id": np.arange(700001, 700001 + count),
            "opened_at": np.char.replace(opened.astype(str), "T", " "),
            "channel": rng.choice(list(CHANNELS), count, p=list(CHANNELS.values())),
            "topic": topic,
            "priority": rng.choice(list(PRIORITIES), count, p=list(PRIORITIES.values())),
            "plan": plan,
            "agent_id": "",
            "queue": rng.poisson(4 + 26 * load * rng.lognormal(0, 0.3, count)),
            "words": np.maximum(np.round(length), 3).astype(int),
        }
    )
    return frame.assign(agent_id=_takers(rng, agents, frame))


def _takers(rng: np.random.Generator, agents: pd.DataFrame, requests: pd.DataFrame) -> np.ndarray:
    """An agent for each ticket: of the topic's team, or of Escalations for what is urgent; a fifth goes to anyone."""
    team = requests["topic"].map(TEAM_OF).to_numpy(dtype=object)
    team = np.where(requests["priority"] == "urgent", "Escalations", team)
    weights = agents["weekly_hours"].to_numpy() * rng.lognormal(0, 0.25, AGENTS)
    taker = rng.choice(agents["agent_id"], len(requests), p=weights / weights.sum())
    stays = rng.random(len(requests)) < 0.8
    for name in TEAMS:
        chosen, able = (team == name) & stays, (agents["team"] == name).to_numpy()
        taker[chosen] = rng.choice(agents["agent_id"][able], int(chosen.sum()), p=weights[able] / weights[able].sum())
    return np.asarray(taker)


def _outcomes(rng: np.random.Generator, requests: pd.DataFrame, skill: np.ndarray) -> pd.DataFrame:
    """The tickets with how they went: a long queue delays replies, late replies and hard topics lower the score."""
    count = len(requests)
    able = skill[requests["agent_id"].str[1:].astype(int).to_numpy() - 1]
    pace = requests["priority"].map(PACE).to_numpy()
    plan = requests["plan"].map({"free": 1.25, "pro": 1.0, "enterprise": 0.75}).to_numpy()
    wait = requests["channel"].map(REPLY).to_numpy() * pace * plan * able * (0.3 + requests["queue"].to_numpy() / 18)
    wait = np.round(wait * rng.lognormal(0, 0.4, count), 1)
    effort = requests["topic"].map(EFFORT).to_numpy() * pace * able * (0.6 + requests["words"].to_numpy() / 150)
    solve = np.round(wait / 60 + effort * rng.lognormal(0, 0.55, count), 1)
    risk = 0.05 + 0.1 * (requests["topic"] == "bug") + 0.1 * (able > 1.15) + 0.05 * (requests["plan"] == "free")
    reopened = (rng.random(count) < risk.to_numpy()).astype(int)
    mood = 4.7 - 0.35 * np.log1p(wait / 20) - 0.25 * np.log1p(solve / 6) - 0.9 * reopened
    mood = mood - 0.5 * (requests["topic"] == "cancellation").to_numpy() + rng.normal(0, 0.75, count)
    return requests.assign(
        first_reply_min=np.maximum(wait, 0.5),
        solve_hours=np.maximum(solve, 0.1),
        reopened=reopened,
        score=np.clip(np.round(mood), 1, 5),
    )


def _with_gaps(rng: np.random.Generator, tickets: pd.DataFrame) -> pd.DataFrame:
    """The same with what is not known yet; scores of 1 and 5 are given more often than those between."""
    count = len(tickets)
    silent = rng.random(count) < np.where(tickets["score"].isin([1, 5]), 0.45, 0.62)
    unanswered = rng.random(count) < 0.03
    still_open = (rng.random(count) < 0.05) | unanswered
    return tickets.assign(
        agent_id=tickets["agent_id"].mask(rng.random(count) < 0.012),
        first_reply_min=tickets["first_reply_min"].mask(unanswered),
        solve_hours=tickets["solve_hours"].mask(still_open),
        reopened=tickets["reopened"].where(~still_open, 0),
        score=tickets["score"].mask(silent | still_open),
    )


DOMAIN = Domain(
    name="tickets",
    title="A support desk",
    about=ABOUT,
    source="generated by deskgym; no real company, agent or customer",
    licence="Apache-2.0",
    tables=tables,
)
