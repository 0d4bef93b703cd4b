// FindLargest: the largest value of a setting with which a command fits onto a card, and who
// grows with it.
//
// Idea: fit_search.h says which values are rehearsed. What one card told is where the search on the
// next begins. Two more rehearsals, with the pool, tell what tensors alone would need.
//
// Ownership: copies; traces and output lie in the folder. Threads: one at a time. Errors: one
// sentence where the command fails for another reason than memory. Units: bytes.
#ifndef VRAMSTOW_TOOLS_PLAN_LARGEST_H_
#define VRAMSTOW_TOOLS_PLAN_LARGEST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/json/json_value.h"
#include "tools/plan/fit_search.h"

namespace vramstow {

// Gets one sentence on each rehearsal when it is over.
using PlanNote = std::function<void(const std::string& sentence)>;

// A line of the program whose memory grows with the value.
struct Growth {
  std::string site;
  std::string operation;
  double bytes_per_unit = 0;
};

struct LargestOnCard {
  std::string card;
  FitResult found;
  uint64_t capacity = 0;
  // The line of tensors alone, where the pool served them.
  std::optional<FitLine> tensors;
  std::string why_no_tensors;
  std::vector<Growth> growth;
};

// The word of a command that stands for the value.
inline constexpr char kBatchPlace[] = "{batch}";

struct LargestRequest {
  std::vector<std::string> cards;    // as SPECs of the simulator
  std::vector<std::string> command;  // with kBatchPlace
  FitRange range{1, 65536, 1};
  uint64_t repeat = 1;  // rehearsals of each value, all of which must fit
};

struct LargestReport {
  std::vector<LargestOnCard> cards;  // an interrupted search ends with what is known
  uint64_t rehearsals = 0;
  bool any_fits() const;
};

// `folder` is for traces and output.
absl::StatusOr<LargestReport> FindLargest(const LargestRequest& request, const std::string& folder,
                                          const PlanNote& note);

std::string TextOf(const LargestReport& report);
JsonValue JsonOf(const LargestReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_LARGEST_H_
