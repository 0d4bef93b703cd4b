"""What the tests of values share: rehearsals as the jobs' tests have them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

JOBS = Path(__file__).resolve().parents[1] / "jobs"
sys.path.insert(0, str(JOBS))
_spec = importlib.util.spec_from_file_location("jobs_conftest", JOBS / "conftest.py")
assert _spec is not None and _spec.loader is not None
_jobs = importlib.util.module_from_spec(_spec)
sys.modules["jobs_conftest"] = _jobs
_spec.loader.exec_module(_jobs)

rehearse = _jobs.rehearse
python = _jobs.python
