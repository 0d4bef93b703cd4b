// The exported functions of the C API: each passes its arguments to the core, if the core is open.
#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

#include "interpose/shim/core_loader.h"
#include "interpose/shim/seam.h"

#define VRAMSTOW_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum class Core { kOpened, kOpens };

const VramstowApi* Api(Core wanted) {
  const VramstowCore* core = wanted == Core::kOpens ? vramstow::OpenCore() : vramstow::OpenedCore();
  return core == nullptr ? nullptr : core->api;
}

}  // namespace

VRAMSTOW_EXPORT const char* vramstow_version(void) { return VRAMSTOW_VERSION; }

#define VRAMSTOW_API(version, name, function, core, parameters, arguments) \
  VRAMSTOW_EXPORT int vramstow_##name parameters {                         \
    const VramstowApi* api = Api(Core::core);                              \
    return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->name arguments;     \
  }
#include "interpose/shim/api.def"

// Opens the core if needed, because an adapter may call this before the program looks up a function
// of the driver.
VRAMSTOW_EXPORT const struct vramstow_table* vramstow_get_table(uint32_t kind, uint32_t version) {
  const VramstowCore* core = vramstow::OpenCore();
  return core == nullptr ? nullptr : core->table(kind, version);
}
