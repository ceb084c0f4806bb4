"""How often records are lost, doubled, reordered or refused when brokers fail: trials of a simulated cluster.

OddsModel               what is asked: cluster, producer, failures, for how long
run_trial, TrialResult  one seed of it, and what was counted
"""

from fakebroker.testing.odds.model import ModelError, OddsModel
from fakebroker.testing.odds.trial import TrialResult, run_trial

__all__ = ["ModelError", "OddsModel", "TrialResult", "run_trial"]
