"""Many simulations, one for each seed: the result of each, the faults that it draws, and the situations that it
reached.

run_seed, SeedResult    one seed from its plan to its verdict
KINDS                   the simulations: "cluster", "streams", "groups", "transactions"
names_of                the situations that a kind can reach
"""

from fakebroker.testing.seeds.one_seed import KINDS, SeedResult, run_seed
from fakebroker.testing.seeds.situations import names_of

__all__ = ["KINDS", "SeedResult", "names_of", "run_seed"]
