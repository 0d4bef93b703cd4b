// Where the shim comes in, and where the process ends. See interpose/shim/seam.h.
#include <cstring>

#include "interpose/core/core.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/pools/application.h"
#include "interpose/core/pools/residency.h"
#include "interpose/core/record/annotations.h"
#include "interpose/core/record/unwinder.h"
#include "interpose/core/runtime/routing.h"
#include "interpose/shim/fingerprint.h"
#include "interpose/shim/seam.h"

namespace vramstow {

constinit Core the_core;

namespace {

// Other threads may still be in the driver. No call of the driver is made here: it may be shutting
// down, too.
void Finish() {
  Core& core = TheCore();
  const bool is_forked_child = core.process.is_forked_child();
  if (!core.process.Finish() || is_forked_child) return;
  core.service.Stop();
  core.activity.Finish();
  core.trace.Close();
  if (core.process.options().coverage) core.coverage.Report();
}

int AddHook(ApplicationHooks::Function hook, void* context) {
  return TheCore().hooks.Add(hook, context);
}
int RemoveHook(ApplicationHooks::Function hook, void* context) {
  return TheCore().hooks.Remove(hook, context);
}

constexpr VramstowApi kApi = {
#define VRAMSTOW_API(version, name, function, core, parameters, arguments) .name = function,
#include "interpose/shim/api.def"
};
constexpr VramstowCore kCore = {Replace, Finish, &kApi, FrameworkTable};

}  // namespace
}  // namespace vramstow

extern "C" __attribute__((visibility("default"))) const VramstowCore* vramstow_core_attach(
    const VramstowShim* shim) {
  if (shim->hooks_fingerprint != vramstow::HooksFingerprint()) return nullptr;
  // Every caller is the same shim, so a second one changes nothing, and must write nothing: other
  // threads read the pointer already.
  const VramstowShim* none = nullptr;
  __atomic_compare_exchange_n(&vramstow::TheCore().shim, &none, shim, /*weak=*/false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  // Also where no look-up follows: the report at exit needs the settings.
  vramstow::TheCore().process.Start();
  const vramstow::Options& options = vramstow::TheCore().process.options();
  if (options.trace && std::strcmp(options.stacks, "off") != 0) vramstow::OpenUnwinder(*shim);
  return &vramstow::kCore;
}
