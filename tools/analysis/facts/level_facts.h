// LevelFacts: how much memory was held, when it was highest, and what it consisted of.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds since the trace began.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_LEVEL_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_LEVEL_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/amount.h"
#include "tools/analysis/facts/fragmentation_facts.h"

namespace vramstow {

struct Peak {
  uint64_t allocated_bytes = 0;
  uint64_t reserved_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t reserved_then_bytes = 0;   // when allocated was highest
  uint64_t requested_then_bytes = 0;  // the same
  uint64_t time_ns = 0;               // when allocated first was that high
  uint64_t sequence = 0;              // the event that brought it there
  uint64_t host_bytes = 0;            // pinned by the driver: highest level, whenever that was
  uint64_t registered_bytes = 0;      // the application's host memory, pinned
  uint64_t managed_bytes = 0;
  uint64_t imported_bytes = 0;       // of other processes
  uint64_t mapped_bytes = 0;         // device memory mapped into reserved address ranges
  uint64_t address_range_bytes = 0;  // reserved addresses; they cost no memory
};

// A block, or a group of equal blocks.
struct BlockFacts {
  uint64_t address = 0;  // of one block; of physical memory its handle
  uint64_t size = 0;
  uint64_t requested = 0;
  uint64_t count = 1;
  uint64_t time_ns = 0;  // when it was allocated; of several: the first
  int device = kNoDevice;
  MemoryKind memory = MemoryKind::kNone;
  std::string call;
  std::string library;
  uint32_t site_number = 0;
  std::string site;  // the call site, if there is a call stack
};

// Allocations of device memory of 2^k to 2^(k+1)-1 bytes.
struct HistogramRow {
  uint64_t from_bytes = 0;
  uint64_t to_bytes = 0;  // inclusive
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  Amount at_peak;
  Amount at_end;
};

struct TimelinePoint {
  uint64_t allocated_highest = 0;  // within the interval
  uint64_t reserved_highest = 0;
  uint64_t allocated_last = 0;  // at its end
  uint64_t requested_last = 0;
  uint64_t host_highest = 0;
  uint64_t managed_highest = 0;
  FreeMemory ranges;  // at its end; of joined intervals, the worst
};

// Intervals of one length, from the beginning of the trace.
struct TimelineFacts {
  uint64_t interval_ns = 0;
  std::vector<TimelinePoint> points;
};

struct DeviceFacts {
  int device = kNoDevice;
  std::string name;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> free_bytes_at_start;
  uint64_t peak_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
  uint64_t end_bytes = 0;
  uint64_t end_reserved_bytes = 0;
  uint64_t out_of_memory = 0;
  // The lowest number of free bytes that the driver reported to the application.
  std::optional<uint64_t> lowest_free_bytes;
  uint64_t lowest_free_time_ns = 0;
};

// The memory that was live when the trace ended.
struct LiveFacts {
  Amount device;
  Amount other;                    // host and managed memory
  std::vector<BlockFacts> groups;  // alike in library, call, kind and size; the largest first
  uint64_t groups_left_out = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_LEVEL_FACTS_H_
