"""The Spark session: local by default, no UI, no output on the terminal. Remote executors get our code.

Shape    `start_spark()` returns a SparkSession. All its files are in a temporary folder, which is removed when Python
         ends. The output of the JVM goes to `spark.log` there, and is shown only if Spark cannot start.
Errors   JavaNotFound (java.py), SparkDidNotStart, MasterError and MasterUnreachable (spark/master.py).
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from fakebroker import protocol
from fakebroker_load.java import find_java, make_java_home
from fakebroker_load.spark.failures import cause_of
from fakebroker_load.spark.master import check_master, driver_host, is_local
from fakebroker_load.spark.shipping import FOLDER, make_archive
from fakebroker_load.spark.stopping import SIGNALS

STOP_TIMEOUT_S = 30
# A standalone master accepts an application at once. Spark itself asks three times, 20 s apart.
REGISTERED_WITHIN_S = 20

# The JVM lives shortly on few cores, which the load needs. With only the quick compiler and one collector thread, it
# took 11 s of CPU time instead of 22 (2 cores, Java 17). That was for starting, judging 8,000 rows and reporting on
# them. With the quick compiler alone Java keeps 48 MB for compiled code. A session of many judgements fills that; then
# Java throws code away and compiles it again.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
# With many rows the slow compiler's code is worth its price: judging 1,000,000 by responses took 46 s instead of 59. At
# 10,000,000 the JVM had 3 GB.
MANY_ROWS = 300_000
MANY_JVM_OPTIONS = "-XX:+UseParallelGC -XX:MetaspaceSize=256m"
MOST_MEMORY_GB = 4

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class SparkDidNotStart(Exception):
    """Spark's JVM ended before it could be used; the message is for the user."""


def usable_cores() -> int:
    """Return the number of cores that this process may use. In a container that can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_spark(
    master: str | None = None,
    app_name: str = "fakebroker-load",
    settings: Mapping[str, str] | None = None,
    rows: int = 0,
) -> SparkSession:
    """Return the running session, or a new one on `master`; by default local, one slot per core, at least 2. `settings`
    are Spark's, and override those made here. `rows` is the number of rows to judge."""
    if (running := SparkSession.getActiveSession()) is not None:
        return running
    master = master or f"local[{max(2, usable_cores())}]"
    check_master(master)
    java = find_java()
    folder = Path(tempfile.mkdtemp(prefix="fakebroker-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _prepare_environment(make_java_home(java, folder / "java"), master)
    conf = _conf(master, app_name, folder, rows).setAll(list((settings or {}).items()))
    log = folder / "spark.log"
    with log.open("ab") as sink, interrupt_afterwards():
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
            raise SparkDidNotStart(f"Spark did not start on {java}: {said[0]}") from error
        with _given_up_after(REGISTERED_WITHIN_S if master.startswith("spark:") else None, gateway.proc) as given_up:
            try:
                context = SparkContext(conf=conf, gateway=gateway)
            except (Py4JError, OSError) as error:
                _forget(gateway)
                late = f"it has not taken us within {REGISTERED_WITHIN_S} s"
                why = late if given_up.is_set() else cause_of(str(error))
                raise SparkDidNotStart(f"Spark did not start on {master}: {why}.") from error
    if not is_local(master):
        context.addArchive(f"{make_archive(folder)}#{FOLDER}")
        context.environment["PYTHONPATH"] = FOLDER  # overrides the executors' own
    # Errors between Python and the JVM are raised. py4j logs them too, and a Ctrl-C even to the root logger.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: record.msg != "KeyboardInterrupt while sending command.")
    spark: SparkSession = SparkSession(context)
    return spark


@contextmanager
def interrupt_afterwards() -> Iterator[None]:
    """Hold back a Ctrl-C, and other signals with a handler, until the block ends. Restore their handlers.

    If PySpark is interrupted while it starts, it removes the file in which the JVM is to report its port. Then the JVM
    never ends. PySpark also sets a handler that asks the JVM to cancel all jobs. It does so in the middle of the
    interrupted call, over the same connection: that causes tracebacks, and cancels nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}
    held = {number: handler for number, handler in before.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for caught in came:
        held[signal.Signals(caught)](caught, None)


@contextmanager
def _given_up_after(seconds: float | None, jvm: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """Kill the JVM and set the event if the block takes longer."""
    given_up = threading.Event()

    def give_up() -> None:
        given_up.set()
        jvm.kill()

    timer = threading.Timer(seconds, give_up) if seconds is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield given_up
    finally:
        if timer is not None:
            timer.cancel()


@contextmanager
def spark_session(
    master: str | None = None, settings: Mapping[str, str] | None = None, rows: int = 0
) -> Iterator[SparkSession]:
    """Yield the session of `start_spark`, and stop it after the block, unless it existed before."""
    before = SparkSession.getActiveSession()
    spark = start_spark(master, settings=settings, rows=rows)
    try:
        yield spark
    finally:
        if before is None:
            stop_spark(spark)


def stop_spark(spark: SparkSession) -> None:
    """Stop the session and its JVM. A later `start_spark` starts a new one."""
    gateway = SparkContext._gateway
    with suppress(Py4JError, OSError):  # a dead JVM has stopped
        spark.stop()
    if gateway is not None:
        _forget(gateway)


def _forget(gateway: JavaGateway) -> None:
    """End the gateway's JVM."""
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    if jvm.stdin is not None:
        jvm.stdin.close()  # the JVM ends when this pipe does
    try:
        jvm.wait(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _prepare_environment(java_home: Path, master: str) -> None:
    os.environ["JAVA_HOME"] = str(java_home)
    # Python workers must run this Python, and find this package and its `fakebroker`, installed or not. In a checkout
    # the two are in different folders.
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:  # other machines may have theirs elsewhere
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    roots = [str(Path(__file__).resolve().parents[1]), str(Path(protocol.__file__).resolve().parents[2])]
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in (*roots, *others) if path))
    # Spark's launcher is a bash script. A PATH with only a virtual environment does not find bash.
    if shutil.which("bash") is None:
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), os.defpath])
    for unwanted in ("SPARK_HOME", "SPARK_CONF_DIR"):  # of another Spark: its jars or its logging
        os.environ.pop(unwanted, None)


def _conf(master: str, app_name: str, folder: Path, rows: int) -> SparkConf:
    options = JVM_OPTIONS if rows < MANY_ROWS else MANY_JVM_OPTIONS
    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J)
    settings = {
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"{options} -Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # each slot gets one partition of the plan
        "spark.sql.shuffle.partitions": "2",  # enough for thousands of rows; see judging/partitions.py
        # Rows that are distributed by connection need no further exchange for a join by connection and sequence.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        # Slots are counted before (spark/slots.py). If they vanish meanwhile, Spark would wait for ten minutes.
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
    }
    if rows >= MANY_ROWS:
        machine_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
        settings["spark.driver.memory"] = f"{max(1, min(MOST_MEMORY_GB, machine_gb // 4))}g"
    if (host := driver_host(master)) is not None:
        settings |= {"spark.driver.host": host, "spark.driver.bindAddress": host}
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))
