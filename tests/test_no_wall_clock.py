"""No test fails because the machine is slow: what would let it is refused here, by reading the tests.

Refused  `time.sleep`, and `asyncio.sleep` of more than 0: wait for the condition, with `support.watchdog`.
         A timeout below a minute, as a number or a constant of the module: take `LIMIT_S` of the watchdog. In a block
         of `pytest.raises` a limit is there to run out, which it does on any machine.
         A reading of a wall clock, or what is computed from one, as the smaller side of a comparison. A lower bound
         ("it was not early") is right on any machine. An upper bound becomes virtual time, a count, CPU time
         (`support.cpu_time`), a control beside it, or a benchmark.
Limits   It follows names through assignments and returns of one module, and does not look into strings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MINUTE_S = 60

# What is left, by file and function; "" is the whole file. Each entry has its reason.
ALLOWED: dict[tuple[str, str], str] = {
    ("support/watchdog.py", ""): "the watchdog itself",
    ("mutants/trial.py", "_wait"): "how often a mutant's CPU time is looked at",
    ("fuzz/__main__.py", ""): "a program that runs for as long as it is told",
    ("fuzz/shrink.py", ""): "how long a failure is made shorter: the failure stands already",
    ("properties/test_group_seeds.py", "test_for_as_long_as_told"): "FAKEBROKER_MINUTES ends the search",
    ("properties/test_seeds.py", "test_for_as_long_as_told"): "FAKEBROKER_MINUTES ends the search",
    ("properties/test_transaction_seeds.py", "test_for_as_long_as_told"): "FAKEBROKER_MINUTES ends the search",
    ("support/under_attack.py", "watch"): "how long an attack is looked at; what is judged is CPU time",
    ("support/under_attack.py", "lateness_ms"): "waits for the due time, which is a lower bound",
    ("support/under_attack.py", "_run"): "a pause of the attackers",
    ("support/stock_sends.py", "_tell"): "a callback that holds up the sender, as one of a user may",
    ("test_cpu_time.py", "test_a_thread_that_sleeps_sleeps_and_one_that_works_does_not"): "sleep is what is measured",
    ("load/load_stub.py", "answer"): "the stub answers that late; no test bounds it from above",
    ("server/running/test_interrupts.py", "send"): "the signal is sent again until it is seen",
    # A wait that is to run out: a slow machine lets it run out as well.
    ("conformance/test_client_runs.py", "test_a_program_that_hangs_is_killed"): "the program hangs",
    ("conformance/test_tools_jvm.py", ""): "a consumer of more records than there are: it is to be stopped",
    ("control/test_toxiproxy.py", "test_timeout_without_an_end_drops_all_until_it_is_removed"): "no response comes",
    ("load/test_load_log.py", "test_what_stands_beyond_the_high_watermark"): "frozen followers: it does not move",
    ("server/arising/test_arising_in_hand.py", "test_a_partition_keeps_acks_all_waiting_until_it_is_healed"): "no end",
    ("server/scenario/test_scenario.py", "test_the_cluster_is_what_the_file_says"): "the response is held by a fault",
    ("server/test_fake_cluster.py", "send_until_it_is_not_taken"): "the broker takes no more; less is right as well",
    ("server/test_fake_cluster.py", "call_soon_threadsafe"): "both orders are right",
    ("server/test_fake_cluster.py", "close"): "both orders are right",
    # Not times, though they look like them.
    ("control/test_control_bounded.py", "test"): "seconds of a virtual loop",
    ("control/test_control_stop.py", "test"): "seconds of a virtual loop",
    ("control/test_control_stop.py", "reset"): "seconds of a virtual loop",
    ("control/test_toxiproxy.py", "test_timeout_closes_when_it_is_over"): "milliseconds of a toxic",
    ("server/test_faults_in_hand.py", "test_a_fault_is_added_acts_is_waited_for_and_removed"): "a count of requests",
    ("server/test_faults_in_hand.py", "test_a_barrier_from_any_thread"): "a count of requests",
    ("timingwheel/test_asyncio_driver.py", "main"): "seconds of a virtual loop",
    # A comparison of two clocks, one of them the broker's.
    ("server/test_auto_clock.py", "has_skipped"): "the real clock is read around the broker's",
}

WALL_CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time_ns"}  # and time.time
LIMIT_KEYWORDS = {"timeout", "timeout_s", "limit_s", "within_s"}
FIRST_IS_LIMIT = {"wait", "join", "settimeout", "result", "flush", "timeout"}  # of methods and of asyncio
LIMIT_AT = {"wait_for": 1, "wait_until": 2, "until": 2, "within": 2}  # of functions

CLOCK = re.compile(r"monotonic|perf_counter|time_ns|\btime\(")
SUSPECT = re.compile(
    rf"{CLOCK.pattern}|sleep|limit_s|within_s|timeout(_s)?\s*[=(]|\.(wait|result|flush)\(|(wait_for|until|within)\("
    r"""|(?<!["'])\.join\("""  # a text joins texts and has no limit
)
FROM_TIME = re.compile(r"\bfrom[\s\\]+time[\s\\]+import\b")


@dataclass(frozen=True)
class Offence:
    line: int
    function: str
    what: str


class Reader(ast.NodeVisitor):
    """Reads one module, several times if it reads a clock: what depends on that may be defined below its use."""

    def __init__(self, source: str, rounds: int) -> None:
        tree = ast.parse(source)
        self.offences: list[Offence] = []
        self._functions: list[str] = []
        self._raises = 0  # blocks of pytest.raises around: a limit in one is there to run out
        self._clocked: set[str] = set()  # names, attributes and functions that give readings
        self._elapsed: set[str] = set()  # of these, those that give differences of readings
        imported = names_from(tree, "time") if FROM_TIME.search(source) else set()
        self._times, self._sleeps = imported & {"time"}, imported & {"sleep"}
        self._stored: list[set[str]] = [set()]  # the names to which the module and each function around assign
        self._numbers = constants(tree)
        for _ in range(rounds):
            self.offences.clear()
            self.visit(tree)

    # What depends on a wall clock.

    def is_clocked(self, node: ast.expr | None) -> bool:
        if node is None:
            return False
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.Lambda, ast.Subscript)):
            return False
        if isinstance(node, ast.Call):
            name = called(node)
            if name in WALL_CLOCKS or name in self._times or is_time_time(node):
                return True
            if name in self._clocked:
                return True
            return name in {"int", "float", "round", "min", "max", "sum", "abs", "median", "sorted"} and any(
                map(self.is_clocked, node.args)
            )
        if isinstance(node, ast.Name):
            return node.id in self._clocked
        if isinstance(node, ast.Attribute):
            return node.attr in self._clocked
        return any(self.is_clocked(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))

    def is_elapsed(self, node: ast.expr) -> bool:
        """Return whether this is a difference of readings, or is computed from one."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and self.is_clocked(node):
            taken_off = node.right  # a number is a tolerance, and makes no difference of two readings
            if not isinstance(taken_off, ast.Constant) and not (
                isinstance(taken_off, ast.Name) and taken_off.id.isupper()
            ):
                return True
        if isinstance(node, (ast.Name, ast.Attribute)):
            return (node.id if isinstance(node, ast.Name) else node.attr) in self._elapsed
        if isinstance(node, ast.Call) and called(node) in self._elapsed:
            return True
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.Lambda, ast.Subscript)):
            return False
        return any(self.is_elapsed(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._assign(node.target, node.value)
        self.generic_visit(node)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._assign(one, its)
        elif self.is_clocked(value):
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            self._clocked.add(name)
            if value is not None and self.is_elapsed(value):
                self._elapsed.add(name)

    def visit_Return(self, node: ast.Return) -> None:
        if self.is_clocked(node.value) and self._functions:
            self._clocked.add(self._functions[-1])
            if node.value is not None and self.is_elapsed(node.value):
                self._elapsed.add(self._functions[-1])
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions.append(node.name)
        outer = set(self._clocked)
        self._stored.append(set())
        self.generic_visit(node)
        local = self._stored.pop()
        self._stored[-1] |= local
        # A local name is forgotten at the end of its function; functions and attributes are not.
        self._clocked -= local - outer
        self._elapsed &= self._clocked
        self._functions.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._stored[-1].add(node.id)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Do nothing: the method of the base looks for one of the old kinds of nodes, which takes long."""

    def visit_With(self, node: ast.With) -> None:
        expects = any(
            isinstance(item.context_expr, ast.Call) and called(item.context_expr) == "raises" for item in node.items
        )
        self._raises += expects
        self.generic_visit(node)
        self._raises -= expects

    # What is refused.

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for smaller, how, larger in zip(sides, node.ops, sides[1:], strict=False):
            if isinstance(how, (ast.Gt, ast.GtE)):
                smaller, larger = larger, smaller
            elif not isinstance(how, (ast.Lt, ast.LtE)):
                continue
            if self.is_elapsed(smaller):
                self._refuse(node, "an upper bound on a wall clock")
            elif is_reading(smaller) and self.is_clocked(larger):
                self._refuse(node, "a deadline on a wall clock")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node)
        if is_of(node, "time", "sleep") or (isinstance(node.func, ast.Name) and name in self._sleeps):
            self._refuse(node, "time.sleep")
        if is_of(node, "asyncio", "sleep") and not (node.args and self._number(node.args[0]) == 0):
            self._refuse(node, "asyncio.sleep")
        for limit in self._limits(node, name):
            number = self._number(limit)
            if number is not None and 0 < number < MINUTE_S and not self._raises:
                self._refuse(node, f"a timeout of {number:g} s")
        self.generic_visit(node)

    def _limits(self, node: ast.Call, name: str) -> Iterator[ast.expr]:
        yield from (keyword.value for keyword in node.keywords if keyword.arg in LIMIT_KEYWORDS)
        if isinstance(node.func, ast.Attribute) and name in FIRST_IS_LIMIT and len(node.args) == 1:
            yield node.args[0]
        if name in LIMIT_AT and len(node.args) > LIMIT_AT[name]:
            yield node.args[LIMIT_AT[name]]

    def _number(self, node: ast.expr) -> float | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return float(node.value)
        return self._numbers.get(node.id) if isinstance(node, ast.Name) else None

    def _refuse(self, node: ast.expr, what: str) -> None:
        self.offences.append(Offence(node.lineno, self._functions[-1] if self._functions else "", what))


