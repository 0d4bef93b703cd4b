// Cards: reads the machines between which a user wants to choose. The user gives them as SPECs of
// the simulator.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread, but for
// CheckCards, which the main thread calls. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_PLAN_CARDS_H_
#define VRAMSTOW_TOOLS_PLAN_CARDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/plan/choices.h"

namespace vramstow {

// Splits a list of cards. The options of a card are separated by commas, too. A part of the list
// without '=' is the begin of a new card.
std::vector<std::string> SplitCards(const std::string& cards);

// Fails if the list is empty or has an empty part, or if one of its cards cannot be simulated.
absl::Status CheckCards(const std::vector<std::string>& cards);

struct PlanCard {
  std::string text;         // as requested: "h100x8,memory=64GiB"
  std::string key;          // "h100"
  std::string spec;         // "h100,count=8,memory=64GiB"
  uint64_t count = 1;       // of the whole job
  bool has_absent = false;  // world= gives the number, and only some ranks run
};

// Reads one card. `keys` has the names of the cards that can be simulated.
absl::StatusOr<PlanCard> ReadPlanCard(const std::string& text,
                                      const std::vector<std::string>& keys);

// Checks the degrees of parallelism ({shard}, {dp}, {tp}, {pp}, {cp}) that a choice contains: each
// degree must divide the number of ranks of the job on this card. Returns an empty text if all
// degrees do, or if the job has only one rank. Otherwise returns a sentence that names a degree
// which does not.
std::string WhyNotAmongRanks(const Choice& choice, const PlanCard& card);

// Fails if a degree of parallelism has a value that divides the number of ranks of no card.
absl::Status CheckDegrees(const std::vector<Placeholder>& places,
                          const std::vector<PlanCard>& cards);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_CARDS_H_
