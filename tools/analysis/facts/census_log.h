// CensusLog: what held memory at some moments, as the process itself looked it up.
//
// Idea: a census is a row of marks (docs/trace-format.md): one that says what it is, and one for
// each piece of memory that somebody holds.
//
// Ownership: copies. Threads: one at a time. Errors: a mark that is not as it should be is left
// out. Units: bytes, nanoseconds, events counted from 1. Memory: the last kMax censuses;
// those that were left out go first.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_CENSUS_LOG_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_CENSUS_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"

namespace vramstow {

// A holder that begins so is one that nobody needs (VRAMSTOW_DEAD_CYCLE of framework.h).
inline constexpr std::string_view kDeadCycle = "a dead cycle: ";
// One that contains this: no variable has it yet (VRAMSTOW_EXPRESSION of framework.h).
inline constexpr std::string_view kUnfinished = "(unfinished expression)";

// Memory that somebody holds.
struct HeldBlock {
  uint64_t address = 0;
  uint64_t bytes = 0;
  int16_t device = kNoDevice;
  std::string role;    // "parameter", "buffer", "gradient", "optimizer_state", "saved", "other"
  std::string holder;  // "train: hist[3].grad_fn → saved by AddmmBackward0"
  std::string about;   // "float32 [64, 1024]"
};

struct CensusDetail {
  uint64_t event = 0;
  uint32_t thread = 0;
  std::string reason;  // "out_of_memory", "asked", "told"
  uint64_t found_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t duration_ns = 0;
  uint64_t objects = 0;
  std::string why_ended;  // before all was looked at; empty: it was not
  std::vector<HeldBlock> blocks;

  // There was a failure, and no time to look around. `why_ended` says why.
  bool is_left_out() const { return objects == 0 && !why_ended.empty(); }
};

class CensusLog {
 public:
  static constexpr size_t kMax = 64;
  static constexpr size_t kMaxBlocks = 16384;  // of one census

  // `mark`: a kMark, the `number`th of all events. False: it is no part of a census.
  bool Add(const Event& mark, std::string_view text, uint64_t number);

  std::vector<CensusDetail> Take() { return {censuses_.begin(), censuses_.end()}; }

 private:
  void Begin(const Event& mark, std::string_view text, uint64_t number);
  void Hold(const Event& mark, std::string_view text);

  std::deque<CensusDetail> censuses_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_CENSUS_LOG_H_
