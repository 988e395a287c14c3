from .adapters import WindowRegressor, boosted_trees
from .backtest import Backtest, backtest
from .blend import Blend
from .blend_explanation import BlendExplanation
from .calibration import Calibration
from .cutoffs import rolling_cutoffs
from .explanation import Episode, Explanation
from .files import read_file
from .forecast import Forecast
from .frames import Gaps, read_frame
from .frequency import Frequency
from .inspection import (
    ClockCheck,
    NearestStretches,
    Regimes,
    check_clock,
    cut_stretch,
    describe_quality,
    find_duplicates,
    find_regimes,
    find_similar,
    nearest_stretches,
)
from .levels import LevelKind
from .living import Freshness, RetrainPolicy, check_freshness, extend, refresh
from .logs import InLogs
from .matching import series_labels
from .model import Forecaster
from .naive import Repeat, SeasonalNaive
from .nixtla import NixtlaModel
from .normalisers import Normaliser
from .origins import Origins
from .pairs import PairPolicy
from .panel import Panel
from .price import PairedTest, block_bootstrap, diebold_mariano, explanation_price
from .retrieval import RetrievalForecaster
from .ridge import DirectRidge
from .scores import mape, score_table
from .towers import TowerSettings
from .tracking import track_intervals
from .window_neighbours import WindowNeighbours
from .windows import Windows, too_short
from .with_covariates import WithCovariates

__all__ = [
    "Backtest",
    "Blend",
    "BlendExplanation",
    "Calibration",
    "ClockCheck",
    "DirectRidge",
    "Episode",
    "Explanation",
    "Forecast",
    "Forecaster",
    "Frequency",
    "Freshness",
    "Gaps",
    "InLogs",
    "LevelKind",
    "NearestStretches",
    "NixtlaModel",
    "Normaliser",
    "Origins",
    "PairPolicy",
    "PairedTest",
    "Panel",
    "Regimes",
    "Repeat",
    "RetrainPolicy",
    "RetrievalForecaster",
    "SeasonalNaive",
    "TowerSettings",
    "WindowNeighbours",
    "WindowRegressor",
    "Windows",
    "WithCovariates",
    "backtest",
    "block_bootstrap",
    "boosted_trees",
    "check_clock",
    "check_freshness",
    "cut_stretch",
    "describe_quality",
    "diebold_mariano",
    "explanation_price",
    "extend",
    "find_duplicates",
    "find_regimes",
    "find_similar",
    "mape",
    "nearest_stretches",
    "read_file",
    "read_frame",
    "refresh",
    "rolling_cutoffs",
    "score_table",
    "series_labels",
    "too_short",
    "track_intervals",
]
