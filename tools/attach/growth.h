// Growth: what two censuses of one process say about the time between them.
//
// Ownership: values. Threads: pure functions. Errors: a census that lacks a number has 0. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ATTACH_GROWTH_H_
#define VRAMSTOW_TOOLS_ATTACH_GROWTH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/json/json_value.h"

namespace vramstow {

// A holder that has more, or less, than before. Its numbers are not told apart: `hist[0..11]` and
// `hist[0..15]` are both `hist[*]`.
struct GrownHolder {
  std::string holder;
  std::string about;  // of its largest block now
  int64_t bytes = 0;  // more than before
  int64_t blocks = 0;
  uint64_t bytes_now = 0;
  uint64_t blocks_now = 0;
};

// `hist[*].grad_fn` of `hist[0..11].grad_fn`. Names in brackets stay: `cache["kv"]`.
std::string WithoutNumbers(std::string_view holder);

// Those that changed, the ones that grew most first; `before` and `after` are answers to a census
// (docs/census.md).
std::vector<GrownHolder> CompareCensuses(const JsonValue& before, const JsonValue& after);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_GROWTH_H_
