// CardEstimate: simulates a command once on a card, and reports whether it fits, its peak, and the
// parts of the peak.
//
// Idea: the peak is what the card has to provide, namely the highest reserved memory and the
// context. The parts of the peak are the purposes of the blocks, the reserved memory outside of
// blocks, what other processes reserved on the same devices, and the contexts. A command that runs
// out of memory is simulated again on the same card with more memory, which shows how much it
// lacks.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: one sentence if
// the command fails for another reason than memory, or uses no device memory. Units: bytes.
#ifndef VRAMSTOW_TOOLS_PLAN_ESTIMATE_H_
#define VRAMSTOW_TOOLS_PLAN_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/facts.h"
#include "tools/jobs/settings.h"
#include "tools/json/json_value.h"

namespace vramstow {

struct CardEstimate {
  struct Part {
    std::string name;
    uint64_t bytes = 0;
  };

  std::string card;  // as it was asked for
  std::string name;  // the card's own
  uint64_t total_bytes = 0;
  bool fits = false;
  uint64_t out_of_memory = 0;  // how often; if more than 0, it does not fit
  bool continued = false;      // it ran out of memory, and ended well all the same
  uint64_t processes = 1;      // that used device memory
  uint64_t sharing = 1;        // how many of them used one device at the same time, at most
  uint64_t cards = 1;          // that all processes used
  uint64_t devices = 1;        // of the process that took most; the peak is the sum over them
  // The peak of the run. It is nullopt if even the largest card that can be simulated does not have
  // enough memory.
  std::optional<uint64_t> peak_bytes;
  std::vector<Part> parts;  // of the peak: the largest first, then the rest
  // The memory of the fullest device minus the peak; negative if the device is too small.
  std::optional<int64_t> spare_bytes;
  Facts facts;                                 // of the run that the peak is from
  std::vector<AdviceFacts> advice_at_failure;  // of the run that did not fit
};

// Simulates the command on the card. Traces and output are written into `folder`, which must not
// exist yet. `more_flags` are flags of `vramstow run`.
absl::StatusOr<CardEstimate> EstimateOn(const std::string& card,
                                        const std::vector<std::string>& command,
                                        const std::string& folder,
                                        const FlagValues& more_flags = {});

// Says that the peak of a device that several processes used is an upper bound.
extern const char kSumOfProcesses[];

std::string TextOf(const CardEstimate& estimate);
JsonValue JsonOf(const CardEstimate& estimate);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_ESTIMATE_H_
