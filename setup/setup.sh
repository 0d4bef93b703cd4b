# Sourced by examples/run and tests/run: installs what is missing, then builds into $build_folder.
# Does nothing where nothing is missing. Needs bash; the caller has set -euo pipefail and stands in the
# top folder of the repository.

# A script that builds otherwise sets another folder, so that build/ remains what the tests expect.
build_folder=build

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# check_path: ends the script where nothing can be built.
check_path() {
  case $PWD in
    *[[:space:]:\;\$]*)
      fail "vramstow cannot be built in '$PWD': LD_PRELOAD and CMake cannot express a path with a space, colon," \
        "semicolon or dollar sign. Move the folder."
      ;;
  esac
}

# as_called PATH: a path that was relative to $from, where the caller stood before the script left for the top folder.
as_called() {
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$from/$1" ;;
  esac
}

# lock_or_say DESCRIPTOR WORDS: takes the lock without waiting. Returns 1 and says the words if another run has it.
# Some network file systems have no such locks; then each run goes on without one.
lock_or_say() {
  local status=0
  flock -n "$1" 2>/dev/null || status=$?
  [ $status -ne 1 ] && return
  shift
  say "$*"
  return 1
}

# wait_for_others FOLDER: other runs that call this wait until this one calls let_go or ends. Commands that may leave
# something running get 9<&-, because that would hold the lock, too. The lock is a file beside the folder, because
# a network file system locks only what can be written, and what lies in the folder may be removed.
wait_for_others() {
  mkdir -p "$1"
  exec 9>>"$1.lock"
  lock_or_say 9 "Another run works in $1/; this one goes on when that has finished." || flock 9
}
let_go() { exec 9<&-; }

# refuse_beside_others FOLDER: ends this run if another one has called this and has not ended. As above with 8<&-.
refuse_beside_others() {
  mkdir -p "$1"
  exec 8>>"$1.lock"
  lock_or_say 8 "Another run uses $1/; start this one again when that has finished." || exit 1
}

# package_names FILE…: the lists without comments.
package_names() { grep -hv '^ *\(#\|$\)' "$@"; }

# install_packages FILE…: the Debian packages of these lists that are not there yet.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is not a Debian machine: the tools in $* are taken as they are."
    return
  fi
  local missing=() name
  while read -r name; do
    # "installed" exactly: a removed package with leftover settings is known to dpkg, too.
    # A package of two architectures has a line for each.
    if ! dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -x installed >/dev/null; then
      missing+=("$name")
    fi
  done < <(package_names "$@")
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; } ||
      fail "These Debian packages are missing and need root to install: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing Debian packages: ${missing[*]}"
  # A bare system lacks many packages, and dpkg prints several lines for each: they are shown only if it fails.
  local log status=0
  log=$(mktemp)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$log" 2>&1 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1 || status=$?
  # Without a network the update only warns, and what follows says of each package that it is unknown.
  [ $status -eq 0 ] || tail -n 60 "$log" >&2
  rm -f "$log"
  [ $status -eq 0 ] || fail "The Debian packages could not be installed; see above. Wanted: ${missing[*]}"
}

# pip_install PYTHON ARGUMENT…: index and proxy are the user's settings, but not where packages go, nor what counts
# as there already (-I ignores PYTHONPATH).
pip_install() {
  local python=$1
  shift
  env -u PIP_PREFIX -u PIP_ROOT -u PIP_TARGET "$python" -I -m pip install -q --disable-pip-version-check --no-user "$@"
}

# has_whole_pip: is there a .venv with pip? The list of pip's files is written last.
has_whole_pip() { .venv/bin/python -I -c 'from importlib.metadata import files; exit(not files("pip"))' 2>/dev/null; }

