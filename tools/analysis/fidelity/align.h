// Align: what two sequences have in common, in the same order.
//
// Idea: Myers' difference algorithm in its form that keeps no history: it finds the middle of a
// shortest edit and goes on with both halves. Sequences that are nearly alike cost little. What
// costs too much is aligned greedily: after a difference both go on where they next agree for a
// while. So the result is always right, and not always the longest.
//
// FindWindow comes first where the left one is only a part of what the right one tells: it looks
// for the place where most short stretches of the left one occur.
//
// Ownership: refers to the caller's numbers while it runs. Threads: pure functions. Errors: none.
// Memory: a few words for each element. Time: bounded by `most_steps`.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_ALIGN_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_ALIGN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vramstow {

// A stretch that is equal: left[left_begin + i] == right[right_begin + i].
struct EqualRun {
  size_t left_begin = 0;
  size_t right_begin = 0;
  size_t length = 0;
  bool operator==(const EqualRun&) const = default;
};

struct Alignment {
  std::vector<EqualRun> runs;  // in order, none empty, none that touches the next
  size_t matched = 0;          // the sum of their lengths
  bool is_longest = true;      // false: some stretches were aligned greedily
};

inline constexpr uint64_t kMaxAlignSteps = 400'000'000;  // some seconds

Alignment Align(std::span<const uint64_t> left, std::span<const uint64_t> right,
                uint64_t most_steps = kMaxAlignSteps);

struct SequenceWindow {
  size_t begin = 0;
  size_t end = 0;
};

// The last place in `right` where all of `left` stands, without a gap; none: there is no such
// place. Job and card repeat a pass, and most stretches of one pass stand in the others, too: what
// is equal as a whole goes before what is alike in parts.
std::optional<SequenceWindow> FindWhole(std::span<const uint64_t> left,
                                        std::span<const uint64_t> right);

// The part of `right` that `left` seems to tell, with some room at both ends; all of it where
// nothing points to a place.
SequenceWindow FindWindow(std::span<const uint64_t> left, std::span<const uint64_t> right);

// The same without the room: of the places where `left` may begin and end, those that leave least
// over on both sides. The window as it is where the two differ too much to judge that soon.
SequenceWindow NarrowWindow(std::span<const uint64_t> left, std::span<const uint64_t> right,
                            SequenceWindow window);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_ALIGN_H_
