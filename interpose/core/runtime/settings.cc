#include "interpose/core/runtime/settings.h"

#include <cstring>

namespace vramstow {

bool WantsPool(const Options& options) { return std::strcmp(options.pool, "on") == 0; }

bool WantsOffload(const Options& options) {
  OffloadSetting setting;
  return WantsPool(options) && ParseOffload(options.offload, &setting) && setting.on;
}

bool WantsLaunches(const Options& options) {
  LaunchesSetting setting;
  ParseLaunches(options.launches, &setting);
  return setting.on && options.trace;
}

}  // namespace vramstow
