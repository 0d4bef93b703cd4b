#include "interpose/core/framework/adapter.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/keep_errno.h"
#include "include/vramstow/framework.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

constexpr char kLibrary[] = "/lib/libc10_cuda.so";

// The environment variable of one kind of adapter and its entry function, which
// base/adapter_kinds.def explains.
struct Kind {
  const char* variable;
  const char* entry;
};
#define VRAMSTOW_ADAPTER_KIND(kind, folder, prefix, first, last, variable, entry, otherwise) \
  [[maybe_unused]] constexpr Kind kind = {variable, entry};
#include "base/adapter_kinds.def"
#undef VRAMSTOW_ADAPTER_KIND

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

// Removes the next line from the text. Returns its length, which may be 0.
size_t NextLine(const char** text, const char** line) {
  *line = *text;
  const size_t length = std::strcspn(*text, "\n");
  *text += length;
  if (**text == '\n') ++*text;
  return length;
}

// Looks for the folder of PyTorch in the list that the environment variable contains. If it is
// listed, returns true and sets `path` to the adapter's file. An empty path means that there is no
// adapter, and that `vramstow run` has reported the reason.
bool FindReady(const char* variable, const char* folder, char (&path)[PATH_MAX]) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return false;
  const size_t wanted = std::strlen(folder);
  while (*text != '\0') {
    const char* known = nullptr;
    const char* adapter = nullptr;
    const size_t known_length = NextLine(&text, &known);
    const size_t adapter_length = NextLine(&text, &adapter);
    if (known_length != wanted || std::strncmp(known, folder, wanted) != 0) continue;
    if (adapter_length >= sizeof path) continue;
    std::memcpy(path, adapter, adapter_length);
    path[adapter_length] = '\0';
    return true;
  }
  return false;
}

// Loads the library and calls its function of that name. Returns null after success, else a text
// with the reason for the failure.
template <typename Function, typename... Arguments>
const char* Install(const char* path, const char* name, Arguments... arguments) {
  void* adapter = Shim().open_library(path, RTLD_NOW | RTLD_LOCAL);
  void* found = adapter == nullptr ? nullptr : Shim().find_symbol(adapter, name);
  if (found == nullptr) {
    const char* why = dlerror();
    return why == nullptr ? "the adapter cannot be loaded" : why;
  }
  return reinterpret_cast<Function>(found)(arguments...);
}

void LoadFor(const char* folder) {
  char path[PATH_MAX];
  if (!FindReady(kAllocator.variable, folder, path)) {
    Log("the pool serves PyTorch's segments, not its tensors, because no compiled adapter for this "
        "PyTorch was found: compile it with vramstow adapter build --torch '%.500s', and start the "
        "program with vramstow run.",
        folder);
    return;
  }
  const char* why =
      path[0] == '\0' ? nullptr : Install<vramstow_torch_install_function>(path, kAllocator.entry);
  if (why != nullptr && *why != '\0') {
    Log("the pool serves PyTorch's segments, not its tensors: %.500s.", why);
  }
}

// Returns the switch of Python's command line that disables the start-up hook, or null if there is
// none.
const char* SwitchAgainstHook() {
  constexpr const char* kSwitches[][2] = {
      {"Py_IsolatedFlag", "-I"}, {"Py_IgnoreEnvironmentFlag", "-E"}, {"Py_NoSiteFlag", "-S"}};
  for (const auto& [variable, name] : kSwitches) {
    const auto* flag = static_cast<const int*>(Shim().find_symbol(RTLD_DEFAULT, variable));
    if (flag != nullptr && *flag != 0) return name;
  }
  return nullptr;
}

// True if Python's start-up hook ran. The hook has then loaded the library, or reported why it
// cannot.
bool HasStartUpHook() { return std::getenv(VRAMSTOW_HOOKED_VARIABLE) != nullptr; }

