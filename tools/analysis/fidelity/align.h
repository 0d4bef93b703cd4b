// Align: finds a common subsequence of two sequences.
//
// Idea: Myers' difference algorithm in its linear-space form: it finds the middle of a shortest
// edit script and continues with both halves. Sequences that are nearly equal cost little. If the
// algorithm would cost too much, a greedy alignment is used: after a difference, both sequences
// continue at the next position where they agree for a while. So the result is always a common
// subsequence, and not always the longest one.
//
// If the left sequence corresponds only to a part of the right one, call FindWindow first: it finds
// the range in which most short stretches of the left sequence occur.
//
// Ownership: refers to the caller's numbers during the call. Threads: pure functions, callable from
// any thread. Errors: none. Memory: a few words for each element. Time: bounded by `most_steps`.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_ALIGN_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_ALIGN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vramstow {

// An equal stretch: left[left_begin + i] == right[right_begin + i].
struct EqualRun {
  size_t left_begin = 0;
  size_t right_begin = 0;
  size_t length = 0;
  bool operator==(const EqualRun&) const = default;
};

struct Alignment {
  std::vector<EqualRun> runs;  // in order, not empty, not adjacent
  size_t matched = 0;          // the sum of their lengths
  bool is_longest = true;      // false if some stretches were aligned greedily
};

inline constexpr uint64_t kMaxAlignSteps = 400'000'000;  // some seconds

Alignment Align(std::span<const uint64_t> left, std::span<const uint64_t> right,
                uint64_t most_steps = kMaxAlignSteps);

struct SequenceWindow {
  size_t begin = 0;
  size_t end = 0;
};

// Returns the last position in `right` where all of `left` occurs without a gap; nullopt if there
// is none. Call it before FindWindow: a job repeats its iterations, so most short stretches of one
// iteration also occur in others, and only an exact match of the whole is certain.
std::optional<SequenceWindow> FindWhole(std::span<const uint64_t> left,
                                        std::span<const uint64_t> right);

// Returns the part of `right` that seems to correspond to `left`, with a margin at both ends.
// Returns all of `right` if there is no evidence for a part.
SequenceWindow FindWindow(std::span<const uint64_t> left, std::span<const uint64_t> right);

// Removes the margin: returns the begin and end of `left` in `right` that leave the fewest
// unmatched elements on both sides. Returns the window unchanged if the sequences differ too much
// to judge.
SequenceWindow NarrowWindow(std::span<const uint64_t> left, std::span<const uint64_t> right,
                            SequenceWindow window);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_ALIGN_H_
