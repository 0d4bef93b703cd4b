// OffloadFacts and GarbageFacts: the memory that was evicted to the host, and the garbage that was
// collected, for lack of memory.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"

namespace vramstow {

// A call site that allocated memory which was evicted to the host.
struct OffloadSite {
  uint32_t number = 0;  // SiteTable's
  std::string site;
  std::string operation;
  uint64_t bytes = 0;  // all moves together
};

// A change of the program, made by hand, by which the job would need less memory and no moves.
struct HandChange {
  std::string change;         // as docs/metrics.md has it
  std::string place = {};     // a line of the layers; empty if it is about no line
  uint64_t needed_bytes = 0;  // the memory of the GPU that the job then needs
  bool fits = false;
  bool changes_numbers = false;  // the program's results are rounded differently
  uint64_t count = 0;            // the number of layers, or of micro-batches; 0 if it has none
  uint64_t layers = 0;           // the total number of layers
  uint64_t moved_bytes = 0;      // to the host and back in each iteration
  std::optional<double> seconds = {};  // longer for an iteration; nullopt if unknown
};

// Live memory that was moved to the host or paused (--offload).
struct OffloadFacts {
  uint64_t out_bytes = 0;        // moved to the host, all moves together
  uint64_t returned_bytes = 0;   // and back
  uint64_t gate_ns = 0;          // the total time that submissions waited for moves
  uint64_t longest_gate_ns = 0;  // the longest time that one submission waited
  uint64_t most_bytes = 0;       // the most bytes that were on the host at once
  std::array<uint64_t, kOffloadReasons> by_reason = {};  // that left, by OffloadReason
  // True if the job ran only because memory was moved: requests lacked memory, and none failed.
  bool carries_job = false;
  // The memory of the GPU that the job needs, including memory that was in use before the job
  // began, and the size of the GPU. Set if carries_job is true; 0 if unknown.
  uint64_t needed_bytes = 0;
  uint64_t card_bytes = 0;
  // The limit of the pool on the GPU with the highest need, and what set it: "--limit=300MiB",
  // "train.py:3 main", or the variable of per_process_memory_fraction. Set if all memory moved
  // because the pool had reached this limit; otherwise 0 and empty.
  uint64_t limit_bytes = 0;
  std::string limit_place;
  bool was_full = false;  // memory also moved because a GPU had no free memory
  // Returns the limit, unless another process of the job had a full GPU.
  uint64_t limit() const { return was_full ? 0 : limit_bytes; }
  // The highest `needed_bytes` with which no memory would have moved: card_bytes, or less because
  // of the limit. Set if carries_job is true.
  uint64_t room_bytes = 0;
  // The time that offload costs in an iteration on average, by the simulated GPU's clock.
  std::optional<double> step_cost_seconds = {};
  std::vector<HandChange> by_hand;  // if carries_job: the best first; for one trace only
  uint64_t left_out = 0;            // moves that are in the sums only
  std::vector<OffloadSite> sites;   // largest first; for one trace only
};

// A reference cycle that held dead tensors.
struct CycleFacts {
  std::string cycle;         // "Holder.cycle → itself"
  std::string about;         // its largest tensor: "float32 [64, 1024]"
  uint64_t bytes = 0;        // the most that one collection found in such cycles
  uint64_t collections = 0;  // collections that found such cycles
};

// Garbage that was collected before a request failed (--collect).
struct GarbageFacts {
  uint64_t collections = 0;     // in which garbage held device memory
  uint64_t saved_requests = 0;  // that would have failed
  uint64_t freed_bytes = 0;     // in total
  uint64_t most_bytes = 0;      // by one collection
  uint64_t duration_ns = 0;
  std::vector<CycleFacts> cycles;  // largest first; for one trace only
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_
