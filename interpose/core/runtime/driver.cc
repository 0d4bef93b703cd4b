#include "interpose/core/runtime/driver.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "base/event.h"
#include "base/keep_errno.h"

namespace vramstow {

namespace {

// The dynamic linker wrote this entry under its own lock before any thread got the handle.
// ThreadSanitizer cannot see that.
__attribute__((no_sanitize("thread"))) const char* PathOf(const link_map* library) {
  return library->l_name;
}

}  // namespace

bool Driver::Bind(const VramstowShim& shim, const link_map* library) {
  const link_map* expected = nullptr;
  if (!library_.compare_exchange_strong(expected, library, std::memory_order_acq_rel) &&
      expected != library) {
    return false;
  }
  if (ready_.load(std::memory_order_acquire)) return true;
  // This reference keeps the library loaded even if all of its users close it.
  void* handle = shim.open_library(PathOf(library), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) handle = const_cast<link_map*>(library);
  const auto look_up = [&shim, handle](const char* symbol, Address* place) {
    place->store(shim.find_symbol(handle, symbol), std::memory_order_relaxed);
  };
  for (size_t i = 0; i < kHookCount; ++i) {
    const Hook hook = static_cast<Hook>(i);
    look_up(RowOf(hook).symbol, &real_[i]);
  }
#define VRAMSTOW_QUERY(symbol) look_up(#symbol, &query_##symbol);
  VRAMSTOW_DRIVER_QUERIES(VRAMSTOW_QUERY)
#undef VRAMSTOW_QUERY
  look_up("vramstowSimulatorDescription", &simulator_);
  look_up("vramstowSimulatorGroup", &simulator_group_);
  look_up("vramstowSimulatorWatchUncomputedReads", &simulator_watch_);
  look_up("vramstowSimulatorCountUncomputedReads", &simulator_count_);
  look_up("vramstowSimulatorWatchUses", &simulator_watch_uses_);
  look_up("vramstowSimulatorWrapTasks", &simulator_wrap_tasks_);
  look_up("vramstowSimulatorHoldsKernels", &simulator_holds_kernels_);
  look_up("vramstowSimulatorWatchUnknownSizes", &simulator_watch_sizes_);
  look_up("vramstowSimulatorCountUnknownSizes", &simulator_count_sizes_);
  look_up("vramstowSimulatorReadModelClock", &simulator_clock_);
  look_up("vramstowSimulatorPass", &simulator_pass_);
  look_up("vramstowSimulatorJoinTime", &simulator_join_);
  ready_.store(true, std::memory_order_release);
  return true;
}

CUcontext Driver::CurrentContext() const {
  CUcontext context = nullptr;
  if (cuCtxGetCurrent() == nullptr || cuCtxGetCurrent()(&context) != CUDA_SUCCESS) return nullptr;
  return context;
}

int16_t Driver::CurrentDevice() const {
  const KeepErrno keep_errno;
  if (cuCtxGetDevice() == nullptr) return kNoDevice;
  // CurrentContext() succeeds without a context. cuCtxGetDevice() would fail, and the driver may
  // log that failure.
  CUdevice device = -1;
  if (CurrentContext() == nullptr || cuCtxGetDevice()(&device) != CUDA_SUCCESS) return kNoDevice;
  return static_cast<int16_t>(device);
}

Hook Driver::FindAddress(const void* address, const char* name, bool per_thread_stream) const {
  Hook found = kNoHook;
  for (size_t i = 0; i < kHookCount; ++i) {
    const Hook hook = static_cast<Hook>(i);
    if (real(hook) != address) continue;
    const HookRow& row = RowOf(hook);
    if (std::strcmp(row.name, name) != 0) continue;
    if (found == kNoHook || row.per_thread_stream == per_thread_stream) found = hook;
  }
  return found;
}

Hook Driver::FindVersion(void* address, const char* name, int version, bool per_thread_stream) {
  // A later CUDA release may use an old name for a new ABI.
  if (version > kKnownCudaVersion) return kNoHook;
  // Chooses the row with the highest version that is not above the requested one. Of its two
  // variants it chooses the one for the requested kind of null stream. A function without such
  // variants serves both kinds.
  Hook found = kNoHook;
  int best = -1;
  for (size_t i = 0; i < kHookCount; ++i) {
    const HookRow& row = RowOf(static_cast<Hook>(i));
    if (row.version > version || std::strcmp(row.name, name) != 0) continue;
    if (row.per_thread_stream && !per_thread_stream) continue;
    const int fit = row.version * 2 + (row.per_thread_stream == per_thread_stream ? 1 : 0);
    if (fit > best) {
      best = fit;
      found = static_cast<Hook>(i);
    }
  }
  if (found != kNoHook) {
    void* expected = nullptr;
    real_[static_cast<size_t>(found)].compare_exchange_strong(expected, address,
                                                              std::memory_order_relaxed);
  }
  return found;
}

int Driver::CudaVersion() const {
  int version = 0;
  const auto ask = cuDriverGetVersion();
  return ask != nullptr && ask(&version) == CUDA_SUCCESS ? version : 0;
}

const char* Driver::simulator_description() const {
  auto* function = reinterpret_cast<const char* (*)()>(Load(simulator_));
  return function == nullptr ? nullptr : function();
}

uint64_t Driver::SimulatedGroup() const {
  const auto ask = reinterpret_cast<uint64_t (*)()>(Load(simulator_group_));
  return ask == nullptr ? 0 : ask();
}

void Driver::WatchUncomputedReads(int (*seen)(const char* by, void* user), void* user) const {
  using Watch = void (*)(int (*)(const char*, void*), void*);
  if (const auto watch = reinterpret_cast<Watch>(Load(simulator_watch_))) watch(seen, user);
}

uint64_t Driver::CountUncomputedReads() const {
  const auto count = reinterpret_cast<uint64_t (*)()>(Load(simulator_count_));
  return count == nullptr ? 0 : count();
}

void Driver::WatchUses(UseWatcher seen, void* user) const {
  using Watch = void (*)(UseWatcher, void*);
  if (const auto watch = reinterpret_cast<Watch>(Load(simulator_watch_uses_))) watch(seen, user);
}

void Driver::WrapTasks(TaskWrapper wrap, void* user) const {
  using Wrap = void (*)(TaskWrapper, void*);
  if (const auto set = reinterpret_cast<Wrap>(Load(simulator_wrap_tasks_))) set(wrap, user);
}

bool Driver::HoldsKernels() const {
  const auto holds = reinterpret_cast<int (*)()>(Load(simulator_holds_kernels_));
  return holds != nullptr && holds() != 0;
}

void Driver::WatchUnknownSizes(int (*seen)(const char* by, void* user), void* user) const {
  using Watch = void (*)(int (*)(const char*, void*), void*);
  if (const auto watch = reinterpret_cast<Watch>(Load(simulator_watch_sizes_))) watch(seen, user);
}

uint64_t Driver::CountUnknownSizes() const {
  const auto count = reinterpret_cast<uint64_t (*)()>(Load(simulator_count_sizes_));
  return count == nullptr ? 0 : count();
}

bool Driver::ReadModelClock(ModelClock* clock) const {
  const auto read = reinterpret_cast<int (*)(ModelClock*, size_t)>(Load(simulator_clock_));
  return read != nullptr && read(clock, sizeof *clock) == 0;
}

void Driver::PassModelTime(uint64_t nanoseconds) const {
  const auto pass = reinterpret_cast<void (*)(uint64_t)>(Load(simulator_pass_));
  if (pass != nullptr) pass(nanoseconds);
}

void Driver::JoinModelTime(uint64_t time_ns) const {
  const auto join = reinterpret_cast<uint64_t (*)(uint64_t)>(Load(simulator_join_));
  if (join != nullptr) join(time_ns);
}

const char* Driver::path() const {
  const link_map* library = library_.load(std::memory_order_acquire);
  return library == nullptr ? nullptr : library->l_name;
}

}  // namespace vramstow
