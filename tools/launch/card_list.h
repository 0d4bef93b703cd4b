// CardList: the simulated cards, as the simulator lists them; and which of them a memory snapshot
// of a real card tells of: the smallest that agrees with the evidence.
//
// Ownership: copies. Threads: one at a time. Errors: one sentence. Units: bytes.
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

// From the text of --simulate=help. Lines that it does not understand are left out.
std::vector<ListedCard> ReadCardList(absl::string_view help);

// The list of the simulator in this folder.
absl::StatusOr<std::vector<ListedCard>> ListCards(const std::string& simulator_directory);

// Of a SPEC: sms= in it counts, else the card's. 0: not known.
uint64_t MultiprocessorsOf(const std::vector<ListedCard>& cards, const std::string& spec);

// How many multiprocessors the card of a snapshot may have: of the cards that agree with the
// evidence, first those from which most snapshots come.
std::vector<uint64_t> PossibleMultiprocessors(const std::vector<ListedCard>& cards,
                                              const CardEvidence& evidence);

struct MatchedCard {
  std::string spec;  // "l4", "h100,memory=..."
  std::string why;   // one sentence
};

// The card of the list that agrees with the evidence. An error: none has so much memory.
absl::StatusOr<MatchedCard> MatchCard(const CardEvidence& evidence,
                                      const std::vector<ListedCard>& cards);

// A SPEC that begins with "match=SNAPSHOT" gets the card in its place, and *why says which; any
// other is given back as it is.
absl::StatusOr<std::string> ResolveMatch(const std::string& spec,
                                         const std::string& simulator_directory, std::string* why);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_CARD_LIST_H_
