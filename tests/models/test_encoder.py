"""The real encoder in its child process, against sentence-transformers called directly."""

import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from seedbed_server.errors import PartUnavailableError
from seedbed_server.models.contract import Passage
from seedbed_server.models.encoder import Encoder
from seedbed_server.models.manifest import by_role

HEADER = "Caroline, 8 May 2023: "
TEXTS = [
    "I adopted a puppy called Milo last weekend.",
    "Ok",
    "",
    "D'Arcy and Žižek met in Straße 7, 東京に引っ越した 🔥",
    "x\x00y \u200b\u202e tab\tnewline\n",
    "We talked about the move to Berlin. " * 6,
]


@pytest.mark.slow  # a second process imports the library
async def test_equal_to_the_library_called_directly(encoder: Encoder, models_dir: Path, tmp_path: Path) -> None:
    """Texts of one window get the vectors that sentence-transformers gives for header and text in one."""
    script = (
        "import sys, json, numpy as np; from sentence_transformers import SentenceTransformer\n"
        "model = SentenceTransformer(sys.argv[1], device='cpu', local_files_only=True)\n"
        "np.save(sys.argv[2], model.encode(json.loads(sys.argv[3])))"
    )
    folder, out = str(models_dir / encoder.name), str(tmp_path / "direct.npy")
    texts = json.dumps([HEADER + text for text in TEXTS])
    command = [sys.executable, "-c", script, folder, out, texts]
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    passages = await encoder.encode_passages([Passage(HEADER, text) for text in TEXTS])
    assert await process.wait() == 0
    direct = np.load(out)
    assert [rows.shape for rows in passages] == [(1, 384)] * len(TEXTS)
    assert (np.concatenate(passages) * direct).sum(axis=1).min() > 1 - 1e-6


@pytest.mark.slow  # a second process imports the library
async def test_only_one_module_imports_the_stand_in_of_scikit_learn(encoder: Encoder, models_dir: Path) -> None:
    """It defines a distance that no encoding needs; any other that came to import it could compute with nothing."""
    script = (
        "import builtins, json, sys\n"
        "from seedbed_server.models.encoder_child import create\n"
        "importing, importers = builtins.__import__, set()\n"
        "def watch(name, globals=None, locals=None, fromlist=(), level=0):\n"
        "    if name.partition('.')[0] == 'sklearn':\n"
        "        importers.add(globals['__name__'])\n"
        "    return importing(name, globals, locals, fromlist, level)\n"
        "builtins.__import__ = watch\n"
        "worker = create({'models_dir': sys.argv[1], 'model': sys.argv[2], 'threads': 1})\n"
        "list(worker.encode_queries(['Where does Maya live?']))\n"
        "print(json.dumps(sorted(importers)))"
    )
    command = [sys.executable, "-c", script, str(models_dir), encoder.name]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    assert json.loads(printed) == ["sentence_transformers.util.similarity"]


async def test_vectors_are_unit_float32_in_order(encoder: Encoder) -> None:
    """Shapes, types and length are as promised, and each vector belongs to its text."""
    queries = await encoder.encode_queries(TEXTS)
    assert queries.shape == (len(TEXTS), encoder.dimensions)
    assert queries.dtype == np.float32
    assert np.allclose(np.linalg.norm(queries, axis=1), 1, atol=1e-5)
    passages = await encoder.encode_passages([Passage("", text) for text in TEXTS])
    assert all(rows.dtype == np.float32 for rows in passages)
    nearest = (np.concatenate(passages) @ queries.T).argmax(axis=0)
    assert nearest.tolist() == list(range(len(TEXTS)))
    assert (await encoder.encode_queries([])).shape == (0, encoder.dimensions)
    assert await encoder.encode_passages([]) == []


async def test_batch_mates_do_not_matter(encoder: Encoder) -> None:
    """A text has the same vector alone and among others, up to rounding."""
    alone = (await encoder.encode_passages([Passage("", TEXTS[0])]))[0]
    among = (await encoder.encode_passages([Passage("", text) for text in [*TEXTS[1:], TEXTS[0]]]))[-1]
    assert np.allclose(alone, among, atol=2e-6)


async def test_end_of_a_long_text_is_found(encoder: Encoder) -> None:
    """The fact after 25,000 words is in the last chunk, and that is the one a question finds."""
    (rows,) = await encoder.encode_passages([Passage(HEADER, "pad " * 25_000 + "the code is 7319")])
    assert len(rows) > 100
    question = (await encoder.encode_queries(["what is the code?"]))[0]
    scores = rows @ question
    assert scores.argmax() == len(rows) - 1
    assert scores[-1] > scores[:-1].max() + 0.1


async def test_header_stands_before_every_chunk(encoder: Encoder) -> None:
    """With another speaker the last chunk of a long text has another vector; a huge header leaves room for text."""
    text = "then we went on walking along the river. " * 100
    one, other = await encoder.encode_passages([Passage("Caroline: ", text), Passage("Melanie: ", text)])
    assert len(one) == len(other) > 1
    assert one[-1] @ other[-1] < 0.98
    (rows,) = await encoder.encode_passages([Passage("name " * 300, text)])
    assert 1 < len(rows) < 20


@pytest.mark.parametrize("symbols", ["(" * 100_000, "🔥" * 20_000, "A9f/" * 25_000, "=" * 400_000, "\u0301" * 50_000])
async def test_runs_of_symbols_are_cheap(encoder: Encoder, symbols: str) -> None:
    """A run of symbols costs far less than the words that would fill as many chunks: no step is quadratic."""
    began = time.monotonic()
    (rows,) = await encoder.encode_passages([Passage("", symbols)])
    assert np.isfinite(rows).all()
    assert time.monotonic() - began < 30


async def test_query_overtakes_bulk(encoder: Encoder) -> None:
    """A query is answered while a flood of long texts is still being encoded."""
    flood = [Passage(HEADER, " ".join(f"w{n}{m}" for m in range(600))) for n in range(300)]
    bulk = asyncio.create_task(encoder.encode_passages(flood))
    await asyncio.sleep(0.3)
    for _ in range(3):
        await encoder.encode_queries(["where did Milo go?"])
    assert not bulk.done()
    bulk.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bulk


async def test_fingerprint_needs_no_process(models_dir: Path, encoder: Encoder) -> None:
    """Name, dimensions and fingerprint are known before any model is loaded, and agree with the loaded one."""
    other = Encoder(models_dir)
    assert (other.name, other.fingerprint) == (encoder.name, encoder.fingerprint)
    assert len(encoder.fingerprint) == 64
    assert encoder.child.info == {"dimensions": encoder.dimensions, "window": by_role("encoder").max_tokens}
    with pytest.raises(PartUnavailableError):
        await other.encode_queries(["nobody is there"])


async def test_altered_weights_are_not_loaded(models_dir: Path, tmp_path: Path) -> None:
    """One changed byte in one file, and the encoder stays down."""
    shutil.copytree(models_dir / by_role("encoder").name, tmp_path / by_role("encoder").name)
    victim = tmp_path / by_role("encoder").name / "tokenizer_config.json"
    victim.write_bytes(victim.read_bytes().replace(b"true", b"TRUE", 1))
    altered = Encoder(tmp_path)
    await altered.child.start()
    async with asyncio.timeout(60):
        while altered.child.restarts == 0:
            await asyncio.sleep(0.05)
    assert altered.child.state == "down"
    assert altered.child.detail.startswith("could not start")
    await altered.child.stop()
