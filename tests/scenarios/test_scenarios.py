"""Each file here is a test: what users of schedulers once reported, told in a few objects.
README.md tells the format.
"""

from pathlib import Path

import pytest

from tests.scenarios.playing import FOLDER, Play, Stage, load


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_scenario(stage: Stage, file: Path) -> None:
    """Everything comes about as the scenario says."""
    play = Play(stage, load(file))
    try:
        play.run()
    finally:
        play.clean()
