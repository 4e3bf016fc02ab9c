"""Text of the models' part of the page: results, intervals, sweeps, learning, overfitting."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pipelines.report.formats import UNDEFINED, number, parameter
from pipelines.report.metrics_table import METRICS, metric_row
from pipelines.report.view_selection import selection_notes, selection_table
from pipelines.report.view_tables import Table

MAIN_METRICS = ("net_profit", "sharpe", "max_drawdown", "trades", "win_rate", "exposure")
COST_METRICS = ("gross_profit", "fees", "slippage", "costs", "net_profit")
MODELS_A_TABLE = 5  # more columns would not fit the page
INTERVALS = {
    "net_a_session": ("Net profit a session", "signed_money"),
    "gross_a_session": ("Gross profit a session", "signed_money"),
    "above_reference_a_session": ("Net profit a session above {reference}", "signed_money"),
    "sharpe": ("Sharpe (annual)", "ratio"),
}


def model_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Tables and notes of everything that was trained, swept or evaluated."""
    return {
        "results": results(report),
        "costs": cost_table(report),
        "all_metrics": all_metrics(report),
        "undefined": undefined_notes(report["models"]),
        "intervals": interval_table(report),
        "interval_notes": interval_notes(report["models"]),
        "parameters": parameter_table(report["models"]),
        "hindsight": hindsight_sentence(report),
        "sweeps": [sweep(report, place) for place in range(len(report["rankings"]))],
        "chosen": chosen(report),
        "has_training": bool(report["training"]),
        "information": information_table(report["information"]),
        "information_undefined": any(row["ic"] is None or row["low"] is None for row in report["information"]),
        "overfitting": overfitting_table(report["overfitting"]),
        "overfitting_facts": overfitting_facts(report),
        "selections": selection_table(report["selections"]),
        "selection_notes": selection_notes(report["selections"]),
    }


def _metric(entry: Mapping[str, Any], name: str, currency: str) -> str:
    return number(entry["metrics"][name], metric_row(name).unit, currency) if name in entry["metrics"] else "—"


def results(report: Mapping[str, Any]) -> Table:
    """A row a model: the metrics read first, and its share of the hindsight optimum."""
    present = [name for name in MAIN_METRICS if any(name in entry["metrics"] for entry in report["models"])]
    rows = [
        [
            entry["model"],
            *(_metric(entry, name, report["currency"]) for name in present),
            number(entry["share_of_hindsight"], "signed_fraction"),
        ]
        for entry in report["models"]
    ]
    return Table(("Model", *(metric_row(name).title for name in present), "Share of hindsight"), rows)


def cost_table(report: Mapping[str, Any]) -> Table:
    """A row a model, to the cent: gross profit - costs = net profit, costs being fees + slippage."""
    present = [name for name in COST_METRICS if any(name in entry["metrics"] for entry in report["models"])]
    rows = [
        [entry["model"], *(_metric(entry, name, report["currency"]) for name in present)] for entry in report["models"]
    ]
    return Table(("Model", *(metric_row(name).title for name in present)), rows)


