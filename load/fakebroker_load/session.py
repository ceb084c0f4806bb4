"""Start Spark quietly: local by default, no UI, nothing of Spark's on the terminal.

Shape    `start_spark()` gives a SparkSession; everything it writes lies in one temporary folder that goes when
         Python ends. All that the JVM prints goes to `spark.log` there, and is shown only if Spark cannot start.
Errors   JavaNotFound (java.py), SparkDidNotStart.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from fakebroker import protocol
from fakebroker_load.java import find_java, make_java_home

STOP_TIMEOUT_S = 30

# A short life on few cores, which the load needs for itself: with only the quick compiler and one collector thread,
# starting, judging 8,000 rows and reporting on them took the JVM 11 s of CPU time and not 22 (2 cores, Java 17).
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

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
    """The cores this process may use, which in a container can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_spark(master: str | None = None, app_name: str = "fakebroker-load") -> SparkSession:
    """The running session, or a new one on `master`; by default that is local, one slot per core, at least 2."""
    if (running := SparkSession.getActiveSession()) is not None:
        return running
    java = find_java()
    folder = Path(tempfile.mkdtemp(prefix="fakebroker-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _prepare_environment(make_java_home(java, folder / "java"))
    conf = _conf(master or f"local[{max(2, usable_cores())}]", app_name, folder)
    log = folder / "spark.log"
    with log.open("ab") as sink, interrupt_afterwards():
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
            raise SparkDidNotStart(f"Spark did not start on {java}: {said[0]}") from error
        context = SparkContext(conf=conf, gateway=gateway)
    # What goes wrong between Python and the JVM is raised. py4j logs it too, and a Ctrl-C even to the root logger.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: record.msg != "KeyboardInterrupt while sending command.")
    spark: SparkSession = SparkSession(context)
    return spark


@contextmanager
def interrupt_afterwards() -> Iterator[None]:
    """Hold a Ctrl-C back until the block is over, and leave its handling as it was.

    Interrupted while it starts, PySpark takes away the file in which the JVM is to say where it is, and the JVM
    lives on for ever. And PySpark sets a handler that asks the JVM to cancel all jobs in the middle of the call which
    the signal interrupted, over the same connection: tracebacks come of it, and nothing is cancelled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@contextmanager
def spark_session(master: str | None = None) -> Iterator[SparkSession]:
    """`start_spark`, and `stop_spark` at the end of the block unless the session was there before it."""
    before = SparkSession.getActiveSession()
    spark = start_spark(master)
    try:
        yield spark
    finally:
        if before is None:
            stop_spark(spark)


def stop_spark(spark: SparkSession) -> None:
    """Stop the session and its JVM; a later `start_spark` starts anew."""
    gateway = SparkContext._gateway
    spark.stop()
    if gateway is None:
        return
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


def _prepare_environment(java_home: Path) -> None:
    os.environ["JAVA_HOME"] = str(java_home)
    # The Python workers must run this Python and find this very package and its `fakebroker`, installed or not. In a
    # checkout the two lie in different folders.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    roots = [str(Path(__file__).resolve().parents[1]), str(Path(protocol.__file__).resolve().parents[2])]
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in (*roots, *others) if path))
    # Spark's launcher is a bash script. A PATH of a virtual environment alone does not find bash.
    if shutil.which("bash") is None:
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), os.defpath])
    for unwanted in ("SPARK_HOME", "SPARK_CONF_DIR"):  # another Spark's jars, or its logging
        os.environ.pop(unwanted, None)


def _conf(master: str, app_name: str, folder: Path) -> SparkConf:
    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J)
    settings = {
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",  # no look-up of the machine's name: it may not resolve
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} -Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # the plan's partitions are as many as there are slots, on purpose
        "spark.sql.shuffle.partitions": "2",  # thousands of rows, not billions
    }
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))