def names_from(tree: ast.Module, module: str) -> set[str]:
    """Return the names that the file imports from a module."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == module]
    return {alias.name for node in nodes for alias in node.names}


def constants(tree: ast.Module) -> dict[str, float]:
    values = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            target, value = node.targets[0], node.value.value
            if isinstance(target, ast.Name) and isinstance(value, (int, float)):
                values[target.id] = float(value)
    return values


def called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def is_of(node: ast.Call, module: str, name: str) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == name
        and isinstance(function.value, ast.Name)
        and function.value.id == module
    )


def is_reading(node: ast.expr) -> bool:
    """Return whether a clock is read at this place."""
    return isinstance(node, ast.Call) and (called(node) in WALL_CLOCKS | {"time"})


def is_time_time(node: ast.Call) -> bool:
    return is_of(node, "time", "time")


def offences(source: str) -> list[Offence]:
    if not SUSPECT.search(source):
        return []
    return Reader(source, rounds=3 if CLOCK.search(source) else 1).offences


@cache
def all_offences() -> list[tuple[str, Offence]]:
    files = sorted(TESTS.rglob("*.py"))
    return [(str(path.relative_to(TESTS)), offence) for path in files for offence in offences(path.read_text())]


def test_no_test_has_a_verdict_by_the_wall_clock() -> None:
    messages = [
        f"tests/{name}:{offence.line}: {offence.what} in {offence.function or 'the module'}"
        for name, offence in all_offences()
        if not {(name, offence.function), (name, "")} & set(ALLOWED)
    ]
    assert not messages, "\n".join(messages)


def test_what_is_allowed_is_needed() -> None:
    used = {place for name, offence in all_offences() for place in ((name, offence.function), (name, ""))}
    assert sorted(set(ALLOWED) - used) == []


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import time\ntime.sleep(1)", "time.sleep"),
        ("from time import sleep\nsleep(0.1)", "time.sleep"),
        ("async def f():\n await asyncio.sleep(0.01)", "asyncio.sleep"),
        ("event.wait(10)", "a timeout of 10 s"),
        ("SOON_S = 5\nthread.join(SOON_S)", "a timeout of 5 s"),
        ("subprocess.run(command, timeout=59.5)", "a timeout of 59.5 s"),
        ("asyncio.wait_for(work(), 20)", "a timeout of 20 s"),
        ("wait_until(happened, 'it', 3)", "a timeout of 3 s"),
        ("assert monotonic() - began < 5", "an upper bound on a wall clock"),
        ("assert 5 >= time.time() - began", "an upper bound on a wall clock"),
        ("took = perf_counter() - began\nassert 0.1 <= took < 10", "an upper bound on a wall clock"),
        (
            "def seconds():\n return time.monotonic() - began\nassert client.seconds() < 2",
            "an upper bound on a wall clock",
        ),
        (
            "def f(self):\n self.took_s = monotonic() - began\nassert run.took_s < SOON",
            "an upper bound on a wall clock",
        ),
        ("def f():\n took = monotonic() - at\n assert max(took, 1) < 2", "an upper bound on a wall clock"),
        ("end = monotonic() + 5\nwhile monotonic() < end:\n look()", "a deadline on a wall clock"),
        ("from time import time\nassert time() - began < 5", "an upper bound on a wall clock"),
    ],
)
def test_what_is_planted_is_found(source: str, what: str) -> None:
    assert [offence.what for offence in offences(source)] == [what]


@pytest.mark.parametrize(
    "source",
    [
        "assert monotonic() - began >= 0.15",
        "assert 5 < time.time() - began",
        "async def f():\n await asyncio.sleep(0)",
        "thread.join(LIMIT_S)",
        "subprocess.run(command, timeout=60)",
        "queue.get(timeout=0)",
        "with pytest.raises(TimeoutError):\n fault.wait(timeout=0.01)",
        "separator.join(['a'])",
        "assert process_time() - began < 5",
        "before = monotonic()\nassert before - ROUNDED <= seen",
        "def f():\n at = monotonic()\ndef g():\n at = 3\n assert at < 5",
        "before = monotonic()\nwork()\nassert before <= seen <= monotonic()",
    ],
)
def test_what_any_machine_passes_is_left_alone(source: str) -> None:
    assert offences(source) == []
