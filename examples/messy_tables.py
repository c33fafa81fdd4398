"""Realistic tables: house sales, genes, hourly load, a survey, patients.

Each function draws a table as a dict of columns, ready for ``pandas.DataFrame`` or a CSV file. What
decides the target is known and listed below each table, so that a result can be checked.
"""

import csv
from pathlib import Path

import numpy as np

HOUSES = ("living_area", "neighbourhood", "condition", "year_built", "lot_size", "bathrooms")
HOUSE_LEAKS = ("agent_commission", "tax_assessment_after_sale")
GENES = ("ENSG00000007", "ENSG00000042", "ENSG00000123", "ENSG00000300")
LOAD = ("temperature", "hour", "workday")
SURVEY = ("q03", "calls", "contract", "q09", "tenure_months")
PATIENTS = ("stage", "age", "ldh_u_per_l")
SURVEY_LEAKS = ("status_code", "refund_amount")

LIKERT = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")


def houses(rows=1200, seed=0):
    """House sales: prices as "$960,000", text, dates, missing values, and two leaks."""
    rng = np.random.default_rng(seed)
    area = rng.gamma(9, 20, rows).round()
    place = rng.choice(["Harbour", "Old Town", "North", "Hills", "Fields"], rows)
    worth = {"Harbour": 320e3, "Old Town": 180e3, "North": 0, "Hills": 90e3, "Fields": -60e3}
    condition = rng.choice(["poor", "fair", "good", "excellent"], rows, p=[0.1, 0.3, 0.45, 0.15])
    state = np.array([["poor", "fair", "good", "excellent"].index(c) for c in condition])
    built = rng.integers(1900, 2022, rows)
    lot = rng.gamma(3, 250, rows).round()
    baths = rng.integers(1, 5, rows)
    price = 180e3 + 2600 * area + np.array([worth[p] for p in place]) + 55e3 * state
    price += 1400 * (built - 1960) + 120 * lot + 40e3 * baths
    price += rng.normal(0, 110e3, rows)
    price = np.maximum(price, 60e3).round(-2)
    days = np.datetime64("2021-01-04") + rng.integers(0, 900, rows)
    commission = (0.03 * price * rng.normal(1, 0.02, rows)).round(2)
    assessed = (0.92 * price * rng.normal(1, 0.03, rows)).round(-2)
    table = {
        "sale_id": np.arange(100_001, 100_001 + rows),
        "sale_date": days.astype(str),
        "zip": rng.choice([10115, 10117, 10119, 20095, 20097], rows),
        "neighbourhood": place,
        "living_area": area,
        "lot_size": [f"{value:,.0f} sqft" if rng.random() > 0.04 else "" for value in lot],
        "bedrooms": np.clip((area / 45 + rng.normal(0, 0.7, rows)).round(), 1, 8),
        "bathrooms": baths,
        "year_built": built,
        "condition": condition,
        "heating": rng.choice(["gas", "oil", "heat pump"], rows),
        "agent_commission": [f"${value:,.2f}" for value in commission],
        "tax_assessment_after_sale": assessed,
        **{f"score_{k}": rng.normal(50, 10, rows).round(1) for k in range(1, 9)},
    }
    return table | {"price": [f"${value:,.0f}" for value in price]}


def genes(rows=120, columns=1000, seed=0):
    """Gene expression: many more columns than rows, four genes that matter, two classes."""
    rng = np.random.default_rng(seed)
    names = [f"ENSG{j:08d}" for j in range(columns)]
    modules = rng.normal(size=(rows, 20))
    X = 0.5 * modules[:, rng.integers(0, 20, columns)] + rng.normal(size=(rows, columns))
    at = [names.index(name) for name in GENES]
    score = X[:, at] @ np.array([1.6, -1.5, 1.4, 1.3]) + rng.normal(0, 0.7, rows)
    labels = np.where(score > 0, "tumour", "healthy")
    return {**{name: X[:, j].round(4) for j, name in enumerate(names)}, "tissue": labels}


