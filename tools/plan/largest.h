// FindLargest: finds the largest value of a setting with which a command fits onto a GPU, and the
// call sites whose memory grows with it.
//
// Idea: fit_search.h chooses the values that are tried. The search on the next GPU begins with the
// line through the peaks of the previous GPU. Two more runs, with the pool, give the memory that
// tensors alone would need.
//
// Ownership: results are copies; traces and output lie in the folder. Threads: the main thread.
// Errors: one sentence if the command fails for another reason than memory. Units: bytes.
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

// Receives one sentence at the end of each run.
using PlanNote = std::function<void(const std::string& sentence)>;

// A call site whose memory grows when the value of the setting grows.
struct Growth {
  std::string site;
  std::string operation;
  double bytes_per_unit = 0;
};

struct LargestOnCard {
  std::string card;
  FitResult found;
  uint64_t capacity = 0;
  // How the memory of tensors alone grows with the value, measured with vramstow's pool.
  std::optional<FitLine> tensors;
  std::string why_no_tensors;
  std::vector<Growth> growth;
};

// The part of a command that is replaced by the value.
inline constexpr char kBatchPlace[] = "{batch}";

struct LargestRequest {
  std::vector<std::string> cards;    // simulated GPUs, as for --simulate
  std::vector<std::string> command;  // with kBatchPlace
  FitRange range{1, 65536, 1};
  uint64_t repeat = 1;  // runs of each value, all of which must fit
};

struct LargestReport {
  std::vector<LargestOnCard> cards;  // an interrupted search has the GPUs so far
  uint64_t rehearsals = 0;
  bool any_fits() const;
};

// Finds the largest value on each card. Traces and output of the simulated runs are written into
// `folder`.
absl::StatusOr<LargestReport> FindLargest(const LargestRequest& request, const std::string& folder,
                                          const PlanNote& note);

std::string TextOf(const LargestReport& report);
JsonValue JsonOf(const LargestReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_LARGEST_H_
