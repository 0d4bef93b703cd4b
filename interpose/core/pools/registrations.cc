#include "interpose/core/pools/registrations.h"

#include "base/keep_errno.h"
#include "base/units.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/runtime/log.h"

namespace vramstow {
namespace {

const char* WhyItStaysAway(OffloadResult result) {
  switch (result) {
    case OffloadResult::kHeld:
      return "part of it is paused: resume it first";
    case OffloadResult::kNoRoom:
      return "part of it is on the host, and the device has no free memory to bring it back";
    case OffloadResult::kBusy:
      return "part of it is on the host, and submitted work does not end";
    case OffloadResult::kCapturing:
      return "part of it is on the host, and nothing can be moved while a stream is captured";
    default:
      return "part of it is on the host, and the driver failed to bring it back";
  }
}

}  // namespace

bool Registrations::Hold(const void* address, size_t size, HeldRange* held) {
  *held = HeldRange();
  const auto at = reinterpret_cast<uint64_t>(address);
  // A range whose end overflows is not in a pool. Such a range may stand for all memory of a
  // process.
  if (size == 0 || at + size < at) return true;
  const Pools::Use use = pools_.Owning(at);
  if (!use) return true;
  const KeepErrno keep_errno;
  const ScopedCallContext call;
  const uint64_t bytes = use->HoldChunks(at, size);
  const OffloadResult result =
      use.offloader() == nullptr ? OffloadResult::kDone : use.offloader()->ReturnHeld(at, bytes);
  if (result != OffloadResult::kDone) {
    use->ReleaseChunks(at, bytes);
    Log("a library cannot register %llu MiB of the pool's memory: %s.",
        static_cast<unsigned long long>((size + kMiB - 1) / kMiB), WhyItStaysAway(result));
    return false;
  }
  *held = {at, bytes, static_cast<uint32_t>(pools_.NumberOf(use)), use.opening()};
  return true;
}

void Registrations::Keep(const void* handle, const HeldRange& held) {
  if (held.size == 0 || handle == nullptr || table_.Put(handle, held)) return;
  if (logged_full_.exchange(true, std::memory_order_relaxed)) return;
  Log("the table of registered memory of the pool is full: memory that is registered from now on "
      "stays pinned permanently.");
}

HeldRange Registrations::Take(const void* handle) { return table_.Take(handle); }

void Registrations::Release(const HeldRange& held) {
  if (held.size == 0) return;
  const Pools::Use use = pools_.At(static_cast<int>(held.pool));
  if (!use || use.opening() != held.opening) return;
  const KeepErrno keep_errno;
  use->ReleaseChunks(held.address, held.size);
}

}  // namespace vramstow
