"""Episodes to Minari datasets, and back.

Minari keeps its datasets below one folder, the user's ``~/.minari`` unless ``MINARI_DATASETS_PATH`` says another one.
Here the folder is always an argument, and the variable is what it was afterwards.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import h5py  # type: ignore[import-untyped]
import minari  # type: ignore[import-untyped]
import numpy as np
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer  # type: ignore[import-untyped]

from deskgym._version import __version__
from deskgym.datasets import spaces as _registers_the_spaces  # noqa: F401
from deskgym.datasets.episode import MASK, Episode
from deskgym.envs.errors import near
from deskgym.envs.options import checked

_ROOT = "MINARI_DATASETS_PATH"
_ID = re.compile(r"(?:[\w-]+/)*[\w-]*\w-v\d+", re.ASCII)  # narrower than Minari's, which splits some ids elsewhere
_DATA, _HDF5 = "data", "main_data.hdf5"
_COMPRESSED_FROM = 1024  # bytes of one observation's part, below which compression gains nothing
_GZIP = 1  # a 1920x1080 screenshot of KAlgebra: 6.2 MB to 52 kB in 12 ms; level 4 takes 20 ms for 30 kB


@contextmanager
def datasets_in(folder: str | Path) -> Iterator[None]:
    """Minari's datasets are those in ``folder`` while this is open."""
    before = os.environ.get(_ROOT)
    os.environ[_ROOT] = str(Path(folder).absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ROOT]
        else:
            os.environ[_ROOT] = before


@checked
def write_dataset(
    folder: str | Path,
    dataset_id: str,
    episodes: Sequence[Episode],
    env: gymnasium.Env[Any, Any],
    *,
    replace: bool = False,
    eval_env: gymnasium.envs.registration.EnvSpec | None = None,
    **about: Any,
) -> minari.MinariDataset:
    """Write episodes as a Minari dataset, without loss; it is there whole or not at all.

    Screenshots and tables are compressed in HDF5 itself, so that any reader sees plain arrays.

    Args:
        folder: what ``MINARI_DATASETS_PATH`` must be to load it with Minari alone; made if it is missing.
        dataset_id: such as ``"kalgebra/tab-oracle-v0"``.
        episodes: they may be read as they are asked for, one at a time.
        env: what they were played in: its spaces, and its spec by which ``dataset.recover_environment()`` makes it.
        replace: replace a dataset of the same id.
        eval_env: the spec of the environment to evaluate in.
        about: ``description``, ``author``, ``author_email``, ``algorithm_name``, ``code_permalink`` and the like, as
            ``minari.create_dataset_from_buffers`` takes them.

    Raises:
        ValueError: the id is malformed or taken, there are no episodes, or Minari cannot keep the env's spaces or spec.
    """
    check_id(dataset_id)
    folder = Path(folder)
    target = folder / dataset_id / _DATA
    if not len(episodes):
        raise ValueError(f"there are no episodes to write as {dataset_id!r}")
    if target.exists() and not replace:
        raise ValueError(f"{target} is there already; choose another id or version, or replace=True")
    _check_spec(env)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
        with datasets_in(temporary):
            _write(dataset_id, episodes, env, {"eval_env": eval_env} | about)
        _move(Path(temporary), folder, dataset_id)
    return load_dataset(folder, dataset_id)


@checked
def load_dataset(folder: str | Path, dataset_id: str | None = None) -> minari.MinariDataset:
    """A dataset by its folder; ``dataset_id`` may be left out where there is only one.

    Raises:
        FileNotFoundError: there is none of that id; the message lists what is there.
    """
    folder = Path(folder)
    there = sorted(str(path.parent.parent.relative_to(folder)) for path in folder.glob(f"**/{_DATA}/metadata.json"))
    there = [name for name in there if not name.startswith(".")]
    if dataset_id is None and len(there) == 1:
        dataset_id = there[0]
    if dataset_id not in there:
        what = "one" if dataset_id is None else repr(dataset_id)
        hint = near(dataset_id, there) if dataset_id else ""
        raise FileNotFoundError(f"asked for {what} of the datasets in {folder}: {', '.join(there) or 'none'}{hint}")
    return minari.MinariDataset(folder / dataset_id / _DATA)


