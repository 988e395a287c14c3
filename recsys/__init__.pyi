from .bootstrap import Interval, bootstrap_difference, bootstrap_mean
from .candidates import Candidates
from .content import ContentEncoder, ContentSettings
from .cooccurrence import Cooccurrence, CooccurrenceSettings
from .evaluation import Evaluation, agreement, compare, evaluate, recall_by_source
from .events import read_events, read_matrix
from .exported import read_candidates
from .generator import CandidateGenerator, GeneratorSettings
from .histories import Histories
from .interactions import Interactions
from .popularity import Popularity, StreamingFrequency, log_shares
from .splits import Split, hold_out_share, hold_out_users, leave_one_out, split_by_time
from .spread import Spread
from .strata import item_strata
from .tower import Tower, TowerSettings
from .vocabulary import Vocabulary

__all__ = [
    "CandidateGenerator",
    "Candidates",
    "ContentEncoder",
    "ContentSettings",
    "Cooccurrence",
    "CooccurrenceSettings",
    "Evaluation",
    "GeneratorSettings",
    "Histories",
    "Interactions",
    "Interval",
    "Popularity",
    "Split",
    "Spread",
    "StreamingFrequency",
    "Tower",
    "TowerSettings",
    "Vocabulary",
    "agreement",
    "bootstrap_difference",
    "bootstrap_mean",
    "compare",
    "evaluate",
    "hold_out_share",
    "hold_out_users",
    "item_strata",
    "leave_one_out",
    "log_shares",
    "read_candidates",
    "read_events",
    "read_matrix",
    "recall_by_source",
    "split_by_time",
]
