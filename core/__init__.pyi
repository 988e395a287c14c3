from .bundle.folder import Bundle, load_bundle, save_bundle
from .encoders.augment import (
    Augmentation,
    CellCorruption,
    Chain,
    CropResize,
    Jitter,
    Masking,
    Reversal,
    Scaling,
    Shift,
    list_invariances,
    make_views,
)
from .encoders.bags import Bags, Rows
from .encoders.dual import (
    DualEncoder,
    ProjectionHead,
    build_dual,
    describe_dual,
    momentum_copy,
    update_momentum_,
)
from .encoders.encoders import (
    RowEncoder,
    VectorEncoder,
    build_encoder,
    describe_encoder,
)
from .encoders.encoding import Encoder, EncoderConfig
from .encoders.fingerprint import fingerprint
from .encoders.item_bag import ItemBagEncoder
from .encoders.prototypes import Classified, Prototypes, average_prototypes
from .encoders.tsaug_adapter import TsaugAugmentation
from .encoders.window_encoder import WindowEncoder
from .errors import (
    BundleError,
    BundleFormatError,
    BundleKindError,
    ChecksumMismatch,
    ColumnError,
    DegenerateTemperature,
    DimensionalCollapse,
    DuplicateRows,
    GeometryError,
    GradientError,
    InputError,
    LeakError,
    LikewiseError,
    MetricMismatch,
    NonFiniteError,
    NotFitted,
    ProcedureWarning,
    ProcessLost,
    RecallGateFailed,
    RepresentationCollapse,
    SettingError,
    ShapeError,
    StaleIndex,
    TooFewNegatives,
    TooFewRows,
    UnknownId,
    UnsortedRows,
    VectorIndexError,
    join_faults,
)
from .geometry import Geometry, check_geometry, measure_geometry, normalize
from .index.engine import VectorIndex
from .index.exact import ExactIndex
from .index.gate import GateReport, RecallGate
from .index.graph import GraphSettings
from .index.hnsw import HNSWIndex
from .index.neighbours import Neighbours
from .index.packing import Packed
from .index.recall import measure_recall
from .monitoring.guards import Check, Guards, Verdict, compare_samples, monitor
from .monitoring.inspection import BundlePart, Inspection, check_bundle, inspect_bundle
from .monitoring.probes import ProbeSet, freeze_probes
from .negatives.audit import AuditPair, MiningAudit
from .negatives.audit_page import audit_blocks
from .negatives.drawing import Mixture, Popularity, WeightedDraw
from .negatives.hard import Curriculum, MinedHard, bags_of
from .negatives.mining import MinedNegatives, MiningCache, MiningRule, mine_negatives
from .negatives.queues import Queue, QueueContent, VectorQueue
from .negatives.samplers import Draw, InBatch, NegativeSampler, Request, log_presence
from .objective.config import ObjectiveConfig
from .objective.layout import Pool
from .objective.masks import CandidateMask, GivenPairs, SameGroup, SameId
from .objective.objective import ContrastiveObjective
from .objective.step import StepResult
from .page.blocks import Block, Columns, Figure, Heading, KeyValues, Note, Table, Text
from .page.chapters import Chapter, Tell
from .page.palette import COLOURS, INK, MUTED, PAPER, RAISED, RULE, SERIES, Colour
from .page.plots import (
    HALF_WIDTH,
    PAGE_WIDTH,
    add_legend,
    figure_svg,
    new_drawing,
    style_axes,
    title_panel,
)
from .page.report import Page
from .page.svg import check_svg
from .seeds import Stage, derive_generator, derive_seed, seeded
from .shell.progress import Progress, silent, track
from .shell.settings import config_option, read_settings
from .training.chunking import chunked_step, whole_step
from .training.distributed import distributed_step, gather_rows
from .training.history import EpochRecord, StepRecord, TrainingHistory
from .training.memory import BatchPlan, MemoryModel, largest_batch, measure_memory
from .training.pairs import CandidateSource, Pairs, PairSource
from .training.recall_probe import Probe, RecallProbe
from .training.schedule import TrainerSettings, learning_rate_at
from .training.trainer import Trainer
from .training.tuning import Sweep, TemperatureReading, Trial, analyse_temperature, sweep

