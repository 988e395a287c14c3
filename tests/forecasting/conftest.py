"""Forecasters that many tests look at and none changes: each is fitted once."""

from __future__ import annotations

import pytest
from likewise.forecasting import RetrievalForecaster

from tests.forecasting.planted import HORIZON, LOOKBACK, learned_model, two_waves


@pytest.fixture(scope="session")
def learned() -> RetrievalForecaster:
    return learned_model().fit(two_waves())


@pytest.fixture(scope="session")
def raw() -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(two_waves())


@pytest.fixture(params=["learned", "raw"])
def fitted(request: pytest.FixtureRequest) -> RetrievalForecaster:
    model: RetrievalForecaster = request.getfixturevalue(request.param)
    return model
