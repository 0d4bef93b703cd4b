"""A bare root file system of a Debian release, made by debootstrap, in which commands run."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

# A shell script that runs a command inside the root file system. First it mounts /proc, /dev,
# /dev/shm and the folder of wheels there; these mounts vanish when the command ends. Its arguments
# are the folder of the root file system, the user, the folder of wheels (empty if there is none),
# and the command.
ENTER = r"""
root=$1; user=$2; wheels=$3; shift 3
mount --make-rprivate / && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
  mount -t tmpfs tmpfs "$root/dev/shm" || exit
if [ -n "$wheels" ]; then
  mkdir -p "$root/wheels" && mount --bind "$wheels" "$root/wheels" || exit
fi
exec chroot --userspec="$user" "$root" "$@"
"""
# The debootstrap script for releases that this machine's debootstrap does not know, because they
# are newer.
NEWEST_SCRIPT = Path("/usr/share/debootstrap/scripts/sid")
# The settings that Python's package manager gets from the machine, however it is set up.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PIP_SETTINGS = ("/etc/pip.conf", str(CERTIFICATES), "/etc/resolv.conf", "/etc/hosts")


def why_not() -> str | None:
    """Returns why no root file system can be made here, or None if it can."""
    if os.geteuid() != 0:
        return "only root can make a root file system and enter it"
    for name in ("debootstrap", "unshare", "chroot"):
        if shutil.which(name) is None:
            return f"{name} is not installed (setup/packages-long.txt)"
    return None


def wheels_at_hand() -> str:
    """Returns the folder of the downloads of tests/run --torch; empty if there is none."""
    kept = os.environ.get("VRAMSTOW_RELEASES")
    wheels = Path(kept if kept else Path.home() / ".cache/vramstow-releases") / "wheels"
    return str(wheels) if wheels.is_dir() else ""


def mirror() -> str:
    """Returns the server from which this machine gets Debian's packages."""
    here = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    wanted = ("Created-By: Packages", f"Codename: {here}", "Component: main")
    command = ("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted)
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return listed[0] if listed else ""


class BareRoot:
    """The folder of one release; it has `python3` in addition to the smallest Debian."""

    def __init__(self, release: str, folder: Path, name: str = "") -> None:
        self.release = release
        self.folder = folder / (name or release)

    def make(self) -> str | None:
        """Makes the folder unless it exists; returns why it could not be made."""
        done = self.folder / ".made"
        if done.exists():
            return None
        shutil.rmtree(self.folder, ignore_errors=True)
        wanted = "--include=python3,python3-venv,ca-certificates"
        command = ["debootstrap", "--variant=minbase", wanted, self.release, self.folder, mirror()]
        if not NEWEST_SCRIPT.with_name(self.release).exists():
            command.append(NEWEST_SCRIPT)
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        if made.returncode != 0:
            return f"debootstrap of {self.release} failed: {made.stdout[-300:]}{made.stderr[-300:]}"
        for name in PIP_SETTINGS:
            if Path(name).exists():
                (self.folder / name[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(name, self.folder / name[1:])
        users = self.folder / "etc/passwd"
        users.write_text(users.read_text() + "plain:x:1000:1000::/home/plain:/bin/sh\n")
        home = self.folder / "home/plain"
        home.mkdir(parents=True)
        os.chown(home, 1000, 1000)
        done.touch()
        return None

    def run(
        self, user: str, *command: str, timeout: float = 300, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command as `root` or `plain`, in that user's home."""
        home = "/root" if user == "root" else "/home/plain"
        number = "0:0" if user == "root" else "1000:1000"
        environment = {"PATH": "/opt/job/bin:/usr/bin:/bin", "HOME": home, "PWD": home}
        environment |= {
            name: value for name, value in os.environ.items() if name.startswith("PIP_")
        }
        wheels = wheels_at_hand()
        if wheels:
            environment["PIP_FIND_LINKS"] = "/wheels"
        inside = ("/usr/bin/env", f"--chdir={home}", *command)
        entered = ("unshare", "--mount", "--pid", "--fork", "bash", "-c", ENTER, "enter")
        return subprocess.run(
            (*entered, str(self.folder), number, wheels, *inside),
            env=environment | {"PATH": environment["PATH"] + ":/usr/sbin:/sbin"} | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
