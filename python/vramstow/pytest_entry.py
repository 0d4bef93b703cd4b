"""The module that pytest loads: it offers the plug-in if pytest is new enough.

Where vramstow is installed, every run of pytest loads this module, so it must work with every
release of pytest.
"""

from __future__ import annotations

from inspect import signature

import pluggy
import pytest

_OPTIONS = signature(pluggy.HookimplMarker.__call__).parameters

if hasattr(pytest, "StashKey") and "wrapper" in _OPTIONS:
    from vramstow.pytest_plugin import *  # noqa: F403
