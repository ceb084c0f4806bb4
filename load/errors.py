"""What a user can do wrong or lack. Each has a message of one sentence and ends a command without a traceback."""

from __future__ import annotations

from load.java import JavaNotFound
from load.job import ResultsError
from load.limits import TooFewFiles
from load.scenario import ScenarioError
from load.session import SparkDidNotStart
from load.wire_client import WireError

USER_ERRORS = (JavaNotFound, ResultsError, ScenarioError, SparkDidNotStart, TooFewFiles, WireError)
USER_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130
