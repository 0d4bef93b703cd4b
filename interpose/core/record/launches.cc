#include "interpose/core/record/launches.h"

#include "base/keep_errno.h"
#include "base/typed_event.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/handle_kinds.h"
#include "interpose/core/runtime/kernel_names.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

uint64_t FirstPlace(uint64_t handle, unsigned bits) {
  return (handle * 0x9E3779B97F4A7C15u) >> (64 - bits);
}

// The recorder's mutex identifies a thread by this address.
const void* Self() { return ThisThread(); }

}  // namespace

bool Launches::wanted() {
  Mode mode = mode_.load(std::memory_order_relaxed);
  if (mode == Mode::kUnknown) {
    const Options& options = process_.options();
    LaunchesSetting setting;
    ParseLaunches(options.launches, &setting);
    every_.store(setting.every, std::memory_order_relaxed);
    mode = !WantsLaunches(options) ? Mode::kOff
           : setting.every == 0    ? Mode::kCounted
                                   : Mode::kSampled;
    mode_.store(mode, std::memory_order_release);
  }
  return mode != Mode::kOff;
}

void Launches::Note(const CallSite& site, CUfunction function, uint64_t stream) {
  if (!wanted() || !trace_.is_open()) return;
  if (mode_.load(std::memory_order_relaxed) == Mode::kCounted) {
    Find(site.hook, function)->launches.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  VramstowThread* const thread = site.thread;
  const uint32_t every = every_.load(std::memory_order_relaxed);
  if (++thread->launches < every) return;
  thread->launches = 0;
  const uint64_t name = Find(site.hook, function)->annotation.load(std::memory_order_relaxed);
  const LaunchEvent sample = {
      .is_sample = true, .launches = every, .annotation = name, .stream = stream};
  trace_.Record(site, sample.ToEvent());
}

Launches::Kernel* Launches::Find(Hook hook, CUfunction function) {
  // A launch that names no function is stored under the number of its hook. Such a number is
  // smaller than any handle.
  const uint64_t handle = function != nullptr ? reinterpret_cast<uint64_t>(function)
                                              : uint64_t{static_cast<uint16_t>(hook)} + 1;
  uint64_t place = FirstPlace(handle, kPlaceBits);
  for (uint32_t look = 0; look < kLooks; ++look, place = (place + 1) % kPlaces) {
    const uint64_t found = places_[place].load(std::memory_order_acquire);
    if (found >> kNumberBits == handle) return &kernels_[found & (kMaxKernels - 1)];
    if (found == 0) break;
  }
  KeepErrno keep_errno;
  const char* const name = function == nullptr
                               ? RowOf(hook).name
                               : KernelName(driver_, kinds_.KindOf(function), function);
  return Add(handle, name == nullptr ? "(unknown kernel)" : name);
}

Launches::Kernel* Launches::Add(uint64_t handle, const char* name) {
  const uint64_t annotation = trace_.Annotation(name);
  const uint64_t others = trace_.Annotation("(other kernels)");
  if (!mutex_.Lock(Self())) return &kernels_[0];
  if (count_.load(std::memory_order_relaxed) == 0) {
    kernels_[0].annotation.store(others, std::memory_order_relaxed);
    count_.store(1, std::memory_order_release);
  }
  Kernel* const kernel = KernelNamed(annotation);
  Keep(handle, kernel);
  mutex_.Unlock();
  return kernel;
}

// Returns the entry of the kernel with this name. Several handles may have the same name, at the
// same time or one after the other.
Launches::Kernel* Launches::KernelNamed(uint64_t annotation) {
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 1; i < count; ++i) {
    if (kernels_[i].annotation.load(std::memory_order_relaxed) == annotation) return &kernels_[i];
  }
  if (count == kMaxKernels) return &kernels_[0];
  kernels_[count].annotation.store(annotation, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
  return &kernels_[count];
}

// Stores which entry belongs to the handle of a kernel. If the table is full, the kernel's name is
// looked up again at each launch.
void Launches::Keep(uint64_t handle, const Kernel* kernel) {
  if (handle >> (64 - kNumberBits) != 0) return;
  uint64_t place = FirstPlace(handle, kPlaceBits);
  for (uint32_t look = 0; look < kLooks; ++look, place = (place + 1) % kPlaces) {
    const uint64_t found = places_[place].load(std::memory_order_relaxed);
    if (found != 0 && found >> kNumberBits != handle) continue;
    places_[place].store(handle << kNumberBits | static_cast<uint64_t>(kernel - kernels_),
                         std::memory_order_release);
    return;
  }
}

void Launches::Emit() {
  if (mode_.load(std::memory_order_acquire) != Mode::kCounted) return;
  // Only one thread at a time writes counts, so that all launches before a mark are recorded before
  // that mark. This code may run in a signal handler that has interrupted the writing thread, or a
  // thread that holds a lock of the recorder, for which the writing thread waits. Then it returns,
  // at once or after a moment, and leaves the counts to that thread.
  constexpr timespec kLongestWait = {0, 100'000'000};
  if (count_.load(std::memory_order_acquire) == 0 || !mutex_.Lock(Self(), &kLongestWait)) return;
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    Kernel& kernel = kernels_[i];
    if (kernel.launches.load(std::memory_order_relaxed) == 0) continue;
    LaunchEvent counted;
    counted.annotation = kernel.annotation.load(std::memory_order_relaxed);
    counted.launches = kernel.launches.exchange(0, std::memory_order_relaxed);
    Event event = counted.ToEvent();
    trace_.RecordWithStack(kNoHook, kUnknownName, &event);
  }
  mutex_.Unlock();
}

void Launches::ForgetFunctions() {
  if (!wanted() || !mutex_.Lock(Self())) return;
  for (auto& place : places_) place.store(0, std::memory_order_relaxed);
  mutex_.Unlock();
}

void Launches::AbandonAfterFork() {
  mutex_.Reset();
  for (auto& place : places_) place.store(0, std::memory_order_relaxed);
  for (Kernel& kernel : kernels_) kernel.launches.store(0, std::memory_order_relaxed);
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
