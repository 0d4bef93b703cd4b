#include "interpose/core/runtime/real_functions.h"

#include <cstring>

#include "interpose/core/runtime/driver.h"

namespace vramstow {

void* RealFunction(const Driver& driver, const char* symbol) {
  for (size_t i = 0; i < kHookCount; ++i) {
    const Hook hook = static_cast<Hook>(i);
    if (std::strcmp(RowOf(hook).symbol, symbol) == 0) return driver.real(hook);
  }
#define VRAMSTOW_QUERY(name) \
  if (std::strcmp(#name, symbol) == 0) return reinterpret_cast<void*>(driver.name());
  VRAMSTOW_DRIVER_QUERIES(VRAMSTOW_QUERY)
#undef VRAMSTOW_QUERY
  return nullptr;
}

}  // namespace vramstow
