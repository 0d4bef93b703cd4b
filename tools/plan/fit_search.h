// FitSearch: the largest value of a setting with which a run still fits into memory.
//
// Idea: a run is expensive, so few are made. Peaks mostly grow along a line: two runs give it, and
// it says where the border should be. The border is then closed in from both sides; where the line
// does not help, by halves. What is known from another card is a line to begin with. Where three
// values have the same peaks to the byte, one far larger value is tried, and if that is alike, too,
// the search is over: the value does not matter.
//
// Ownership: copies. Threads: none of its own. Errors: what a run says; a run that was cancelled
// ends the search, and what is known until then is kept. Units: bytes.
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
  uint64_t peak_reserved = 0;
  uint64_t peak_allocated = 0;
  uint64_t peak_requested = 0;
  uint64_t capacity = 0;  // bytes of the card that a process can have
};

struct FitRange {
  uint64_t from = 1;
  uint64_t to = 0;
  uint64_t step = 1;  // only from + k · step are tried
};

// bytes = fixed + slope · value.
struct FitLine {
  double fixed = 0;
  double slope = 0;
  // The largest value whose bytes are at most `capacity`; nothing where bytes do not grow.
  std::optional<uint64_t> LargestWithin(uint64_t capacity) const;
};
// Through two runs with different values; nothing where these do not grow.
std::optional<FitLine> LineThrough(uint64_t value_a, uint64_t bytes_a, uint64_t value_b,
                                   uint64_t bytes_b);

struct FitResult {
  std::optional<uint64_t> largest;  // nothing: not even the first value fits
  bool at_end = false;              // the largest that was to be tried fits
  bool is_flat = false;             // peaks do not depend on the value, so that no more were tried
  bool interrupted = false;         // a run was cancelled; `largest` is what is known
  std::vector<FitRun> runs;         // in the order in which they were made
  std::optional<FitLine> line;      // of reserved bytes
};

using FitTry = std::function<absl::StatusOr<FitRun>(uint64_t value)>;

// `line` is what is known before, `capacity` of what.
absl::StatusOr<FitResult> SearchLargest(const FitRange& range, const FitTry& attempt,
                                        const std::optional<FitLine>& line, uint64_t capacity);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_FIT_SEARCH_H_
