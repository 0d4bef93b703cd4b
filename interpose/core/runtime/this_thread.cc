#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

constinit const VramstowShim* the_shim = nullptr;

void SetShim(const VramstowShim* shim) {
  // Only the first caller may write, because other threads may read the pointer already.
  const VramstowShim* none = nullptr;
  __atomic_compare_exchange_n(&the_shim, &none, shim, /*weak=*/false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
}

}  // namespace vramstow
