// Fidelity: what a real card did with memory beside what a rehearsal of the same job did.
//
// Idea: both are a sequence of allocations and frees of a framework, each with the size that was
// asked for. The two are aligned (align.h); what is left over on either side between two stretches
// that are equal is a place where they part. Places alike are told once, with how often they occur.
// A recording of a card is often only the end of a run, so the rehearsal's part is looked for.
//
// Ownership: copies. Threads: pure functions. Errors: none. Units: bytes. Events are counted from
// 0.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_FIDELITY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_FIDELITY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/pass/event_source.h"

namespace vramstow {

struct SequenceItem {
  bool is_free = false;
  uint64_t bytes = 0;  // as asked for
  auto operator<=>(const SequenceItem&) const = default;
};

// Tensors of one device: of the one with the most events.
struct AllocationSequence {
  std::vector<SequenceItem> items;
  std::vector<uint64_t> levels;  // asked for and live after each item, the first ones' before it
  std::vector<uint32_t> sites;   // by item: an index of site_names
  std::vector<std::string> site_names;
  uint64_t level_before = 0;
};

// Reads the source to its end.
AllocationSequence SequenceOf(EventSource* source);

// A way in which the two part, and how many times.
struct SequencePart {
  std::vector<SequenceItem> on_card;
  std::vector<SequenceItem> rehearsed;
  uint64_t times = 0;
  uint64_t first_event = 0;    // of the card's, before which it first is so
  std::string card_site;       // of the first of them; empty: not known
  std::string rehearsed_site;  // likewise
};

// The explanation of a place where they part.
struct SequenceCause {
  // "multiprocessors", "precision", "workspace", "release", "library_workspace", "unknown"
  std::string setting;
  std::string sentence;
  std::string spec;     // what to add to the SPEC, to try it; empty: no setting of the card does it
  uint64_t events = 0;  // of either side that it explains
};

struct FidelityFacts {
  uint64_t card_events = 0;
  uint64_t rehearsed_events = 0;  // all of them
  uint64_t window_begin = 0;      // of the rehearsal's, the part that the card's recording tells
  uint64_t window_end = 0;
  uint64_t aligned = 0;
  uint64_t only_on_card = 0;
  uint64_t only_rehearsed = 0;  // within the window
  bool is_longest = true;       // false: they differ too much to be aligned whole
  uint64_t card_peak_bytes = 0;
  uint64_t rehearsed_peak_bytes = 0;  // within the window
  std::vector<SequencePart> parts;    // those of most events first
  uint64_t parts_left_out = 0;
  std::vector<SequenceCause> causes;  // those of most events first

  double AlignedShare() const {
    return card_events == 0 ? 0 : static_cast<double>(aligned) / static_cast<double>(card_events);
  }
};

inline constexpr size_t kMostSequenceParts = 20;

// `multiprocessors`: of the simulated card; 0: not known.
FidelityFacts CompareSequences(const AllocationSequence& card, const AllocationSequence& rehearsed,
                               uint64_t multiprocessors);

// The causes of parts, those of most events first. Used by CompareSequences, before parts are left
// out.
std::vector<SequenceCause> CausesOf(const std::vector<SequencePart>& parts,
                                    uint64_t multiprocessors);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_FIDELITY_H_
