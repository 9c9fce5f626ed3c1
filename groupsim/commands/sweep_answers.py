"""What a sweep's results answer, as plain data: what `sweep --json` prints and its page is made of.

Everything is asked of Spark, from the result files; nothing is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groupsim.commands.running import Wish
from groupsim.commands.sweep_questions import Questions
from groupsim.commands.sweep_summary import brief, interval, named
from simulation.bounds import Bound
from simulation.scenarios import Limits
from simulation.sentences import counted
from spark_bridge import columns as c
from spark_bridge.sweeps.advice import judged, ranked
from spark_bridge.sweeps.folder import Folder
from spark_bridge.sweeps.pareto import pareto
from spark_bridge.sweeps.statistics import distributions, estimates, usual_figures
from spark_bridge.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: So many runs that failed are told; all of them are in the results.
FAILURES_MAX = 20

Answer = dict[str, Any]


def answered(spark: SparkSession, folder: Folder[Sweep], questions: Questions) -> Answer:
    """All that was asked."""
    sweep = folder.plan
    results = folder.read(spark)
    named = [bound.figure for bound in (*questions.bounds, *questions.gates)]
    figures = [
        *(figure for measure in questions.measures for figure in usual_figures(measure)),
        *(figure for line in questions.lines for figure in line),
        *named,
        *([questions.goal] if questions.goal else []),
    ]
    # Everything below asks for them, and drawing takes a while.
    estimated = estimates(results, figures).cache()
    try:
        return {
            "scenario": sweep.scenario["name"],
            "path": str(folder.path),
            "axes": {path: list(values) for path, values in sweep.axes.items()},
            "variants": list(sweep.variants),
            "settings": sweep.settings,
            "first_seed": sweep.first_seed,
            "seeds": sweep.seeds,
            "runs": sweep.runs,
            "runs_kept": folder.runs_kept(),
            "failed": _failed(results),
            "failures": [
                row | {"command": _command(sweep, row)} for row in _failures(sweep, results)
            ],
            "measures": [measure.text for measure in questions.measures],
            "estimates": _rows(sweep, estimated.orderBy(c.SETTING, c.FIGURE)),
            "pareto": [
                {
                    "across": across.text,
                    "up": up.text,
                    "settings": _rows(sweep, pareto(estimated, across, up).orderBy(c.SETTING)),
                }
                for across, up in questions.lines
            ],
            "recommendation": _recommendation(sweep, estimated, questions)
            if questions.bounds
            else None,
            "gates": [_gate(sweep, estimated, bound) for bound in questions.gates],
        }
    finally:
        estimated.unpersist()


def answered_for_a_page(spark: SparkSession, folder: Folder[Sweep], questions: Questions) -> Answer:
    """The same, with what only a page has room for."""
    scenario = folder.plan.scenario
    means = [usual_figures(measure)[0] for measure in questions.measures]
    spread = distributions(folder.read(spark), means).orderBy(c.SETTING)
    return answered(spark, folder, questions) | {
        "title": scenario.get("title", ""),
        "question": str(scenario.get("question", "")).strip(),
        "distributions": _rows(folder.plan, spread),
    }


def _rows(sweep: Sweep, frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame; what was chosen stands in the order of the axes, which Spark forgets."""
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return [row | {c.CHOSEN: {path: row[c.CHOSEN][path] for path in sweep.axes}} for row in rows]


def _failed(results: DataFrame) -> int:
    return results.where(results[c.ERROR].isNotNull()).count()


def _failures(sweep: Sweep, results: DataFrame) -> list[dict[str, Any]]:
    failed = results.where(results[c.ERROR].isNotNull()).orderBy(c.SETTING, c.SEED)
    told = failed.select(c.SETTING, c.VARIANT, c.CHOSEN, c.SEED, c.ERROR)
    return _rows(sweep, told.limit(FAILURES_MAX))


def _command(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """What repeats a run."""
    chosen = [f"{path}={value}" for path, value in row[c.CHOSEN].items()]
    wish = Wish(
        scenario=sweep.source,
        changes=[*sweep.changes, *chosen],
        allow_python=sweep.allow_python,
        limits=Limits(**sweep.limits),
    )
    return wish.command(row[c.VARIANT], row[c.SEED])


def _gate(sweep: Sweep, estimated: DataFrame, bound: Bound) -> dict[str, Any]:
    rows = _rows(sweep, judged(estimated, [bound]).orderBy(c.SETTING))
    return {
        "bound": bound.text,
        "holds": all(row[c.HOLDS] for row in rows),
        "settings": [{name: row[name] for name in row if name != c.BOUND} for row in rows],
    }


def _recommendation(sweep: Sweep, estimated: DataFrame, questions: Questions) -> dict[str, Any]:
    order = _rows(sweep, ranked(estimated, questions.bounds, questions.goal))
    best = order[0]
    own = estimated.where(estimated[c.SETTING] == best[c.SETTING])
    evidence = {row[c.BOUND]: row for row in _rows(sweep, judged(own, questions.bounds))}
    goal = questions.goal
    goals = [] if goal is None else _rows(sweep, own.where(own[c.FIGURE] == goal.text))
    answer = {
        "bounds": [bound.text for bound in questions.bounds],
        "minimize": None if goal is None else goal.text,
        "holds": best[c.HOLDS],
        "settings_that_hold": sum(row[c.HOLDS] for row in order),
        "setting": {name: best[name] for name in (c.SETTING, c.VARIANT, c.CHOSEN)},
        "evidence": [evidence[bound.text] for bound in questions.bounds],
        "goal": goals[0] if goals else None,
    }
    where, count = named(best, sweep.variants), counted(len(order), "setting")
    if answer["holds"]:
        sentence = f"take {where} ({_evidence(answer)} {count} hold){_doubt(answer, questions)}"
    elif best[c.EXCESS] is None:
        sentence = f"none of {count} holds: runs have failed in all of them"
    else:
        beyond = f"{brief(100 * best[c.EXCESS])}% of the limit beyond it"
        evidence_told = f"{_evidence(answer)} {count} hold"
        sentence = f"none of {count} holds; nearest is {where}, {beyond} ({evidence_told})"
    return answer | {"sentence": sentence}


def _evidence(answer: Mapping[str, Any]) -> str:
    """What speaks for a setting, or how near it comes."""
    found = "; ".join(f"{row[c.BOUND]}: {_found(row)}" for row in answer["evidence"])
    goal = answer["goal"]
    least = "" if goal is None else f"; {goal[c.FIGURE]} is {interval(goal)}"
    runs = counted(answer["evidence"][0][c.RUN_COUNT], "run")
    return f"{found}{least}; {runs}; {answer['settings_that_hold']} of"


def _found(row: Mapping[str, Any]) -> str:
    if row[c.FAILED]:
        return f"{counted(row[c.FAILED], 'run')} failed"
    return f"it is {interval(row)}"


def _doubt(answer: Mapping[str, Any], questions: Questions) -> str:
    """Whether a figure might as well lie beyond its limit, given other seeds."""
    limits = {bound.text: bound.limit for bound in questions.bounds}
    is_open = any(
        row[c.LOW] < row[c.HIGH] and row[c.LOW] <= limits[row[c.BOUND]] <= row[c.HIGH]
        for row in answer["evidence"]
    )
    return "; the interval reaches beyond the limit: more seeds may say otherwise" * is_open
