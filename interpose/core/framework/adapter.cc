#include "interpose/core/framework/adapter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "interpose/core/framework/framework.h"
#include "interpose/core/runtime/keep_errno.h"
#include "interpose/core/runtime/say.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

constexpr char kLibrary[] = "/lib/libc10_cuda.so";
constexpr char kInstall[] = "vramstow_torch_install";
// As python/start/sitecustomize.py has it: PyTorch's folder, a line end, the adapter.
constexpr char kKnown[] = "VRAMSTOW_TORCH_ADAPTER";
constexpr char kProgram[] = "VRAMSTOW_PROGRAM";
// What the compiler must not run under.
constexpr const char* kOwnVariables[] = {"LD_PRELOAD=", "LD_LIBRARY_PATH=", "PYTHONPATH="};
constexpr size_t kMostVariables = 4096;

struct Answer {
  char text[PATH_MAX];  // the adapter's file, or why there is none
};

int FindLibrary(dl_phdr_info* object, size_t, void* context) {
  const char* path = object->dlpi_name;
  const size_t length = path == nullptr ? 0 : std::strlen(path);
  constexpr size_t kSuffix = sizeof kLibrary - 1;
  if (length < kSuffix || std::strcmp(path + length - kSuffix, kLibrary) != 0) return 0;
  auto* folder = static_cast<char*>(context);
  char found[PATH_MAX];
  if (length - kSuffix >= sizeof found) return 0;
  std::memcpy(found, path, length - kSuffix);
  found[length - kSuffix] = '\0';
  return realpath(found, folder) == nullptr ? 0 : 1;
}

// The program: what `vramstow run` says, or beside the library it comes with.
const char* ProgramPath(char* place) {
  if (const char* said = std::getenv(kProgram)) return said;
  Dl_info about;
  if (dladdr(reinterpret_cast<const void*>(&kInstall), &about) == 0) return nullptr;
  const char* slash = std::strrchr(about.dli_fname, '/');
  if (slash == nullptr) return nullptr;
  const auto folder = static_cast<int>(slash - about.dli_fname);
  const int length =
      std::snprintf(place, PATH_MAX, "%.*s/../bin/vramstow", folder, about.dli_fname);
  return length > 0 && length < PATH_MAX ? place : nullptr;
}

bool IsOwnVariable(const char* entry) {
  return std::ranges::any_of(kOwnVariables, [entry](const char* name) {
    return std::strncmp(entry, name, std::strlen(name)) == 0;
  });
}

// Starts the program with its output in a pipe; returns the end to read from, or -1.
int StartProgram(const char* program, const char* folder, pid_t* child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  static char* variables[kMostVariables + 1];  // one thread is in cuInit for the first time
  size_t count = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (count < kMostVariables && !IsOwnVariable(*entry)) variables[count++] = *entry;
  }
  variables[count] = nullptr;
  const char* const arguments[] = {program,   "adapter", "build", "--quiet",
                                   "--torch", folder,    nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  // The host may ignore or block what a compiler waits for.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &defaults);
  sigaddset(&defaults, SIGCHLD);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error =
      posix_spawn(child, program, &actions, &attributes, const_cast<char**>(arguments), variables);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return ends[0];
  close(ends[0]);
  errno = error;
  return -1;
}

// Keeps the last line that is not empty. The host may take the child's status away from us, so the
// text alone has to tell: a file's path begins with a slash.
void ReadLastLine(int file, char* line, size_t room) {
  size_t length = 0;
  bool ended = false;
  line[0] = '\0';
  char buffer[512];
  for (;;) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[i] == '\n') {
        ended = true;
        continue;
      }
      if (ended) length = 0;
      ended = false;
      if (length + 1 < room) line[length++] = buffer[i];
    }
  }
  line[length] = '\0';
}

// False: the answer says why not.
bool AskForAdapter(const char* folder, Answer* answer) {
  const char* known = std::getenv(kKnown);
  const size_t length = std::strlen(folder);
  if (known != nullptr && std::strncmp(known, folder, length) == 0 && known[length] == '\n') {
    // Without a file: the start-up hook has said why not.
    std::snprintf(answer->text, sizeof answer->text, "%s", known + length + 1);
    return answer->text[0] != '\0';
  }
  char place[PATH_MAX];
  const char* program = ProgramPath(place);
  pid_t child = 0;
  const int file = program == nullptr ? -1 : StartProgram(program, folder, &child);
  if (file < 0) {
    std::snprintf(answer->text, sizeof answer->text, "%.200s cannot be started (%s)",
                  program == nullptr ? "vramstow" : program, strerror(errno));
    return false;
  }
  ReadLastLine(file, answer->text, sizeof answer->text);
  close(file);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return answer->text[0] == '/' && access(answer->text, R_OK) == 0;
}

// Null: it is in place. Else why not; empty where that was said before.
const char* Install(const char* folder, Answer* answer) {
  if (!AskForAdapter(folder, answer)) {
    constexpr char kWhose[] = "vramstow adapter: ";
    const size_t length = std::strlen(answer->text);
    if (length > 0 && answer->text[length - 1] == '.') answer->text[length - 1] = '\0';
    const bool named = std::strncmp(answer->text, kWhose, sizeof kWhose - 1) == 0;
    return answer->text + (named ? sizeof kWhose - 1 : 0);
  }
  const VramstowShim& shim = Shim();
  void* adapter = shim.open_library(answer->text, RTLD_NOW | RTLD_LOCAL);
  void* found = adapter == nullptr ? nullptr : shim.find_symbol(adapter, kInstall);
  if (found == nullptr) {
    const char* why = dlerror();
    return why == nullptr ? "the adapter cannot be loaded" : why;
  }
  return reinterpret_cast<const char* (*)()>(found)();
}

}  // namespace

void LoadAdapter(const Options& options) {
  static constinit std::atomic<bool> done{false};
  if (!WantsPool(options) || HasFramework() || std::strcmp(options.level, "segments") == 0 ||
      done.exchange(true)) {
    return;
  }
  const KeepErrno keep_errno;
  char folder[PATH_MAX];
  if (dl_iterate_phdr(FindLibrary, folder) == 0) {
    done = false;  // PyTorch may come later
    return;
  }
  static Answer answer;
  const char* why = Install(folder, &answer);
  if (why != nullptr && *why != '\0') {
    Say("the pool serves PyTorch's segments, not its tensors: %s.", why);
  }
}

}  // namespace vramstow
