#include "interpose/core/record/unwinder.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>

#include <cstdio>
#include <cstring>

#include "tracer/capture/unwind_library.h"

namespace vramstow {

void OpenUnwinder(const VramstowShim& shim) {
  const int saved_errno = errno;
  Dl_info core;
  char path[PATH_MAX];
  const char* slash = nullptr;
  if (dladdr(reinterpret_cast<const void*>(&OpenUnwinder), &core) != 0 &&
      core.dli_fname != nullptr) {
    slash = std::strrchr(core.dli_fname, '/');
  }
  if (slash != nullptr) {
    const int length = std::snprintf(path, sizeof path, "%.*s/vramstow/libvramstow-unwind.so",
                                     static_cast<int>(slash - core.dli_fname), core.dli_fname);
    if (length > 0 && static_cast<size_t>(length) < sizeof path) {
      UnwindLibrary::Open(path, shim.open_library, shim.find_symbol);
    }
  }
  errno = saved_errno;
}

}  // namespace vramstow
