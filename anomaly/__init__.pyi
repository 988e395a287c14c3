from .blindspots import Injection, Invariance, Measurement, Register, measure_register
from .combining import combine_by_rank
from .corruption import ROW_FAULTS, RowFault
from .detector import NeighbourDetector, ProbabilityError
from .drift import DriftMonitor, DriftVerdict
from .events import Event, merge_events, within_budget
from .evidence import Alert, Difference, Neighbour
from .injection import WINDOW_FAULTS, WindowFault
from .outlier import NeighbourOutlier
from .review import Suspect
from .row_register import measure_row_register
from .series import SeriesDetector, UnfittedError
from .stream import Judgement, Stream
from .threshold import Threshold, calibrate, rank_among_normals
from .window_evidence import WindowAlert, explain_window
from .window_learning import WindowLearning
from .window_register import measure_window_register

__all__ = [
    "ROW_FAULTS",
    "WINDOW_FAULTS",
    "Alert",
    "Difference",
    "DriftMonitor",
    "DriftVerdict",
    "Event",
    "Injection",
    "Invariance",
    "Judgement",
    "Measurement",
    "Neighbour",
    "NeighbourDetector",
    "NeighbourOutlier",
    "ProbabilityError",
    "Register",
    "RowFault",
    "SeriesDetector",
    "Stream",
    "Suspect",
    "Threshold",
    "UnfittedError",
    "WindowAlert",
    "WindowFault",
    "WindowLearning",
    "calibrate",
    "combine_by_rank",
    "explain_window",
    "measure_register",
    "measure_row_register",
    "measure_window_register",
    "merge_events",
    "rank_among_normals",
    "within_budget",
]
