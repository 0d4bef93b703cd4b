// LargeResult: the first large result of a pass, and what was made of it.
//
// Ownership: refers to a FailureMoment's lives. Threads: pure functions. Errors: none; where
// nothing is large, there is none. Units: bytes, events counted from 1.
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

inline constexpr uint64_t kPieces = 8;   // that an advice proposes
inline constexpr uint64_t kFollows = 4;  // what is at least this part of the result is made of it

// Something that was made, or was to be made.
struct Made {
  uint32_t site = 0;
  uint64_t size = 0;
  uint64_t birth = 0;
};

// The first one in this pass that is about as large as the largest: the others may be made of it.
std::optional<Made> FirstLarge(const FailureMoment& moment);

// Tensors that were there when it was made.
struct Before {
  uint64_t largest = 0;
  uint64_t largest_of_pass = 0;
  uint64_t all = 0;
};
Before WhatWasThere(const FailureMoment& moment, const Made& made);

// The blocks of it that are there, and those that were made of it.
std::vector<const Life*> FamilyOf(const FailureMoment& moment, const Made& made);
// Their bytes, with the request if that belongs to them.
uint64_t WithRequest(const FailureMoment& moment, const Made& made,
                     const std::vector<const Life*>& family);
// The result, and the blocks that are made of it, each cut into `pieces` parts.
Change InPieces(const FailureMoment& moment, const Made& made,
                const std::vector<const Life*>& family, uint64_t parts);
std::string LineOf(const FailureMoment& moment, const Made& made);
// Matrix products and their kin.
bool IsProduct(std::string_view name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LARGE_RESULT_H_
