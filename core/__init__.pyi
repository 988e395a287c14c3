from .audit import AuditPair, MiningAudit
from .augment import (
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
from .bags import Bags, Rows
from .blocks import Block, Columns, Figure, Heading, KeyValues, Note, Table, Text
from .bundle import Bundle, load_bundle, save_bundle
from .chapters import Chapter, Tell
from .chunking import chunked_step, whole_step
from .distributed import distributed_step, gather_rows
from .drawing import Mixture, Popularity, WeightedDraw
from .dual import (
    DualEncoder,
    ProjectionHead,
    build_dual,
    describe_dual,
    momentum_copy,
    update_momentum_,
)
from .encoders import ItemBagEncoder, RowEncoder, VectorEncoder, build_encoder, describe_encoder
from .encoding import Encoder, EncoderConfig
from .engine import VectorIndex
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
from .fingerprint import fingerprint
from .gate import GateReport, RecallGate
from .geometry import Geometry, check_geometry, measure_geometry, normalize
from .graph import GraphSettings
from .hard_negatives import Curriculum, MinedHard, bags_of
from .history import EpochRecord, StepRecord, TrainingHistory
from .hnsw import HNSWIndex
from .index import ExactIndex
from .inspection import BundlePart, Inspection, check_bundle, inspect_bundle
from .layout import Pool
from .masks import CandidateMask, GivenPairs, SameGroup, SameId
from .memory import BatchPlan, MemoryModel, largest_batch, measure_memory
from .mining import MinedNegatives, MiningCache, MiningRule, mine_negatives
from .monitoring import Check, Guards, Verdict, compare_samples, monitor
from .negatives import Draw, InBatch, NegativeSampler, Request, log_presence
from .neighbours import Neighbours
from .objective import ContrastiveObjective, StepResult
from .objective_config import ObjectiveConfig
from .packing import Packed
from .pairs import CandidateSource, Pairs, PairSource
from .palette import COLOURS, INK, MUTED, PAPER, RAISED, RULE, SERIES, Colour
from .plots import (
    HALF_WIDTH,
    PAGE_WIDTH,
    add_legend,
    figure_svg,
    new_drawing,
    style_axes,
    title_panel,
)
from .probes import ProbeSet, freeze_probes
from .progress import Progress, silent, track
from .prototypes import Classified, Prototypes, average_prototypes
from .queues import Queue, QueueContent, VectorQueue
from .recall import measure_recall
from .recall_probe import Probe, RecallProbe
from .report import Page
from .schedule import TrainerSettings, learning_rate_at
from .seeds import Stage, derive_generator, derive_seed, seeded
from .settings import config_option, read_settings
from .svg import check_svg
from .training import Trainer
from .tsaug_adapter import TsaugAugmentation
from .tuning import Sweep, TemperatureReading, Trial, analyse_temperature, sweep
from .window_encoder import WindowEncoder

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
