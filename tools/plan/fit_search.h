// FitSearch: finds the largest value of a setting with which a run still fits into memory.
//
// Idea: a run is expensive, so the search makes few runs. Peaks mostly grow along a line. Two runs
// give the line, and the line predicts the limit. The limit is then approached from both sides or,
// if the line does not help, by bisection. If the line of another card is known, the search uses it
// from the start. If three values have exactly the same peaks, one far larger value is tried. If
// its peaks are also the same, the search ends, because the value does not matter.
//
// Ownership: the results are copies. Threads: none of its own. Errors: those of a run; a cancelled
// run ends the search, and its results so far are retained. Units: bytes.
#ifndef VRAMSTOW_TOOLS_PLAN_FIT_SEARCH_H_
#define VRAMSTOW_TOOLS_PLAN_FIT_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace vramstow {

struct FitRun {
  uint64_t value = 0;
  bool fits = false;
  uint64_t peak_reserved = 0;  // of the fullest card
  uint64_t peak_allocated = 0;
  uint64_t peak_requested = 0;
  uint64_t capacity = 0;          // bytes of that card that processes can have
  uint64_t out_of_memory = 0;     // how often memory was refused
  bool continued = false;         // memory was refused, and the command ended well all the same
  uint64_t processes_on_gpu = 1;  // how many used it at the same time
};

// The largest value that can be tried. The search multiplies values.
inline constexpr uint64_t kMaxFitValue = 1'000'000'000'000;

struct FitRange {
  uint64_t from = 1;
  uint64_t to = 0;    // at most kMaxFitValue
  uint64_t step = 1;  // only from + k · step is tried
};

// A line that gives the bytes for a value: bytes = fixed + slope · value.
struct FitLine {
  double fixed = 0;
  double slope = 0;
  // Returns the largest value whose bytes are at most `capacity`; nullopt if the bytes do not grow.
  std::optional<uint64_t> LargestWithin(uint64_t capacity) const;
};
// Returns the line through two runs with different values; nullopt if the bytes do not grow.
std::optional<FitLine> LineThrough(uint64_t value_a, uint64_t bytes_a, uint64_t value_b,
                                   uint64_t bytes_b);

struct FitResult {
  std::optional<uint64_t> largest;  // nullopt if not even the first value fits
  bool at_end = false;              // the upper limit of the search fits
  bool is_flat = false;             // peaks do not depend on the value, so that no more were tried
  bool interrupted = false;         // a run was cancelled; `largest` is the best so far
  std::vector<FitRun> runs;         // in the order in which they were made
  std::optional<FitLine> line;      // of reserved bytes
};

using FitTry = std::function<absl::StatusOr<FitRun>(uint64_t value)>;

// Searches the largest value. `line` describes how bytes grow with the value, if that is already
// known. The bytes must not exceed `capacity`.
absl::StatusOr<FitResult> SearchLargest(const FitRange& range, const FitTry& attempt,
                                        const std::optional<FitLine>& line, uint64_t capacity);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_FIT_SEARCH_H_
