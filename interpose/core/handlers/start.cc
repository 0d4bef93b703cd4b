#include "interpose/core/handlers/start.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "interpose/core/runtime/log.h"
#include "interpose/shim/runtime_copies.h"
#include "interpose/shim/text.h"

namespace vramstow::handlers {
namespace {

// The addresses of the libraries for which a message was printed; null in free elements.
std::atomic<const void*> reported_libraries[16] = {};

// Returns true for the first call with this library. If the list is full, it returns false, so that
// no further message is printed.
bool IsFirst(const void* file) {
  for (auto& known : reported_libraries) {
    const void* none = nullptr;
    if (known.compare_exchange_strong(none, file)) return true;
    if (none == file) return false;
  }
  return false;
}

std::string_view FolderOf(const char* path) {
  return {path, static_cast<size_t>(BaseName(path) - path)};
}

// True for libraries that work although the simulated driver refuses them the private tables of
// NVIDIA's driver. These are NVRTC, and the simulator's own libraries, which pass on requests of
// other libraries.
bool DoesWithout(const Driver& driver, const char* path) {
  const char* name = BaseName(path);
  if (StartsWith(name, "libnvrtc") && (name[8] == '.' || name[8] == '-')) return true;
  return driver.path() != nullptr && FolderOf(driver.path()) == FolderOf(path);
}

// A part of a package's path, and advice on how to use the package without the library.
struct Remedy {
  const char* part;
  const char* text;
};
constexpr Remedy kRemedies[] = {
    {"nvidia_cutlass_dsl",
     " FlashInfer, and SGLang through it, uses it for norms: with FLASHINFER_USE_CUDA_NORM=1 it is "
     "not needed."},
};

const char* RemedyFor(const char* path) {
  for (const Remedy& remedy : kRemedies) {
    if (std::strstr(path, remedy.part) != nullptr) return remedy.text;
  }
  return "";
}

}  // namespace

void LogForeignRuntime(const Driver& driver, const void* caller) {
  Dl_info library = {};
  if (dladdr(caller, &library) == 0 || library.dli_fname == nullptr) return;
  const char* const path = library.dli_fname;
  if (DoesWithout(driver, path) || !IsFirst(library.dli_fbase)) return;
  if (RuntimeFamily(path) != kNoRuntime) {
    Log("%s is a real CUDA runtime, not the simulated one, and it was called. It requests private "
        "tables from the driver, which the simulated driver does not have, so code that calls it "
        "cannot run on the simulated GPU. It works on a real GPU.",
        path);
    return;
  }
  Log("%s contains a static CUDA runtime, which requests private tables from the driver. The "
      "simulated driver does not have them, so this code cannot run on the simulated GPU. It works "
      "on a real GPU.%s",
      BaseName(path), RemedyFor(path));
}

}  // namespace vramstow::handlers
