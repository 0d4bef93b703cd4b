// Fidelity: compares the allocations of a job on a real GPU with those of a simulated run.
//
// Idea: both are a sequence of allocations and frees of a framework, each with its requested size.
// The two are aligned (align.h); the unmatched events between two equal stretches are a difference.
// Equal differences are reported once, with the number of times that they occur. A recording of a
// GPU often has only the end of a run, so the corresponding part of the simulated run is searched
// for.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes. Events are counted from 0.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_FIDELITY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_FIDELITY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/analysis/fidelity/sequence.h"

namespace vramstow {

// A difference of the two sequences, and how often it occurs.
struct SequencePart {
  std::vector<SequenceItem> on_card;
  std::vector<SequenceItem> rehearsed;
  uint64_t times = 0;
  uint64_t first_event = 0;    // the event of the real GPU before which it first occurs
  std::string card_site;       // the call site of the first item; empty if unknown
  std::string rehearsed_site;  // like card_site
  bool stages = false;         // reductions asked for all of it
};

// The explanation of a difference.
struct SequenceCause {
  // One of "release", "multiprocessors", "card", "precision", "workspace", "library_workspace",
  // "allocator", "unknown".
  std::string setting;
  std::string sentence;
  // Texts to add to the SPEC of the simulated GPU in order to test the explanation, the most likely
  // first. Empty if no setting of the simulated GPU corresponds to the explanation.
  std::vector<std::string> specs;
  uint64_t events = 0;   // events on both sides that it explains
  bool is_vain = false;  // it was tried without aligning more events
};

// The device memory that the framework held during the recorded events.
struct HeldMemory {
  bool is_known = false;  // on both sides
  bool has_parts = false;
  uint64_t card_peak_bytes = 0;
  uint64_t rehearsed_peak_bytes = 0;
  // At its end.
  uint64_t card_segments = 0;
  uint64_t rehearsed_segments = 0;
  std::map<uint64_t, uint64_t> only_on_card;  // size → how many more
  std::map<uint64_t, uint64_t> only_rehearsed;

  bool IsEqual() const {
    return card_peak_bytes == rehearsed_peak_bytes && only_on_card.empty() &&
           only_rehearsed.empty();
  }
};

struct FidelityFacts {
  uint64_t card_events = 0;
  uint64_t rehearsed_events = 0;  // all of them
  uint64_t window_begin = 0;      // the part of the simulated run that the recording covers
  uint64_t window_end = 0;
  uint64_t aligned = 0;
  uint64_t only_on_card = 0;
  uint64_t only_rehearsed = 0;  // within the window
  bool is_longest = true;       // false if they differ too much for a complete alignment
  uint64_t card_peak_bytes = 0;
  uint64_t rehearsed_peak_bytes = 0;  // within the window
  HeldMemory held;
  // Evidence that the program on the real GPU used another release of PyTorch.
  std::optional<MovedFunction> other_release;
  std::vector<SequencePart> parts;  // in order of events, most first
  uint64_t parts_left_out = 0;
  std::vector<SequenceCause> causes;  // another release first, then in order of events

  uint64_t LeftOver() const { return only_on_card + only_rehearsed; }
  double AlignedShare() const {
    return card_events == 0 ? 0 : static_cast<double>(aligned) / static_cast<double>(card_events);
  }
};

inline constexpr size_t kMaxSequenceParts = 20;

// The number of multiprocessors of the simulated GPU, and the possible numbers of the real GPU. The
// real GPU may be one of several models, and each of these models has a number of its own.
struct Multiprocessors {
  uint64_t simulated = 0;          // 0 if unknown
  std::vector<uint64_t> possible;  // of the real GPU; the number of the most likely model is first
};

FidelityFacts CompareSequences(const AllocationSequence& card, const AllocationSequence& rehearsed,
                               const Multiprocessors& multiprocessors);

// Returns the causes of the differences `parts`, in descending order of events. CompareSequences
// calls this before it drops differences.
std::vector<SequenceCause> CausesOf(const std::vector<SequencePart>& parts,
                                    const Multiprocessors& multiprocessors);

// ReleaseCause returns the cause if both sides use different releases of PyTorch. The next function
// returns the cause if the segments differ although the requests are the same.
SequenceCause ReleaseCause(const MovedFunction& moved, uint64_t events);
SequenceCause SegmentsCause();

// Drops causes whose settings were tried without effect. After that, the cause of their events
// counts as unknown.
void DropVainCauses(std::vector<SequenceCause>* causes);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_FIDELITY_H_
