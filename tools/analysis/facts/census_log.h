// CensusLog: the censuses of the process: which objects held memory at certain moments.
//
// Idea: a census (a reference scan) is a sequence of marks (docs/trace-format.md): one that
// describes it, and one for each piece of memory that an object holds.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: malformed marks
// are ignored. Units: bytes, nanoseconds; events are counted from 1. Memory: the last kMax
// censuses; those that the process skipped are dropped first.
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

// The text with which HeldBlock::holder begins if the memory is garbage: only a cycle of
// unreachable Python objects refers to it (VRAMSTOW_DEAD_CYCLE of framework.h).
inline constexpr std::string_view kDeadCycle = "a dead cycle: ";
// A part of HeldBlock::holder if no variable refers to the memory yet (VRAMSTOW_EXPRESSION of
// framework.h).
inline constexpr std::string_view kUnfinished = "(unfinished expression)";

// A piece of memory, and the object that holds it.
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
  std::string why_ended;  // why it ended early; empty if it was complete
  std::vector<HeldBlock> blocks;

  // True if a census was skipped at a failure, because there was no time for it. `why_ended` has
  // the reason.
  bool is_left_out() const { return objects == 0 && !why_ended.empty(); }
};

class CensusLog {
 public:
  static constexpr size_t kMax = 64;
  static constexpr size_t kMaxBlocks = 16384;  // of one census

  // Adds `mark`, a kMark event, which is the `number`th of all events. Returns false if it does not
  // belong to a census.
  bool Add(const Event& mark, std::string_view text, uint64_t number);

  std::vector<CensusDetail> Take() { return {censuses_.begin(), censuses_.end()}; }

 private:
  void Begin(const Event& mark, std::string_view text, uint64_t number);
  void Hold(const Event& mark, std::string_view text);

  std::deque<CensusDetail> censuses_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_CENSUS_LOG_H_