# prepare_python FILE…: .venv with these pinned requirements. A mark in .venv says for which lists that
# was done last, so that a second run asks nothing of the network.
prepare_python() {
  local file mark
  wait_for_others .venv
  # .venv has no whole pip if making it was interrupted, if the system's Python is a newer one since, or if another
  # tool made it, whose packages stay.
  if ! has_whole_pip; then
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
      fail "Python 3.11 or newer is needed; python3 is $(python3 --version 2>&1)."
    rm -f .venv/.done-*
    python3 -m venv .venv && has_whole_pip || python3 -m venv --clear .venv ||
      fail "python3 -m venv .venv failed; see above."
  fi
  for file in "$@"; do
    mark=".venv/.done-$(basename "$file" .txt)"
    cmp -s "$file" "$mark" && continue
    say "Installing the Python packages of $file into .venv (the first time this downloads much)"
    pip_install .venv/bin/python --target= --prefix="$PWD/.venv" -r "$file" >&2 ||
      fail "The Python packages of $file could not be installed; see above."
    cp "$file" "$mark"
  done
  let_go
}

# have_header PATTERN…: is there a file that matches one of them?
have_header() { compgen -G "$1" >/dev/null; }

# The CUDA headers: an installed toolkit of 13.0 or newer, or the packages of requirements-cuda.txt.
# The rule is the one of cmake/FindCudaHeaders.cmake, which has the last word.
prepare_cuda_headers() {
  local root version
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
    [ -n "$root" ] && [ -f "$root/include/cuda.h" ] || continue
    version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$root/include/cuda.h")
    if [ "${version:-0}" -ge 13000 ] && [ -x "$root/bin/nvcc" ] &&
      [ -f "$root/include/crt/host_defines.h" ] && [ -f "$root/include/cublasLt.h" ] &&
      [ -f "$root/include/cupti.h" ] &&
      { [ -f "$root/include/cudnn.h" ] || [ -f /usr/include/cudnn.h ]; } &&
      { [ -f "$root/include/nccl.h" ] || [ -f /usr/include/nccl.h ]; }; then
      return
    fi
  done
  prepare_python setup/requirements-cuda.txt
}

# has_setting NAME VALUE: does the build folder have this CMake setting?
has_setting() { grep -qx "$1:[A-Z]*=$2" "$build_folder/CMakeCache.txt" 2>/dev/null; }

# forget_other_tree FOLDER: a copied build folder would go on building the tree that it was copied from, and CMake
# refuses one whose tree was moved. What was compiled there is compiled again.
forget_other_tree() {
  local tree
  tree=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$1/CMakeCache.txt" 2>/dev/null) || return 0
  if [ -n "$tree" ] && ! [ "$tree" -ef . ]; then
    say "$1/ was configured for $tree; it is configured again for this folder."
    rm -rf "$1/CMakeCache.txt" "$1/CMakeFiles" "$1/build.ninja"
  fi
}

# configure product|all: configures the build folder if it is not configured yet. `product` leaves out the
# tests and the packages that they need, unless the folder was already configured for the tests.
configure() {
  local tests=ON
  [ "$1" = product ] && ! has_setting VRAMSTOW_TESTS ON && tests=OFF
  wait_for_others "$build_folder"
  forget_other_tree "$build_folder"
  if ! [ -f "$build_folder/build.ninja" ] || ! has_setting VRAMSTOW_TESTS $tests; then
    cmake --preset release -B "$build_folder" -DVRAMSTOW_TESTS=$tests >build-log.txt 2>&1 8<&- 9<&- || {
      cat build-log.txt >&2
      fail "The build could not be configured; see above."
    }
  fi
  let_go
}

# build product|all [TARGET…]: configures, and builds what changed: of these targets, or of everything.
# One line shows how far it is; the log is build-log.txt.
build() {
  configure "$1"
  shift
  wait_for_others "$build_folder"
  python3 setup/show_build.py "$build_folder" build-log.txt -- ninja -C "$build_folder" "$@" 8<&- 9<&- || {
    tail -n 60 build-log.txt >&2
    fail "The build failed; the end of build-log.txt is above."
  }
  let_go
}
