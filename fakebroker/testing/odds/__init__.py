"""The odds of lost, duplicated, reordered and refused records when brokers fail: trials of a simulated cluster.

OddsModel               the parameters: cluster, producer, failures, duration
run_trial, TrialResult one seed of it, and its counts
"""

from fakebroker.testing.odds.model import ModelError, OddsModel
from fakebroker.testing.odds.trial import TrialResult, run_trial

__all__ = ["ModelError", "OddsModel", "TrialResult", "run_trial"]