// Logs why tensors are not observed. Python's start-up hook, which `vramstow run` puts on
// PYTHONPATH, loads the observer.
void LogWhyNotObserved() {
  if (std::getenv(VRAMSTOW_PROGRAM_VARIABLE) == nullptr) return;
  if (Shim().find_symbol(RTLD_DEFAULT, "Py_IsInitialized") == nullptr) {
    Log("the trace contains PyTorch's segments, not its tensors: tensors are observed through "
        "Python, and this program has no Python (with --pool=on the pool serves its tensors).");
    return;
  }
  const char* found = SwitchAgainstHook();
  if (found == nullptr) {
    if (!HasStartUpHook()) {
      Log("the trace contains PyTorch's segments, not its tensors: tensors are observed through a "
          "start-up file of Python, and this Python did not run it (PYTHONPATH was replaced: keep "
          "its previous folders).");
    }
    return;
  }
  Log("the trace contains PyTorch's segments, not its tensors: tensors are observed through a "
      "start-up file of Python, and Python was started with %s (leave that out, or use --pool=on, "
      "to see tensors).",
      found);
}

// True if the description of the simulated GPU (the value of --simulate) contains this option.
bool HasOption(const char* spec, const char* option) {
  const size_t length = std::strlen(option);
  for (const char* at = std::strchr(spec, ','); at != nullptr; at = std::strchr(at, ',')) {
    ++at;
    if (std::strncmp(at, option, length) != 0) continue;
    if (at[length] == '\0' || at[length] == ',') return true;
  }
  return false;
}

void LoadValuesFor(const char* folder, bool only_sizes) {
  char path[PATH_MAX];
  if (!FindReady(kValues.variable, folder, path)) {
    if (only_sizes) return;  // no values are expected
    Log("the simulated run does not compute PyTorch's operators, because the library for this was "
        "not found: compile it with vramstow adapter build --values --torch '%.500s', and start "
        "the program with vramstow run.",
        folder);
    return;
  }
  const char* why = path[0] == '\0' ? nullptr
                                    : Install<vramstow_values_install_function>(path, kValues.entry,
                                                                                only_sizes ? 1 : 0);
  if (why != nullptr && *why != '\0') {
    Log("the simulated run does not compute PyTorch's operators: %.500s.", why);
  }
}

// Finds the folder of the PyTorch that this process has loaded. If none is loaded yet, returns
// false and resets `done`, so that the next call tries again.
bool FindTorch(char (&folder)[PATH_MAX], std::atomic<bool>* done) {
  if (dl_iterate_phdr(FindLibrary, folder) != 0) return true;
  done->store(false);
  return false;
}

}  // namespace

void LoadValues(const Options& options) {
  static constinit std::atomic<bool> done{false};
  // With contents=discard every read of memory returns zeros, so no values are needed.
  if (*options.simulate == '\0' || HasOption(options.simulate, "contents=discard") ||
      HasStartUpHook() || done.exchange(true)) {
    return;
  }
  const KeepErrno keep_errno;
  char folder[PATH_MAX];
  if (!FindTorch(folder, &done)) return;
  const bool without = HasOption(options.simulate, "values=off") ||
                       HasOption(options.simulate, "emulation=off") ||
                       HasOption(options.simulate, "effects=off");
  // These two settings need information about operators even if no values are computed. Offloading
  // needs to know which memory operators use, and the clock of the simulated GPU needs their
  // durations.
  const bool wants_all = WantsOffload(options) || HasOption(options.simulate, "clock=model");
  LoadValuesFor(folder, without && !wants_all);
}

void LoadAdapter(const Options& options) {
  static constinit std::atomic<bool> done{false};
  const bool pooled = WantsPool(options);
  if ((!pooled && !options.trace) || HasFramework() ||
      std::strcmp(options.level, "segments") == 0 || done.exchange(true)) {
    return;
  }
  const KeepErrno keep_errno;
  char folder[PATH_MAX];
  if (!FindTorch(folder, &done)) return;
  pooled ? LoadFor(folder) : LogWhyNotObserved();
}

const char* WhyHookIsMissing(const Options& options) {
  if (!options.trace || HasFramework() || std::strcmp(options.level, "segments") == 0 ||
      std::getenv(VRAMSTOW_PROGRAM_VARIABLE) == nullptr || HasStartUpHook()) {
    return nullptr;
  }
  char folder[PATH_MAX];
  const bool is_python = Shim().find_symbol(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
  if (!is_python || dl_iterate_phdr(FindLibrary, folder) == 0) return nullptr;
  return SwitchAgainstHook() != nullptr ? "Python was started with -I, -E or -S"
                                        : "PYTHONPATH was replaced, or Python ignores it";
}

}  // namespace vramstow
