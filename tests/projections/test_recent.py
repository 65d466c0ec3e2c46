"""The vectors stored last, kept beside the store; through `Vectors` in test_vectors."""

from __future__ import annotations

import numpy as np

from seedbed_server.projections.recent import Recent


def test_the_last_are_kept_and_what_is_erased_goes() -> None:
    """Within the bound; a key that begins like another is another's."""
    recent = Recent(3)
    rows = np.eye(5, dtype=np.float32)
    recent.put(["1:1:0", "1:2:0", "12:1:0", "1:1:0"], rows[:4])  # the first again, with another vector
    assert set(recent.of(["1:1:0", "1:2:0", "12:1:0", "9:9:0"])) == {"1:1:0", "1:2:0", "12:1:0"}
    assert np.array_equal(recent.of(["1:1:0"])["1:1:0"], rows[3])
    recent.put(["1:3:0"], rows[4:])
    assert set(recent.of(["1:1:0", "1:2:0", "1:3:0", "12:1:0"])) == {"1:1:0", "1:3:0", "12:1:0"}
    recent.forget(["1:3:0", "9:9:0"])
    recent.drop(1)
    assert set(recent.of(["1:1:0", "1:3:0", "12:1:0"])) == {"12:1:0"}
    recent.clear()
    assert not recent.of(["12:1:0"])
