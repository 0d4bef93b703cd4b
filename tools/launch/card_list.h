// CardList: the simulated cards, as the simulator lists them. It also finds the card on which a
// memory snapshot was made: the smallest one that agrees with the evidence in the snapshot.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: one sentence.
// Units: bytes.
#ifndef VRAMSTOW_TOOLS_LAUNCH_CARD_LIST_H_
#define VRAMSTOW_TOOLS_LAUNCH_CARD_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/inputs/card_evidence.h"

namespace vramstow {

inline constexpr char kMatchSpec[] = "match=";

struct ListedCard {
  std::string key;
  std::string name;
  uint64_t memory_bytes = 0;  // as listed, which is rounded
  uint32_t capability = 0;    // major · 10 + minor
  uint64_t multiprocessors = 0;
};

// Parses the text of --simulate=help. Unknown lines are ignored.
std::vector<ListedCard> ReadCardList(absl::string_view help);

// Returns the cards that the simulator in this folder lists.
absl::StatusOr<std::vector<ListedCard>> ListCards(const std::string& simulator_directory);

// Returns the number of multiprocessors in a SPEC: the option sms= if the SPEC has it, otherwise
// the number of its card. Returns 0 if the card is unknown.
uint64_t MultiprocessorsOf(const std::vector<ListedCard>& cards, const std::string& spec);

// Returns the numbers of multiprocessors that the card of a snapshot may have. They are those of
// all cards that agree with the evidence, beginning with the most likely cards.
std::vector<uint64_t> PossibleMultiprocessors(const std::vector<ListedCard>& cards,
                                              const CardEvidence& evidence);

struct MatchedCard {
  std::string spec;  // "l4", "h100,memory=..."
  std::string why;   // one sentence
};

// Returns the card of the list that agrees with the evidence. Fails if none has enough memory.
absl::StatusOr<MatchedCard> MatchCard(const CardEvidence& evidence,
                                      const std::vector<ListedCard>& cards);

// Replaces "match=SNAPSHOT" at the beginning of a SPEC by the matching card, and sets *why to the
// reason. Returns any other SPEC unchanged.
absl::StatusOr<std::string> ResolveMatch(const std::string& spec,
                                         const std::string& simulator_directory, std::string* why);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_CARD_LIST_H_
