#include "tools/exports/python_helper.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

std::string PythonName() {
  const char* set = std::getenv("VRAMSTOW_PYTHON");
  return set != nullptr && *set != '\0' ? set : "python3";
}

}  // namespace

PythonHelper::PythonHelper(const PythonScript& script)
    : script_(script), python_(PythonName()), pipe_handler_(signal(SIGPIPE, SIG_IGN)) {}

PythonHelper::~PythonHelper() {
  int status = 0;
  if (child_ != 0) Wait(&status);
  signal(SIGPIPE, pipe_handler_);
}

absl::StatusOr<std::unique_ptr<PythonHelper>> PythonHelper::Start(const PythonScript& script) {
  if (access(script.file.c_str(), R_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", script.file, " (", strerror(errno),
                     "): build or install vramstow again, with all its parts."));
  }
  std::unique_ptr<PythonHelper> helper(new PythonHelper(script));
  if (const int failed = helper->Spawn(); failed != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot start ", helper->python_, " (", strerror(failed), "), which writes ",
                     script.what, ": name a Python with ", script.package, " in VRAMSTOW_PYTHON."));
  }
  return helper;
}

int PythonHelper::Spawn() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  // The helper's stdout goes to stderr, because stdout belongs to the program.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::vector<const char*> arguments = {python_.c_str(), script_.file.c_str()};
  for (const std::string& argument : script_.arguments) arguments.push_back(argument.c_str());
  arguments.push_back(nullptr);
  const int error = posix_spawnp(&child_, python_.c_str(), &actions, nullptr,
                                 const_cast<char* const*>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  if (error != 0) {
    close(ends[1]);
    child_ = 0;
    return error;
  }
  input_ = ends[1];
  return 0;
}

void PythonHelper::Wait(int* status) {
  close(input_);
  while (waitpid(child_, status, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
}

absl::Status PythonHelper::Finish() {
  int status = 0;
  Wait(&status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoPackage) {
    return absl::FailedPreconditionError(
        absl::StrCat(script_.what, " is written with ", script_.package, ", which ", python_,
                     " does not have: install it (pip install ", script_.package,
                     "; with the wheel: pip install 'vramstow[parquet,duckdb]'), or name a Python "
                     "that has it in VRAMSTOW_PYTHON."));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) > kErrnoBase) {
    return absl::UnavailableError(absl::StrCat("cannot write ", script_.target, ": ",
                                               strerror(WEXITSTATUS(status) - kErrnoBase), "."));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot write ", script_.target, ": ", python_, " ended with ",
                   WIFEXITED(status) ? "exit status " : "signal ",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), "."));
}

}  // namespace vramstow
