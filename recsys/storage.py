"""Storage: a fitted generator as one verified folder, and back.

In: a generator. Out: a bundle of kind ``"candidate-generator"`` (JSON, safetensors, Parquet; no
pickle). What follows from the histories in closed form is made again on loading, so the folder
holds ids, histories, weights of the tower and of the content map, and little else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from ..core import Bundle, load_bundle, save_bundle
from .cold import ContentMap
from .content import ContentEncoder, ContentSettings
from .cooccurrence import Cooccurrence, CooccurrenceSettings
from .fitting import Fitted
from .histories import Histories
from .interactions import Interactions
from .linear import LinearItems, LinearSettings
from .popularity import Popularity
from .spectral import Directions, SpectralItems, SpectralSettings
from .tower import Tower
from .tower_settings import TowerSettings
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .generator import CandidateGenerator

KIND = "candidate-generator"
_TOWER = "tower."
_VIEWS = ("crowd", "drift")


def save_generator(generator: CandidateGenerator, path: str | PathLike[str]) -> None:
    """Save a fitted generator as one folder, all or nothing."""
    fitted = generator.fitted_
    known, content = fitted.interactions, fitted.content
    save_bundle(
        path,
        kind=KIND,
        config={
            "settings": _tell_settings(generator),
            "ordered": known.ordered,
            "content": None if content is None else content.state(),
        },
        tensors=_tell_tensors(fitted),
        tables={
            "users": pl.DataFrame({"user_id": known.users.ids}),
            "items": pl.DataFrame({"item_id": known.items.ids}),
        },
        reports=_tell_reports(fitted),
        fingerprint=generator.fingerprint,
    )


def load_generator(path: str | PathLike[str]) -> CandidateGenerator:
    """Load a saved generator; it answers as it did before.

    Raises:
        BundleError: The folder cannot be trusted or holds something else.
    """
    from .generator import CandidateGenerator  # noqa: PLC0415 - the two know each other

    bundle = load_bundle(path, kind=KIND)
    plain = dict(bundle.config["settings"])
    tower, links, linear, spectral = (
        plain.pop(name) for name in ("tower", "cooccurrence", "linear", "spectral")
    )
    generator = CandidateGenerator(
        tower=None if tower is None else TowerSettings(**tower),
        cooccurrence=None if links is None else CooccurrenceSettings(**links),
        linear=None if linear is None else LinearSettings(**linear),
        spectral=None if spectral is None else SpectralSettings(**spectral),
        content=ContentSettings(**plain.pop("content")),
        **plain,
    )
    known = _read_interactions(bundle)
    generator.native_ = None
    generator.fitted_ = fitted = Fitted(known, Popularity(known.item_counts))
    chosen = generator.settings.cooccurrence
    if isinstance(chosen, CooccurrenceSettings):
        fitted.cooccurrence = Cooccurrence(known.histories, chosen)
    if isinstance(generator.settings.linear, LinearSettings):
        weights = bundle.tensors["linear.weights"].numpy()
        fitted.linear = LinearItems.of_weights(weights, generator.settings.linear)
    if isinstance(generator.settings.spectral, SpectralSettings):
        crowd, drift = (_read_directions(bundle, view) for view in _VIEWS)
        fitted.spectral = SpectralItems.of_directions(crowd, drift, generator.settings.spectral)
    if generator.settings.tower is not None:
        fitted.tower = _read_tower(
            bundle, generator.settings.tower, generator.settings.seed, len(known.items)
        )
    if bundle.config["content"] is not None:
        _read_content(bundle, fitted, generator.settings.content)
    return generator


def _tell_settings(generator: CandidateGenerator) -> dict[str, Any]:
    """The settings, with what was chosen in place of ``"choose"``: loading chooses nothing."""
    fitted = generator.fitted_
    chosen = {
        "cooccurrence": fitted.cooccurrence,
        "spectral": fitted.spectral,
        "linear": fitted.linear,
    }
    return asdict(generator.settings) | {
        name: None if source is None else asdict(source.settings) for name, source in chosen.items()
    }


def _tell_tensors(fitted: Fitted) -> dict[str, Any]:
    histories = fitted.interactions.histories
    tensors: dict[str, Any] = {
        "histories.items": histories.items,
        "histories.offsets": histories.offsets,
        "histories.weights": histories.weights,
    }
    if fitted.linear is not None:
        tensors["linear.weights"] = fitted.linear.weights
    if fitted.spectral is not None:
        for view in _VIEWS:
            parts = vars(getattr(fitted.spectral, view))
            tensors |= {f"spectral.{view}.{name}": part for name, part in parts.items()}
    if fitted.tower is not None:
        tensors |= {f"{_TOWER}{name}": value for name, value in fitted.tower.state().items()}
    if fitted.content is not None and fitted.content_map is not None:
        tensors["content.rarity"] = fitted.content.rarity_
        tensors["content.weights"] = fitted.content_map.weights
        tensors["content.vectors"] = fitted.content_vectors
    return tensors


def _tell_reports(fitted: Fitted) -> dict[str, Mapping[str, Any]]:
    reports: dict[str, Mapping[str, Any]] = {}
    if fitted.tower is not None:
        reports["training"] = {
            "fingerprint": fitted.tower.fingerprint_,
            "losses": fitted.tower.losses_,
            "seconds": fitted.tower.seconds_,
        }
    if fitted.content_map is not None:
        reports["content"] = {
            "ridge": fitted.content_map.ridge,
            "agreement": fitted.content_map.agreement,
        }
    return reports


def _read_interactions(bundle: Bundle) -> Interactions:
    users = Vocabulary(bundle.tables["users"]["user_id"], "user_id")
    items = Vocabulary(bundle.tables["items"]["item_id"], "item_id")
    histories = Histories(
        bundle.tensors["histories.items"].numpy(),
        bundle.tensors["histories.offsets"].numpy(),
        bundle.tensors["histories.weights"].numpy(),
        len(items),
    )
    return Interactions(users, items, histories, bool(bundle.config["ordered"]))


def _read_directions(bundle: Bundle, view: str) -> Directions:
    names = ("vectors", "response", "said", "found")
    return Directions(*(bundle.tensors[f"spectral.{view}.{name}"].numpy() for name in names))


def _read_tower(bundle: Bundle, settings: TowerSettings, seed: int, items: int) -> Tower:
    state = {
        name.removeprefix(_TOWER): value
        for name, value in bundle.tensors.items()
        if name.startswith(_TOWER)
    }
    report = bundle.reports["training"]
    tower = Tower.of_state(settings, seed, items, state, str(report["fingerprint"]))
    tower.losses_ = list(report["losses"])
    tower.seconds_ = float(report["seconds"])
    return tower


def _read_content(bundle: Bundle, fitted: Fitted, settings: ContentSettings) -> None:
    tensors, report = bundle.tensors, bundle.reports["content"]
    fitted.content = ContentEncoder.of_state(
        settings, bundle.config["content"], tensors["content.rarity"].numpy()
    )
    fitted.content_map = ContentMap(
        tensors["content.weights"].numpy(), float(report["ridge"]), float(report["agreement"])
    )
    fitted.place_content_(tensors["content.vectors"].numpy())