def all_metrics(report: Mapping[str, Any]) -> list[Table]:
    """A row a metric, a column a model, in as many tables as fit the page: everything that was measured."""
    models = report["models"]
    tables = -(-len(models) // MODELS_A_TABLE)
    cuts = [len(models) * place // max(tables, 1) for place in range(tables + 1)]
    return [_metrics_of(models[first:last], report["currency"]) for first, last in pairwise(cuts)]


def _metrics_of(models: Sequence[Mapping[str, Any]], currency: str) -> Table:
    measured = dict.fromkeys(name for entry in models for name in entry["metrics"])
    names = [name for name in METRICS if name in measured] + [name for name in measured if name not in METRICS]
    rows = [[metric_row(name).title, *(_metric(entry, name, currency) for entry in models)] for name in names]
    rows += [
        [f"Time {side}", *(number(entry["time_in_position"][side], "fraction") for entry in models)]
        for side in ("long", "flat", "short")
    ]
    return Table(("Metric", *(entry["model"] for entry in models)), rows)


def undefined_notes(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line a reason why a metric has no value, with the metrics and models it holds for."""
    held: dict[tuple[str, str], list[str]] = {}
    for entry in models:
        for name, reason in entry["undefined"].items():
            held.setdefault((entry["model"], reason), []).append(metric_row(name).title)
    return [f"{model}: {', '.join(names)} {UNDEFINED} ({reason})" for (model, reason), names in held.items()]


def _bounds(interval: Mapping[str, Any] | None, unit: str, currency: str) -> str:
    if interval is None:
        return "—"
    estimate = number(interval["estimate"], unit, currency)
    if estimate == UNDEFINED:
        return UNDEFINED
    if interval["low"] is None or interval["high"] is None:
        return f"{estimate} ({UNDEFINED})"
    return f"{estimate} ({number(interval['low'], unit, currency)} to {number(interval['high'], unit, currency)})"


def interval_table(report: Mapping[str, Any]) -> Table:
    """A row a model: each named estimate with its confidence interval in brackets."""
    used: dict[str, float] = {}
    for entry in report["models"]:
        for name, interval in entry["intervals"].items():
            used.setdefault(name, interval["confidence"])
    names = [name for name in INTERVALS if name in used]
    titles = [f"{INTERVALS[name][0].format(reference=report['reference'])}, {used[name] * 100:g}%" for name in names]
    rows = [
        [
            entry["model"],
            *(_bounds(entry["intervals"].get(name), INTERVALS[name][1], report["currency"]) for name in names),
        ]
        for entry in report["models"]
    ]
    return Table(("Model", *titles), rows)


def _interval_title(name: str) -> str:
    return INTERVALS[name][0].format(reference="buy-and-hold")


FEW_SESSIONS = (
    "Below 60 sessions an interval called 95 % holds the truth in 91 to 93 of 100 simulated records whose sessions depend on "
    "each other or whose losses are rare and large, in 94 to 98 of others (docs/acceptance.md)."
)


def interval_notes(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """The methods behind the intervals, what they cover on few sessions, the reason of each that is undefined."""
    undefined = [
        f"{entry['model']}: interval of {_interval_title(name)} {UNDEFINED} ({interval['reason']})."
        for entry in models
        for name, interval in entry["intervals"].items()
        if interval["reason"] is not None
    ]
    sessions = [interval["observations"] for entry in models for interval in entry["intervals"].values()]
    few = [FEW_SESSIONS] if sessions and min(sessions) < 60 else []
    return interval_methods(models) + few + undefined


def interval_methods(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """The methods behind the intervals, each said once with what it was used for."""
    methods: dict[str, list[str]] = {}
    for entry in models:
        for name, interval in entry["intervals"].items():
            titles = methods.setdefault(f"{interval['method']}; {interval['observations']} sessions", [])
            title = _interval_title(name)
            if title not in titles:
                titles.append(title)
    return [f"{', '.join(titles)}: {method}." for method, titles in methods.items()]


def _assignment(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {parameter(value)}" for name, value in parameters.items()) or "—"


def parameter_table(models: Sequence[Mapping[str, Any]]) -> Table:
    """What each model is and with which parameters it was evaluated."""
    rows = [[entry["model"], entry["kind"], _assignment(entry["parameters"])] for entry in models]
    return Table(("Model", "Kind", "Parameters"), rows, words=(0, 1, 2))


def hindsight_sentence(report: Mapping[str, Any]) -> str:
    """What the best possible positions would have made, as the scale of the last column."""
    amount = report["hindsight"]
    if amount is None or amount <= 0.0:
        return "Share of hindsight is undefined: the best possible positions made nothing on these rows."
    money = number(amount, "money", report["currency"])
    return f"Hindsight: the best possible positions on these rows would have made {money}."


def sweep(report: Mapping[str, Any], place: int) -> dict[str, Any]:
    """One strategy's sweep: its name, a sentence, the name of its figure and the table of its best rows."""
    ranking = report["rankings"][place]
    unit, currency = metric_row(ranking["metric"]).unit, report["currency"]
    defined = ranking["combinations"] - ranking["undefined"]
    facts = [f"{number(ranking['combinations'], 'count')} combinations, {ranking['search']}"]
    if ranking["undefined"]:
        facts.append(f"{number(ranking['undefined'], 'count')} undefined and never ranked")
    if defined:
        facts.append(f"{number(ranking['positive'] / ranking['combinations'], 'fraction')} of all above zero")
        facts.append(f"median {metric_row(ranking['metric']).title} {number(ranking['median'], unit, currency)}")
    others = ranking["parameters"][2:]
    reading = "The framed cell is the best"
    reading += f"; every cell shows its best over {', '.join(others)}." if others else "."
    reading += " Grey: undefined." if ranking["undefined"] else ""
    return {
        "strategy": ranking["strategy"],
        "facts": "; ".join(facts) + ".",
        "reading": reading,
        "figure": f"heat_map_{place}",
        "best": best_table(ranking, currency),
    }


def best_table(ranking: Mapping[str, Any], currency: str) -> Table:
    """A column a combination from the best on, a row a parameter and a metric."""
    best = ranking["best_rows"]
    rows = [
        [name, *(parameter(row[name]) for row in best)]
        if name in ranking["parameters"]
        else [metric_row(name).title, *(number(row[name], metric_row(name).unit, currency) for row in best)]
        for name in (best[0] if best else ())
    ]
    return Table(("", *(f"No. {place}" for place in range(1, len(best) + 1))), rows)


def chosen(report: Mapping[str, Any]) -> Table:
    """What the best combination of each strategy showed on validation rows and then on test rows."""
    models = {entry["model"]: entry for entry in report["models"]}
    rows = []
    for ranking in report["rankings"]:
        name, currency = ranking["metric"], report["currency"]
        unit = metric_row(name).unit
        best = ranking["best_rows"][0] if ranking["best_rows"] else None
        model = models.get(ranking["strategy"])
        rows.append(
            [
                ranking["strategy"],
                "—" if best is None else _assignment({key: best[key] for key in ranking["parameters"]}),
                metric_row(name).title,
                UNDEFINED if best is None else number(best[name], unit, currency),
                "not evaluated" if model is None else _metric(model, name, currency),
            ]
        )
    return Table(("Strategy", "Best on validation rows", "Metric", "Validation", "Test"), rows, words=(0, 1, 2))


def information_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Information coefficient by horizon with its interval."""
    cells = []
    for row in rows:
        known = row["low"] is not None and row["high"] is not None
        bounds = f"{number(row['low'], 'fine')} to {number(row['high'], 'fine')}" if known else UNDEFINED
        cells.append([number(row["horizon"], "count"), number(row["ic"], "fine"), bounds])
    return Table(("Horizon, bars", "Information coefficient", "Interval"), cells, words=())


def overfitting_table(statistics: Mapping[str, Any]) -> Table:
    """A row a model: Sharpe, the probability that it is above zero, and above the best of all trials without skill."""
    rows = [
        [
            entry["model"],
            number(entry["sharpe"], "ratio"),
            number(entry["probabilistic"], "fraction"),
            number(entry["deflated"], "fraction"),
            entry["reason"] or "",
        ]
        for entry in statistics["models"]
    ]
    if not any(row[-1] for row in rows):
        return Table(("Model", "Sharpe (annual)", "PSR", "Deflated Sharpe"), [row[:-1] for row in rows])
    return Table(("Model", "Sharpe (annual)", "PSR", "Deflated Sharpe", "Undefined because"), rows, words=(0, 4))


def overfitting_facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the deflation rests on: counts of the ledger, the trials' spread and what chance alone would show."""
    ledger, statistics = report["ledger"], report["overfitting"]
    return [
        ("Trials in the ledger", number(statistics["trials"], "count")),
        ("on validation rows", number(ledger["validation_trials"], "count")),
        ("on test rows", number(ledger["test_trials"], "count")),
        ("Looks at the test rows", number(ledger["test_looks"], "count")),
        ("Spread of the trials' Sharpe (annual)", number(statistics["sharpe_deviation"], "ratio")),
        ("Best of that many without skill (annual)", number(statistics["expected_maximum"], "ratio")),
    ]
