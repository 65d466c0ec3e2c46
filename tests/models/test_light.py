"""The server's own process stays free of the libraries that its children load."""

import subprocess
import sys

HEAVY = {"torch", "transformers", "sentence_transformers", "spacy", "chromadb", "sklearn", "scipy"}


def test_parent_side_imports_no_model_library() -> None:
    """Encoder, tagger, vector index and weights can be imported and made without any of them."""
    script = (
        "import sys; from pathlib import Path\n"
        "from seedbed_server.models import weights; from seedbed_server.models.encoder import Encoder\n"
        "from seedbed_server.models.tagger import Tagger\n"
        "from seedbed_server.projections.vector_index import ChromaIndex\n"
        "encoder = Encoder(Path('x')); Tagger(Path('x'))\n"
        "ChromaIndex(Path('x'), fingerprint=encoder.fingerprint, dimensions=encoder.dimensions)\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
