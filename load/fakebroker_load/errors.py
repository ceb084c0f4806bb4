"""The errors of a user or a machine. Each has a message of one sentence, and ends a command without a traceback."""

from __future__ import annotations

from fakebroker_load.control import ControlCallError
from fakebroker_load.java import JavaNotFound
from fakebroker_load.journal.taps import JournalError
from fakebroker_load.limits import TooFewFiles
from fakebroker_load.results.folder import ResultsError
from fakebroker_load.results.manifest import DamagedResults
from fakebroker_load.scenario.model import LoadScenarioError
from fakebroker_load.session import SparkDidNotStart
from fakebroker_load.spark.failures import SparkFailed
from fakebroker_load.spark.master import MasterError, MasterUnreachable
from fakebroker_load.spark.slots import NotReady
from fakebroker_load.spark.stopping import RunStopped
from fakebroker_load.wire.client import WireError

USER_ERRORS = (
    ControlCallError,
    DamagedResults,
    JavaNotFound,
    JournalError,
    LoadScenarioError,
    MasterError,
    MasterUnreachable,
    NotReady,
    ResultsError,
    RunStopped,
    SparkDidNotStart,
    SparkFailed,
    TooFewFiles,
    WireError,
)
USER_ERROR_STATUS = 2
# Valid commands that could not be carried out: no broker, no Java, no master.
UNABLE = (
    ControlCallError,
    DamagedResults,
    JavaNotFound,
    MasterUnreachable,
    NotReady,
    RunStopped,
    SparkDidNotStart,
    SparkFailed,
    TooFewFiles,
    WireError,
)
UNABLE_STATUS = 3
INTERRUPTED_STATUS = 130
