// Growth: compares two censuses (reference scans) of one process.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: a number that
// is missing in a census counts as 0. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ATTACH_GROWTH_H_
#define VRAMSTOW_TOOLS_ATTACH_GROWTH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/json/json_value.h"

namespace vramstow {

// An owner that holds more, or less, memory than before. Numbers in its name are ignored:
// `hist[0..11]` and `hist[0..15]` both become `hist[*]`.
struct GrownHolder {
  std::string holder;
  std::string about;  // of its largest block now
  int64_t bytes = 0;  // more than before
  int64_t blocks = 0;
  uint64_t bytes_now = 0;
  uint64_t blocks_now = 0;
};

// Returns `hist[*].grad_fn` for `hist[0..11].grad_fn`. Names in brackets, as in `cache["kv"]`, are
// not replaced.
std::string WithoutNumbers(std::string_view holder);

// Returns the owners that changed, sorted by growth, the largest first. `before` and `after` are
// the answers of the process to two censuses (docs/census.md).
std::vector<GrownHolder> CompareCensuses(const JsonValue& before, const JsonValue& after);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_GROWTH_H_
