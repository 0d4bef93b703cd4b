#include "interpose/core/runtime/settings.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

bool RunsPython() {
  enum class Answer : uint8_t { kUnknown, kYes, kNo };
  static constinit std::atomic<Answer> known{Answer::kUnknown};
  Answer answer = known.load(std::memory_order_relaxed);
  if (answer == Answer::kUnknown) {
    const bool found = Shim().find_symbol(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
    answer = found ? Answer::kYes : Answer::kNo;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == Answer::kYes;
}

}  // namespace

bool WantsPool(const Options& options) { return std::strcmp(options.pool, "on") == 0; }

bool WantsMetrics(const Options& options) { return *options.metrics != '\0'; }

bool WantsShare(const Options& options) {
  ShareSetting setting;
  return WantsPool(options) && ParseShare(options.share, &setting) && setting.on;
}

bool WantsOffload(const Options& options) {
  OffloadSetting setting;
  const bool offloads = ParseOffload(options.offload, &setting) && setting.on;
  return WantsPool(options) && (offloads || WantsShare(options));
}

bool WantsNames(const Options& options) {
  return std::strcmp(options.stacks, "sites") == 0 || std::strcmp(options.stacks, "all") == 0;
}

bool WantsStacks(const Options& options) {
  if (!options.trace) return false;
  return WantsNames(options) || (std::strcmp(options.stacks, "auto") == 0 && RunsPython());
}

bool WantsLaunches(const Options& options) {
  LaunchesSetting setting;
  ParseLaunches(options.launches, &setting);
  return setting.on && options.trace;
}

}  // namespace vramstow