def load(days=150, seed=0):
    """Hourly load of a grid: a sorted timestamp, strong seasons, sensors that drift at random."""
    rng = np.random.default_rng(seed)
    rows = 24 * days
    hours = np.arange(rows)
    hour, day = hours % 24, hours // 24
    season = 8 * np.sin(2 * np.pi * (day + 20) / 365)
    temperature = 12 + season + 4 * np.sin(2 * np.pi * (hour - 9) / 24) + _ar(rng, rows, 0.98, 0.4)
    workday = np.where(day % 7 >= 5, 0.0, 1.0)
    daily = 120 * np.exp(-((hour - 18) ** 2) / 18) + 70 * np.exp(-((hour - 8) ** 2) / 8)
    slow = _ar(rng, rows, 0.96, 5.0)  # what nobody measures: industry, holidays, clouds
    mean = 900 + daily + 60 * workday - 9 * (temperature - 12)
    level = mean + slow + rng.normal(0, 8, rows)
    return {
        "timestamp": (np.datetime64("2023-01-02T00:00") + hours).astype(str),
        "temperature": temperature.round(2),
        "hour": [f"{value:02d}h" for value in hour],
        "workday": np.where(workday > 0, "yes", "no"),
        **{f"sensor_{k}": np.cumsum(rng.normal(size=rows)).round(3) for k in range(10)},
        "load_mw": level.round(1),
    }


def survey(rows=2000, seed=0, leaks=False):
    """A survey of customers: answers in words, and few of them leave (about 7.7 %)."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 5, (rows, 14))
    tenure = rng.gamma(2, 18, rows).round()
    calls = rng.poisson(1.3, rows)
    contract = rng.choice(["monthly", "one year", "two years"], rows, p=[0.5, 0.3, 0.2])
    log_odds = (
        -3.9
        - 0.75 * (answers[:, 2] - 2)
        + 0.55 * (calls - 1.3)
        - 0.6 * (answers[:, 8] - 2)
        - 0.03 * (tenure - 36)
        + np.select([contract == "monthly", contract == "one year"], [0.9, -0.3], -1.0)
    )
    leaves = rng.random(rows) < 1 / (1 + np.exp(-log_odds))
    table = {
        "customer": [f"C{number}" for number in rng.permutation(rows) + 10_000],
        **{f"q{k + 1:02d}": [LIKERT[a] for a in answers[:, k]] for k in range(14)},
        "age_band": rng.choice(["18-29", "30-44", "45-59", "60+"], rows),
        "region": rng.choice(["north", "east", "south", "west"], rows),
        "contract": contract,
        "tenure_months": tenure,
        "calls": calls,
    }
    if leaks:
        code = np.where(leaves, rng.choice([71, 93], rows), rng.choice([10, 84], rows))
        table["status_code"] = code
        table["refund_amount"] = np.where(leaves, rng.gamma(2, 20, rows).round(2) + 1, 0.0)
    return table | {"churned": np.where(leaves, "yes", "no")}


def patients(rows=600, seed=0):
    """Patients: months to death, a third of the times censored, and missing values."""
    rng = np.random.default_rng(seed)
    age = rng.normal(63, 9, rows).round()
    stage = rng.choice(["I", "II", "III", "IV"], rows, p=[0.3, 0.3, 0.25, 0.15])
    ldh = rng.lognormal(5.3, 0.35, rows).round()
    log_hazard = 0.05 * (age - 63) + 0.005 * (ldh - 210)
    log_hazard += np.select([stage == "II", stage == "III", stage == "IV"], [0.5, 1.2, 2.0], 0.0)
    months = rng.exponential(60 * np.exp(-log_hazard))
    followed = rng.uniform(6, 90, rows)  # until the end of the study
    table = {
        "patient": [f"P{number}" for number in rng.permutation(rows) + 1000],
        "age": age,
        "sex": rng.choice(["f", "m"], rows),
        "stage": stage,
        "ldh_u_per_l": [f"{value:.0f}" if rng.random() > 0.05 else "" for value in ldh],
        "smoker": rng.choice(["never", "former", "current"], rows),
        **{f"marker_{k}": rng.normal(size=rows).round(3) for k in range(1, 9)},
    }
    died = np.where(months <= followed, "yes", "no")
    return table | {"months": np.minimum(months, followed).round(1), "died": died}


def write(table, path):
    """The table as a CSV file."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(
            zip(*(np.asarray(values).tolist() for values in table.values()), strict=True)
        )


def _ar(rng, rows, memory, step):
    noise = rng.normal(0, step, rows)
    for i in range(1, rows):
        noise[i] += memory * noise[i - 1]
    return noise


TABLES = {"houses": houses, "genes": genes, "load": load, "survey": survey, "patients": patients}

if __name__ == "__main__":
    for name, draw in TABLES.items():
        write(draw(), f"{name}.csv")
