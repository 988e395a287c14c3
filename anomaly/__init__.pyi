from .blindspots import Injection, Invariance, Measurement, Register, measure_register
from .corruption import ROW_FAULTS, RowFault
from .detector import NeighbourDetector
from .evidence import Alert, Difference, Neighbour
from .outlier import NeighbourOutlier
from .review import Suspect
from .row_register import measure_row_register
from .threshold import Threshold, calibrate, rank_among_normals

__all__ = [
    "ROW_FAULTS",
    "Alert",
    "Difference",
    "Injection",
    "Invariance",
    "Measurement",
    "Neighbour",
    "NeighbourDetector",
    "NeighbourOutlier",
    "Register",
    "RowFault",
    "Suspect",
    "Threshold",
    "calibrate",
    "measure_register",
    "measure_row_register",
    "rank_among_normals",
]
