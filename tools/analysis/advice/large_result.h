// LargeResult: finds the first large result of an iteration, and the blocks made from it.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions, callable from any thread.
// Errors: none; returns nullopt if nothing is large. Units: bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LARGE_RESULT_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LARGE_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

inline constexpr uint64_t kPieces = 8;  // the number of pieces that advice proposes
// A block counts as made from the result if it has at least 1/4 of the result's size.
inline constexpr uint64_t kFollows = 4;

// A block that was allocated, or the block whose request failed.
struct Made {
  uint32_t site = 0;
  uint64_t size = 0;
  uint64_t birth = 0;
};

// Returns the first block of this iteration that is about as large as the largest one. The later
// large blocks may be computed from it.
std::optional<Made> FirstLarge(const FailureMoment& moment);

// The sizes of tensors that were live when the result was made.
struct Before {
  uint64_t largest = 0;
  uint64_t largest_of_pass = 0;
  uint64_t all = 0;
};
Before WhatWasThere(const FailureMoment& moment, const Made& made);

// Returns the family of the result: its own live block, and the live blocks that were made from it.
std::vector<const Life*> FamilyOf(const FailureMoment& moment, const Made& made);
// Returns the bytes of the family (FamilyOf), plus the request if it belongs to the family.
uint64_t WithRequest(const FailureMoment& moment, const Made& made,
                     const std::vector<const Life*>& family);
// Returns the change in which the result, and each block made from it, is cut into `parts` parts.
Change InPieces(const FailureMoment& moment, const Made& made,
                const std::vector<const Life*>& family, uint64_t parts);
std::string LineOf(const FailureMoment& moment, const Made& made);
// True for matrix products and similar operators.
bool IsProduct(std::string_view name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LARGE_RESULT_H_
