"""What may not happen while the server is attacked, and a note of everything that did.

A finding is written to a file of its own with the bytes of the attack and of those before it, to be replayed.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.fuzz.attack import Attack, as_json
from tests.fuzz.client import Outcome

#: What is remembered of the attacks before one that finds something.
_REMEMBERED: Final = 400
#: A server that has as many connections as it takes says so, and is documented to.
_ALLOWED: Final = frozenset((503,))
#: What a real API server says, too, word for word: 504, because it might wait for that version to come; 500, because
#: nobody has written the eviction of a pod with several budgets.
_UPSTREAMS_OWN: Final = (b"ResourceVersionTooLarge", b"which the eviction subresource does not support.")
#: The scheduler's word on pods that attackers delete, or whose claims they (de)allocate, while they are bound, or that
#: want devices by senseless rules, from slices with senseless node selectors or capacities, all devices of a pool of
#: which slices are missing, or more of them than a claim can have: upstream's words, all of them.
_EXPECTED_LINE: Final = re.compile(
    r"Error scheduling pod; retrying"
    r".*(not found|been modified|is forbidden|is invalid|is being deleted|CEL \w+ error|exceeds the claim limit of 32"
    r"|failed to parse node selector|for 'Gt', 'Lt' operators, the value must be an integer"
    r"|checking capacity for device|got (de)?allocated elsewhere in the meantime"
    r"|asks for all devices, but resource pool \S+ is currently (being updated|invalid)"
    r"|all pods in a single pod group should have the same)",
    re.DOTALL,
)
_BAD_LINE: Final = re.compile(
    r"Traceback|Exception|Error\b|failed|never retrieved|never awaited|Unclosed|Fatal", re.IGNORECASE
)
_FRAME: Final = re.compile(r'File ".*?/(src/stowplan|site-packages|lib)/(.+?)", line (\d+), in (\S+)')
_FAILED_REQUEST: Final = re.compile(r".*?((?:[A-Z]+) \S+) failed")
_RAISED: Final = re.compile(r"[\w.]+(:|$)")
_SLOWEST: Final = 5


@dataclass(slots=True)
class Checker:
    """Looks at every outcome and every line of the log; `findings` has one entry for each kind of fault."""

    folder: Path
    seed: int
    limit_seconds: float
    findings: dict[str, int] = field(default_factory=dict)
    families: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    #: Answers of 500 and above that are no findings, because a real API server gives them, too: how often, by words.
    excused: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    _recent: deque[Attack] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def begin(self, attack: Attack) -> None:
        """Remember an attack that is about to be carried out."""
        self._recent.append(attack)
        self.families[attack.family] += 1

    def judge(self, attack: Attack, outcome: Outcome) -> None:
        """Look at what came of an attack."""
        for code in outcome.codes:
            # Of faults the number itself: 503 and 504 may be, 500 may not.
            self.codes[str(code) if code >= 500 else f"{code // 100}xx"] += 1
            if code < 500 or code in _ALLOWED:
                continue
            upstreams = next((said for said in _UPSTREAMS_OWN if said in outcome.said), None)
            if upstreams is not None:
                self.excused[f"{code} {upstreams.decode()}"] += 1
            else:
                # Which fault it is says the log; here it only counts that the client was told so.
                self.find(
                    f"{code} in answer to {attack.family}", attack, outcome.said.decode("utf-8", "replace")[-2000:]
                )
        if not outcome.codes:
            self.codes["none"] += 1
        if outcome.is_overdue:
            self.find(f"no answer in {self.limit_seconds:g} s: {_where(attack)}", attack)
        if outcome.is_cut_off:
            self.find(f"cut off without an answer: {_where(attack)}", attack)
        self.slowest = sorted([*self.slowest, (outcome.seconds, _where(attack))], reverse=True)[:_SLOWEST]

    def read_log(self, block: str) -> None:
        """Look at a line of the log, or at a line with the traceback that follows it."""
        # What a controller was refused, because of what attackers ask for, is a warning in words.
        is_told = block.startswith("I") or (block.startswith("W") and "Traceback" not in block)
        if _BAD_LINE.search(block) and not is_told and not _EXPECTED_LINE.search(block):
            self.find(f"log: {_fault_of(block)}", self._meant(block), block)

    def _meant(self, block: str) -> Attack | None:
        """The attack that a line of the log is about, if it is about one."""
        found = _FAILED_REQUEST.match(block)
        if found is None:
            return None
        return next((each for each in reversed(self._recent) if found[1] in each.first_line), None)

    def find(self, fault: str, attack: Attack | None, detail: str = "") -> None:
        """Note a fault; the first of each kind with all that it takes to see it again."""
        fault = fault[:300]
        self.findings[fault] = self.findings.get(fault, 0) + 1
        if self.findings[fault] > 1:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        written: dict[str, Any] = {
            "fault": fault,
            "detail": detail,
            "seed": self.seed,
            "attack": as_json(attack) if attack is not None else None,
            "before": [as_json(each) for each in self._recent],
        }
        (self.folder / f"finding-{len(self.findings):03}.json").write_text(
            json.dumps(written, indent=1), encoding="utf-8"
        )


def _fault_of(block: str) -> str:
    """Name a fault by where it was raised and what was raised; without a traceback by what was logged."""
    frames = _FRAME.findall(block)
    if not frames:
        return _without_names(block.strip())
    _, file, line, function = frames[-1]
    raised = [line for line in block.splitlines() if _RAISED.match(line)]
    return f"{file}:{line} {function}: {_without_names(raised[-1]) if raised else ''}"


def _where(attack: Attack) -> str:
    return f"{attack.family}: {_without_names(attack.first_line)[:120]}"


def _without_names(text: str) -> str:
    """The same for all objects: names, numbers, values of parameters do not make another fault."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", text)
    text = re.sub(r"(fz-|default/)[\w.%-]*", "NAME", text)
    text = re.sub(r"0x[0-9a-f]+|'[^']*'|\"[^\"]*\"", "X", text)
    return re.sub(r"\d+", "N", re.sub(r"=[^&\s]*", "=", text))