__all__ = [
    "COLOURS",
    "HALF_WIDTH",
    "INK",
    "MUTED",
    "PAGE_WIDTH",
    "PAPER",
    "RAISED",
    "RULE",
    "SERIES",
    "AuditPair",
    "Augmentation",
    "Bags",
    "BatchPlan",
    "Block",
    "Bundle",
    "BundleError",
    "BundleFormatError",
    "BundleKindError",
    "BundlePart",
    "CandidateMask",
    "CandidateSource",
    "CellCorruption",
    "Chain",
    "Chapter",
    "Check",
    "ChecksumMismatch",
    "Classified",
    "Colour",
    "ColumnError",
    "Columns",
    "ContrastiveObjective",
    "CropResize",
    "Curriculum",
    "DegenerateTemperature",
    "DimensionalCollapse",
    "Draw",
    "DualEncoder",
    "DuplicateRows",
    "Encoder",
    "EncoderConfig",
    "EpochRecord",
    "ExactIndex",
    "Figure",
    "GateReport",
    "Geometry",
    "GeometryError",
    "GivenPairs",
    "GradientError",
    "GraphSettings",
    "Guards",
    "HNSWIndex",
    "Heading",
    "InBatch",
    "InputError",
    "Inspection",
    "ItemBagEncoder",
    "Jitter",
    "KeyValues",
    "LeakError",
    "LikewiseError",
    "Masking",
    "MemoryModel",
    "MetricMismatch",
    "MinedHard",
    "MinedNegatives",
    "MiningAudit",
    "MiningCache",
    "MiningRule",
    "Mixture",
    "NegativeSampler",
    "Neighbours",
    "NonFiniteError",
    "NotFitted",
    "Note",
    "ObjectiveConfig",
    "Packed",
    "Page",
    "PairSource",
    "Pairs",
    "Pool",
    "Popularity",
    "Probe",
    "ProbeSet",
    "ProcedureWarning",
    "ProcessLost",
    "Progress",
    "ProjectionHead",
    "Prototypes",
    "Queue",
    "QueueContent",
    "RecallGate",
    "RecallGateFailed",
    "RecallProbe",
    "RepresentationCollapse",
    "Request",
    "Reversal",
    "RowEncoder",
    "Rows",
    "SameGroup",
    "SameId",
    "Scaling",
    "SettingError",
    "ShapeError",
    "Shift",
    "Stage",
    "StaleIndex",
    "StepRecord",
    "StepResult",
    "Sweep",
    "Table",
    "Tell",
    "TemperatureReading",
    "Text",
    "TooFewNegatives",
    "TooFewRows",
    "Trainer",
    "TrainerSettings",
    "TrainingHistory",
    "Trial",
    "TsaugAugmentation",
    "UnknownId",
    "UnsortedRows",
    "VectorEncoder",
    "VectorIndex",
    "VectorIndexError",
    "VectorQueue",
    "Verdict",
    "WeightedDraw",
    "WindowEncoder",
    "add_legend",
    "analyse_temperature",
    "audit_blocks",
    "average_prototypes",
    "bags_of",
    "build_dual",
    "build_encoder",
    "check_bundle",
    "check_geometry",
    "check_svg",
    "chunked_step",
    "compare_samples",
    "config_option",
    "derive_generator",
    "derive_seed",
    "describe_dual",
    "describe_encoder",
    "distributed_step",
    "figure_svg",
    "fingerprint",
    "freeze_probes",
    "gather_rows",
    "inspect_bundle",
    "join_faults",
    "largest_batch",
    "learning_rate_at",
    "list_invariances",
    "load_bundle",
    "log_presence",
    "make_views",
    "measure_geometry",
    "measure_memory",
    "measure_recall",
    "mine_negatives",
    "momentum_copy",
    "monitor",
    "new_drawing",
    "normalize",
    "read_settings",
    "save_bundle",
    "seeded",
    "silent",
    "style_axes",
    "sweep",
    "title_panel",
    "track",
    "update_momentum_",
    "whole_step",
]
