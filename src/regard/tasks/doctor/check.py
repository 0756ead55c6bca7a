"""One number of a run, the limits within which it is healthy, and what to do where it is not."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Unit = Literal["share", "number", "count"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """A number and its limits. Where it is beyond them, `problem` names it and `advice` what to do."""

    name: str
    value: float
    unit: Unit
    least: float
    most: float
    problem: str
    advice: str

    @property
    def healthy(self) -> bool:
        """Whether the number is within its limits."""
        return self.least <= self.value <= self.most

    @property
    def shown(self) -> str:
        """The number for people."""
        return show(self.value, self.unit)

    @property
    def limits(self) -> str:
        """The limits for people.

        >>> check("empty output", 0.2, most=0.02, problem="", advice="").limits
        'at most 2 %'
        """
        parts = [("at least", self.least), ("at most", self.most)]
        return ", ".join(f"{word} {show(limit, self.unit)}" for word, limit in parts if math.isfinite(limit))

    def table(self) -> dict[str, Any]:
        """Give plain values, for JSON."""
        limits = {name: value for name, value in (("least", self.least), ("most", self.most)) if math.isfinite(value)}
        finding = {"problem": self.problem, "advice": self.advice} if not self.healthy else {}
        return {"name": self.name, "value": self.value, "unit": self.unit, **limits, "healthy": self.healthy, **finding}


def check(
    name: str,
    value: float,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    unit: Unit = "share",
    problem: str,
    advice: str,
) -> Check:
    """Make a check; in `problem` the number is written for {value}.

    >>> made = check("empty output", 0.25, most=0.02, problem="{value} of the outputs are empty.", advice="Train on.")
    >>> made.healthy, made.problem
    (False, '25 % of the outputs are empty.')
    """
    text = problem.replace("{value}", show(value, unit))
    return Check(name=name, value=value, unit=unit, least=least, most=most, problem=text, advice=advice)


def show(value: float, unit: Unit) -> str:
    """Write a number.

    >>> show(0.031, "share"), show(1.234, "number"), show(1200, "count")
    ('3.1 %', '1.23', '1,200')
    """
    match unit:
        case "share":
            return f"{100 * value:.3g} %"
        case "number":
            return f"{value:.3g}"
        case "count":
            return f"{value:,.0f}"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """All checks of a run."""

    run: str
    task: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""

    @property
    def findings(self) -> tuple[Check, ...]:
        """The checks that are not healthy."""
        return tuple(item for item in self.checks if not item.healthy)

    @property
    def healthy(self) -> bool:
        """Whether every check is within its limits."""
        return not self.findings

    def __str__(self) -> str:
        lines = [f"{self.run}: {len(self.checks)} checks, {len(self.findings) or 'no'} findings"]
        lines += [f"{item.name}: {item.problem} {item.advice}" for item in self.findings]
        return "\n".join([*lines, *(f"not checked: {note}" for note in self.notes)])

    def table(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON."""
        shown = {name: value for name, value in asdict(self).items() if name not in ("checks", "notes")}
        checks = [item.table() for item in self.checks]
        return {**shown, "healthy": self.healthy, "checks": checks, "notes": list(self.notes)}
