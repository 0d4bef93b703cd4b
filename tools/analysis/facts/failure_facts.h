// OutOfMemoryFacts: a request that failed, and its explanation: what was live, how much was
// lacking, and why.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds since the trace began; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FAILURE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FAILURE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/advice_id.h"
#include "tools/analysis/facts/amount.h"
#include "tools/analysis/facts/fragmentation_facts.h"

namespace vramstow {

enum class FreeKnownFrom { kNothing, kStart, kMemoryInfo };

// A part of the live memory.
struct ShareFacts {
  std::string name;
  Amount amount;
};

// How the memory of the GPU was used at an out-of-memory, and how much the request needed.
struct DemandFacts {
  std::optional<uint64_t> card_bytes;
  // Memory of the GPU that is not allocated by this process: contexts, modules, other processes.
  std::optional<uint64_t> outside_bytes;
  uint64_t live_bytes = 0;
  uint64_t not_pytorch_bytes = 0;  // if there are tensors: the bytes that are none
  // The memory that this process could have: live, cached and free; 0 if unknown.
  uint64_t room_bytes = 0;
  uint64_t lacking_bytes = 0;
  std::vector<ShareFacts> by_category;
  std::vector<ShareFacts> by_module;
  std::vector<ShareFacts> by_site;
};

// An owner of memory, as a census (a reference scan) found it.
struct HolderFacts {
  std::string holder;  // "train: hist[0..11].grad_fn → saved by AddmmBackward0"
  std::string role;    // of the largest block
  std::string about;   // the same: "float32 [64, 1024]"
  Amount amount;
};

// The memory that an allocator would have needed for the requests up to the one that failed.
struct ReplayFacts {
  std::string model;
  uint64_t peak_reserved_bytes = 0;
  uint64_t peak_allocated_bytes = 0;
  bool would_serve = false;
};

// The memory that would be free without one cause.
struct WouldFitFacts {
  AdviceId cause = AdviceId::kNone;
  std::string place;
  std::string holder;  // the owner of most of it; empty if none was found
  uint64_t bytes = 0;
  bool fits = false;  // its removal alone is enough for the request
  bool is_estimate = false;
};

struct OutOfMemoryFacts {
  uint64_t time_ns = 0;
  uint64_t event = 0;  // counted from 1
  uint64_t sequence = 0;
  uint64_t requested_bytes = 0;
  int device = kNoDevice;
  uint32_t thread = 0;
  MemoryKind memory = MemoryKind::kNone;
  std::string call;
  std::string library;
  std::string site;  // empty without a call stack
  std::string operation;
  uint64_t allocated_bytes = 0;  // by this process on that device, at that moment
  // The way by which free_bytes is known. It is the driver's last answer about free memory, minus
  // the bytes that this process has allocated since.
  FreeKnownFrom free_from = FreeKnownFrom::kNothing;
  uint64_t free_bytes = 0;
  uint64_t free_known_at_ns = 0;
  std::optional<uint64_t> largest_free_range_bytes;  // of the ranges, if any
  // If there is a pool: the memory that it held, how much of it was free, and in how many pieces.
  bool has_pool = false;
  uint64_t reserved_bytes = 0;
  uint64_t pool_free_bytes = 0;
  uint64_t pool_free_ranges = 0;
  std::optional<uint64_t> pool_movable_bytes;  // as FreeMemory has it
  uint64_t pending_bytes = 0;
  HoleFacts largest_hole;
  // The explanation of the failure. It is filled in only for a single trace, and only for its last
  // failures.
  uint32_t site_number = 0;
  bool has_story = false;
  DemandFacts demand;
  AdviceId cause = AdviceId::kNone;  // the id of its cause; kNone if unknown
  std::vector<WouldFitFacts> would_fit;
  std::vector<HolderFacts> holders;  // those of the most bytes
  // The bytes of tensors whose owner is unknown; no value without a census (a reference scan).
  std::optional<uint64_t> bytes_without_holder;
  // The reason why there was no census (reference scan); empty if the reason is unknown, or there
  // was a census.
  std::string census_left_out;
  // The results of replaying the unchanged requests with the allocator that ran and with the pool.
  // Set for the last failure only.
  std::vector<ReplayFacts> replays;
  uint64_t advice_not_replayed = 0;  // for lack of time
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FAILURE_FACTS_H_
