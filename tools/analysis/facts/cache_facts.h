// CacheFacts: how an allocator served requests, how much memory it allocated again after releasing
// it, and the memory of the host.
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds since the trace began.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_CACHE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_CACHE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vramstow {

struct ChurnSite {
  std::string site;
  std::string operation;
  uint64_t pairs = 0;
  uint64_t bytes = 0;
};

struct ChurnFacts {
  // How often a block was freed and the same size was requested again, before another block of that
  // size was allocated or freed.
  uint64_t pairs = 0;
  uint64_t pair_bytes = 0;
  std::vector<ChurnSite> sites;
};

struct FlushFacts {
  uint64_t time_ns = 0;
  uint64_t segments = 0;
  uint64_t bytes = 0;
  // The released bytes that were allocated from the device again before the next flush.
  uint64_t taken_again_bytes = 0;
  uint64_t duration_ns = 0;
  // "empty_cache", "allocator", "vramstow" (of its own accord, or asked by ctl), "unknown"
  std::string by;
  std::string line;  // the program's line that called empty_cache(); empty if unknown
};

struct CacheFacts {
  bool known = false;
  uint64_t segments_taken = 0;
  uint64_t segments_given_back = 0;
  uint64_t taken_bytes = 0;
  uint64_t given_back_bytes = 0;
  uint64_t flush_count = 0;
  uint64_t empty_cache_calls = 0;
  // False if a flush has no call stack, so that it is not known whether the program asked for it.
  bool knows_empty_cache = true;
  // True if the allocator is a pool that moves chunks, as vramstow's pool does. Only then the
  // following counts are recorded: requests that cached memory did not serve at once, moves of
  // chunks, and waits for work that might still access freed memory.
  bool counts_steps = false;
  uint64_t misses = 0;
  uint64_t stitches = 0;
  uint64_t fence_waits = 0;
  uint64_t fence_wait_ns = 0;
  std::vector<FlushFacts> flushes;
};

// The memory of the host, sampled once a second, and pinned memory.
struct HostFacts {
  uint64_t looks = 0;
  uint64_t highest_resident_bytes = 0;  // of the process
  uint64_t highest_resident_time_ns = 0;
  uint64_t least_free_bytes = 0;
  uint64_t least_free_time_ns = 0;
  uint64_t limit_bytes = 0;  // the limit of which these bytes were free
  // True if the limit is that of the process's control group, false if it is that of the machine.
  bool is_of_group = false;
  // The part of peak.host_bytes by which pinned buffers are larger than requested.
  uint64_t pinned_rounding_bytes = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_CACHE_FACTS_H_
