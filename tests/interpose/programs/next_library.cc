// One link of a chain: adds its number to the result of the next library's function of the same
// name. It works only if RTLD_NEXT is relative to this library, not to a wrapper of dlsym.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) int NextProbe() {
  auto* next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "NextProbe"));
  auto* versioned = reinterpret_cast<int (*)()>(dlvsym(RTLD_NEXT, "NextProbe", "NO_SUCH_VERSION"));
  const int own = NEXT_NUMBER;
  if (versioned != nullptr && versioned != next) return -1;
  return next == nullptr ? own : own + next();
}
