// ContextRequest lets a process that has no context yet wait for its turn (--share).
//
// Idea: other processes may have taken all memory of the GPU before this one starts. Then the
// driver cannot create a context, and this process cannot take part with a pool (DeviceTurns).
// ContextRequest takes a place in the table for a moment. It publishes a guess of what a context
// needs as memory that this process lacks, waits until the others have made room as for any other
// request, and lets the driver try again.
//
// Ownership: static storage. Threads: any calls Serve, one after the other. AbandonAfterFork is for
// a forked child, and async-signal-safe. Errors: Serve returns false if no room can be made.
// Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_CONTEXT_REQUEST_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_CONTEXT_REQUEST_H_

#include <atomic>
#include <cstdint>

#include "base/options.h"
#include "base/share_table.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/share/shared_card.h"

namespace vramstow {

class ContextRequest {
 public:
  // Creates a context. Returns false if the driver lacks memory, and true after any other result.
  struct Creation {
    bool (*create)(void* object);
    void* object;
  };

  constexpr explicit ContextRequest(const Driver& driver) : driver_(driver) {}
  ContextRequest(const ContextRequest&) = delete;
  ContextRequest& operator=(const ContextRequest&) = delete;

  // Called after the driver lacked memory for a context on the GPU `device`. Waits for room and
  // lets `creation` try again, until it returns true. Returns false if no other process shares this
  // GPU, or if the others cannot give up enough memory.
  bool Serve(const ShareSetting& setting, uint64_t group, int device, const Creation& creation);
  // For how long threads have waited here.
  uint64_t waited_ns() const { return waited_ns_.load(std::memory_order_relaxed); }
  void AbandonAfterFork();

 private:
  // What the table says at one moment.
  struct View {
    bool is_shared = false;      // another process uses this GPU
    bool is_fresh = false;       // the free memory was measured after the last attempt
    bool has_room = false;       // this process may take what it wants
    bool can_be_served = false;  // the others have enough memory that can move
  };

  bool WaitForRoom(uint64_t total_bytes, const Creation& creation);
  bool Publish(const ShareSetting& setting, uint64_t group, uint64_t total_bytes);
  View Look();

  const Driver& driver_;
  std::atomic<bool> is_busy_{false};
  std::atomic<uint64_t> waited_ns_{0};
  ShareTable table_;
  SharedCard card_;
  uint64_t wanted_bytes_ = 0;
  uint64_t began_ns_ = 0;
  uint64_t tried_at_ns_ = 0;  // when the driver last lacked memory
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_CONTEXT_REQUEST_H_
