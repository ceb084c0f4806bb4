"""Many simulations, each a seed: what came of one, which faults it draws, and which situations it came through.

run_seed, SeedResult    one seed from its plan to its verdict
KINDS                   the simulations: "cluster", "streams", "groups", "transactions"
names_of                the situations that a kind can reach
"""

from fakebroker.testing.seeds.one_seed import KINDS, SeedResult, run_seed
from fakebroker.testing.seeds.situations import names_of

__all__ = ["KINDS", "SeedResult", "names_of", "run_seed"]
