from .baselines import Baseline, Bestsellers, Ease, ImplicitModel, usual_baselines
from .bootstrap import Interval, bootstrap_difference, bootstrap_mean
from .candidates import Candidates
from .content import ContentEncoder, ContentSettings
from .cooccurrence import Cooccurrence, CooccurrenceSettings
from .evaluation import Evaluation, agreement, compare, evaluate, recall_by_source
from .events import read_events, read_matrix
from .evidence import brought_by, explain
from .exported import read_candidates
from .exposure import ExposureRecall, sensitivity_curve, snips_recall
from .generator import CandidateGenerator
from .histories import Histories
from .interactions import Interactions
from .job import JobSettings, Manifest, Worker, run_job, verify_job
from .linear import LinearItems, LinearSettings
from .popularity import Popularity, StreamingFrequency, log_shares, mixed_shares
from .refresh import Deployment, Staleness, add_items, measure_staleness, recall_on
from .settings import GeneratorSettings
from .spectral import SpectralItems, SpectralSettings
from .splits import Split, hold_out_share, hold_out_users, leave_one_out, split_by_time
from .spread import Spread, gini
from .strata import item_strata
from .tower import Tower
from .tower_settings import TowerSettings
from .tuning import Choice, choose_settings
from .vocabulary import Vocabulary

__all__ = [
    "Baseline",
    "Bestsellers",
    "CandidateGenerator",
    "Candidates",
    "Choice",
    "ContentEncoder",
    "ContentSettings",
    "Cooccurrence",
    "CooccurrenceSettings",
    "Deployment",
    "Ease",
    "Evaluation",
    "ExposureRecall",
    "GeneratorSettings",
    "Histories",
    "ImplicitModel",
    "Interactions",
    "Interval",
    "JobSettings",
    "LinearItems",
    "LinearSettings",
    "Manifest",
    "Popularity",
    "SpectralItems",
    "SpectralSettings",
    "Split",
    "Spread",
    "Staleness",
    "StreamingFrequency",
    "Tower",
    "TowerSettings",
    "Vocabulary",
    "Worker",
    "add_items",
    "agreement",
    "bootstrap_difference",
    "bootstrap_mean",
    "brought_by",
    "choose_settings",
    "compare",
    "evaluate",
    "explain",
    "gini",
    "hold_out_share",
    "hold_out_users",
    "item_strata",
    "leave_one_out",
    "log_shares",
    "measure_staleness",
    "mixed_shares",
    "read_candidates",
    "read_events",
    "read_matrix",
    "recall_by_source",
    "recall_on",
    "run_job",
    "sensitivity_curve",
    "snips_recall",
    "split_by_time",
    "usual_baselines",
    "verify_job",
]
