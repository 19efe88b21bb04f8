"""Recording: a journal on disk, written by a thread of its own and read from any moment on.

``blocks`` says how a file looks (docs/adr/0014-recording-and-replay.md).
"""

from moorage.adapters.recording.blocks import TornRecording, UnreadableRecording
from moorage.adapters.recording.files import RecordingFiles, SingleFile
from moorage.adapters.recording.header import OWN_VERSIONS, RULES, RecordingHeader
from moorage.adapters.recording.reading import Recording, read_files, read_recording
from moorage.adapters.recording.recorder import Recorder
from moorage.adapters.recording.ring import RecordingRing, ring_files
from moorage.adapters.recording.segments import Reached

__all__ = [
    "OWN_VERSIONS",
    "RULES",
    "Reached",
    "Recorder",
    "Recording",
    "RecordingFiles",
    "RecordingHeader",
    "RecordingRing",
    "SingleFile",
    "TornRecording",
    "UnreadableRecording",
    "read_files",
    "read_recording",
    "ring_files",
]
