#include "interpose/core/handlers/start.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "interpose/core/runtime/log.h"

namespace vramstow::handlers {
namespace {

std::atomic<bool> told{false};

}  // namespace

void TellOfStaticRuntime(const void* caller) {
  Dl_info library = {};
  if (dladdr(caller, &library) == 0 || library.dli_fname == nullptr) return;
  const char* slash = strrchr(library.dli_fname, '/');
  const char* name = slash == nullptr ? library.dli_fname : slash + 1;
  // The simulator's own runtime passes on what its callers may do without.
  constexpr char kRuntime[] = "libcudart.so";
  if (strncmp(name, kRuntime, sizeof(kRuntime) - 1) == 0) return;
  if (told.exchange(true)) return;
  Log("%s has a CUDA runtime linked into it, which asks the driver for private tables; a simulated "
      "driver has none, so it cannot be rehearsed. It works on a card.",
      name);
}

}  // namespace vramstow::handlers
