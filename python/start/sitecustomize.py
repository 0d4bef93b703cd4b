"""Python's start-up hook: runs hook.py, and the program's own sitecustomize as without vramstow.

`vramstow run` puts the folder of this file first on PYTHONPATH. The folder has no other module, so
that none of the program's modules is hidden by one of vramstow, also if Python does not run this
file (-S). Each Python that the job starts runs this file, so that it must be valid in every version
from 2.7 on; hook.py needs Python 3.9.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_REST = "vramstow_start"  # the folder of all other files of vramstow's start
_OLDEST = (3, 9)


def _run_hook():  # noqa: ANN202
    # importlib.util would import modules whose names the program's own modules may have.
    from importlib import _bootstrap, _bootstrap_external

    file = os.path.join(_HERE, _REST, "hook.py")
    spec = _bootstrap_external.spec_from_file_location("vramstow_hook", file)
    module = _bootstrap.module_from_spec(spec)
    spec.loader.exec_module(module)


def _run_next():  # noqa: ANN202
    from importlib import _bootstrap, _bootstrap_external

    spec = _bootstrap_external.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = _bootstrap.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _run_next_of_python_2():  # noqa: ANN202
    this = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    finally:
        sys.modules.setdefault("sitecustomize", this)


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
if sys.version_info >= _OLDEST:
    try:
        _run_hook()
    except Exception as error:  # the program's own start goes on
        sys.stderr.write("vramstow: its start-up hook failed: " + str(error) + ".\n")
if sys.version_info >= (3, 5):  # noqa: UP036
    _run_next()
else:
    _run_next_of_python_2()
