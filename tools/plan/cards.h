// Cards: what a user calls the machines that come into question, as SPECs of the simulator.
//
// Ownership: copies. Threads: pure functions. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_PLAN_CARDS_H_
#define VRAMSTOW_TOOLS_PLAN_CARDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/plan/choices.h"

namespace vramstow {

// A card's own options have commas, too: a new card begins where there is no '='.
std::vector<std::string> SplitCards(const std::string& cards);

struct PlanCard {
  std::string text;         // as it was asked for: "h100x8,memory=64GiB"
  std::string key;          // "h100"
  std::string spec;         // "h100,count=8,memory=64GiB"
  uint64_t count = 1;       // of the whole job
  bool has_absent = false;  // world= says how many, and only some ranks run
};

// `keys`: the cards that can be simulated.
absl::StatusOr<PlanCard> ReadPlanCard(const std::string& text,
                                      const std::vector<std::string>& keys);

// Why a card's job cannot have the degrees of parallelism that a choice names ({shard}, {dp}, {tp},
// {pp}, {cp}): one does not divide the ranks. Empty: it can, or the card is one alone.
std::string WhyNotAmongRanks(const Choice& choice, const PlanCard& card);

// A value that divides the ranks of none of the cards is an error.
absl::Status CheckDegrees(const std::vector<Placeholder>& places,
                          const std::vector<PlanCard>& cards);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_CARDS_H_