def episodes_of(dataset: minari.MinariDataset) -> Iterator[Episode]:
    """The dataset's episodes as they were seen, read one by one; of ``dataset.filter_episodes(...)`` only those."""
    observation_space, action_space = dataset.observation_space, dataset.action_space
    for number in dataset.episode_indices.tolist():
        (attributes,) = dataset.storage.get_episode_metadata([number])
        (data,) = dataset.iterate_episodes([number])
        yield Episode.from_minari(data, attributes, observation_space, action_space)


def check_id(dataset_id: str) -> str:
    """The id, if Minari takes it.

    Raises:
        ValueError: it does not.
    """
    if not _ID.fullmatch(dataset_id):
        legal = "name-v0 or namespace/name-v0, of letters, digits, - and _"
        raise ValueError(f"dataset id {dataset_id!r}; legal is {legal}")
    return dataset_id


def _check_spec(env: gymnasium.Env[Any, Any]) -> None:
    try:
        if env.spec is not None:
            env.spec.to_json()
    except (TypeError, ValueError) as error:
        raise ValueError(f"the env's spec cannot be written: {error}; its arguments must be JSON-able") from error


def _write(dataset_id: str, episodes: Sequence[Episode], env: gymnasium.Env[Any, Any], about: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about authors and links that are left out
        try:
            dataset = minari.create_dataset_from_buffers(
                dataset_id,
                [],
                env=env if env.spec is not None else None,
                observation_space=env.observation_space,
                action_space=env.action_space,
                data_format="hdf5",
                requirements=[f"deskgym=={__version__}"],
                jpeg_encoding=False,
                **{"algorithm_name": "unknown"} | about,
            )
        except NotImplementedError as error:
            raise ValueError(f"Minari cannot keep this env's spaces: {error}") from error
    storage, masks = dataset.storage, episodes[0].masks
    with h5py.File(storage.data_path / _HDF5, "a", track_order=True) as file:
        for number in range(len(episodes)):
            group = file.create_group(f"episode_{number}", track_order=True)
            _prepare(group, "observations", env.observation_space)
            if masks:
                _prepare(group.create_group("infos"), MASK, spaces.Box(0, 1, masks[0].shape, np.bool_))
    attributes: list[dict[str, Any]] = []

    def buffers() -> Iterator[EpisodeBuffer]:
        for number, episode in enumerate(episodes):
            attributes.append(episode.attributes())
            yield episode.to_buffer(env.observation_space, env.action_space, number)

    storage.update_episodes(buffers())
    storage.update_episode_metadata(attributes)


def _prepare(group: h5py.Group, name: str, space: spaces.Space[Any]) -> None:
    """Empty compressed arrays, one step a chunk, to which Minari then appends; it would make uncompressed ones."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        inner = group.create_group(name)
        for key, part in parts:
            _prepare(inner, key if isinstance(key, str) else f"_index_{key}", part)
    elif isinstance(space, spaces.Box) and np.prod(space.shape) * space.dtype.itemsize >= _COMPRESSED_FROM:
        group.create_dataset(
            name, (0, *space.shape), space.dtype, maxshape=(None, *space.shape), chunks=(1, *space.shape),
            compression="gzip", compression_opts=_GZIP, shuffle=True,
        )  # fmt: skip


def _move(source: Path, folder: Path, dataset_id: str) -> None:
    """Move a written dataset to where it belongs; what was there goes with ``source``."""
    target = folder / dataset_id
    target.mkdir(parents=True, exist_ok=True)
    for namespace in source.glob("**/namespace_metadata.json"):
        place = folder / namespace.relative_to(source)
        if not place.exists():
            shutil.copyfile(namespace, place)
    if (target / _DATA).exists():
        os.replace(target / _DATA, source / "replaced")
    os.replace(source / dataset_id / _DATA, target / _DATA)
