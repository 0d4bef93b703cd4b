#include "tools/analysis/fidelity/fidelity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "tools/analysis/fidelity/align.h"

namespace vramstow {
namespace {

std::vector<uint64_t> KeysOf(const AllocationSequence& sequence) {
  std::vector<uint64_t> keys;
  keys.reserve(sequence.items.size());
  for (const SequenceItem& item : sequence.items) {
    keys.push_back(item.bytes << 1 | (item.is_free ? 1 : 0));
  }
  return keys;
}

// Returns the highest level in [begin, end), or the level before `begin` if that is higher.
uint64_t HighestOf(const AllocationSequence& sequence, size_t begin, size_t end) {
  uint64_t highest = begin == 0 ? sequence.level_before : sequence.levels[begin - 1];
  for (size_t i = begin; i < end; ++i) highest = std::max(highest, sequence.levels[i]);
  return highest;
}

// Removes runs at both ends that match only by chance. Such a run consists of a few equal events
// far from the next run.
void TrimEnds(std::vector<EqualRun>* runs) {
  constexpr size_t kLonely = 4;
  const auto gap = [](const EqualRun& a, const EqualRun& b) {
    return b.right_begin - (a.right_begin + a.length);
  };
  size_t first = 0;
  size_t last = runs->size();
  while (last - first > 1 &&
         gap((*runs)[first], (*runs)[first + 1]) > kLonely * (*runs)[first].length) {
    ++first;
  }
  while (last - first > 1 &&
         gap((*runs)[last - 2], (*runs)[last - 1]) > kLonely * (*runs)[last - 1].length) {
    --last;
  }
  *runs = std::vector<EqualRun>(runs->begin() + static_cast<ptrdiff_t>(first),
                                runs->begin() + static_cast<ptrdiff_t>(last));
}

// Returns the elements that are more frequent in `left` than in `right`, each with the difference
// of its counts.
std::map<uint64_t, uint64_t> MoreIn(const std::map<uint64_t, uint64_t>& left,
                                    const std::map<uint64_t, uint64_t>& right) {
  std::map<uint64_t, uint64_t> more;
  for (const auto& [size, count] : left) {
    const auto other = right.find(size);
    const uint64_t there = other == right.end() ? 0 : other->second;
    if (count > there) more[size] = count - there;
  }
  return more;
}

class Comparison {
 public:
  Comparison(const AllocationSequence& card, const AllocationSequence& rehearsed)
      : card_(card), rehearsed_(rehearsed) {}

  FidelityFacts Run(const Multiprocessors& multiprocessors) {
    const std::vector<uint64_t> left = KeysOf(card_);
    const std::vector<uint64_t> right = KeysOf(rehearsed_);
    const std::optional<SequenceWindow> whole = FindWhole(left, right);
    const SequenceWindow window =
        whole ? *whole : NarrowWindow(left, right, FindWindow(left, right));
    Alignment alignment =
        Align(left, std::span(right).subspan(window.begin, window.end - window.begin));
    for (EqualRun& run : alignment.runs) run.right_begin += window.begin;
    TrimEnds(&alignment.runs);
    facts_.card_events = left.size();
    facts_.rehearsed_events = right.size();
    facts_.is_longest = alignment.is_longest;
    facts_.window_begin = window.begin;
    facts_.window_end = window.end;
    if (!alignment.runs.empty()) {
      facts_.window_begin = alignment.runs.front().right_begin;
      facts_.window_end = alignment.runs.back().right_begin + alignment.runs.back().length;
    }
    FindParts(alignment.runs);
    facts_.card_peak_bytes = HighestOf(card_, 0, left.size());
    facts_.rehearsed_peak_bytes = HighestOf(rehearsed_, facts_.window_begin, facts_.window_end);
    for (auto& [what, part] : parts_) facts_.parts.push_back(std::move(part));
    std::ranges::stable_sort(facts_.parts, std::ranges::greater(), [](const SequencePart& part) {
      return part.times * (part.on_card.size() + part.rehearsed.size());
    });
    CompareHeld();
    facts_.other_release = TorchLines::FirstMoved(card_.torch_lines, rehearsed_.torch_lines);
    FindCauses(multiprocessors);
    if (facts_.parts.size() > kMaxSequenceParts) {
      facts_.parts_left_out = facts_.parts.size() - kMaxSequenceParts;
      facts_.parts.resize(kMaxSequenceParts);
    }
    return std::move(facts_);
  }

 private:
  void CompareHeld() {
    const ReservedMemory card = ReservedWithin(card_, 0, card_.items.size());
    const ReservedMemory rehearsed =
        ReservedWithin(rehearsed_, facts_.window_begin, facts_.window_end);
    HeldMemory& held = facts_.held;
    held.is_known = card.is_known && rehearsed.is_known;
    if (!held.is_known) return;
    held.has_parts = card.has_parts || rehearsed.has_parts;
    held.card_peak_bytes = card.peak_bytes;
    held.rehearsed_peak_bytes = rehearsed.peak_bytes;
    held.card_segments = card.Count();
    held.rehearsed_segments = rehearsed.Count();
    if (held.has_parts) return;
    held.only_on_card = MoreIn(card.segments, rehearsed.segments);
    held.only_rehearsed = MoreIn(rehearsed.segments, card.segments);
  }

  // Another release of PyTorch comes before all other causes, because it affects all the data that
  // the rules below use.
  void FindCauses(const Multiprocessors& multiprocessors) {
    facts_.causes = CausesOf(facts_.parts, multiprocessors);
    const bool differs = facts_.LeftOver() > 0 || !facts_.held.IsEqual();
    if (facts_.other_release.has_value() && differs) {
      facts_.causes.insert(facts_.causes.begin(),
                           ReleaseCause(*facts_.other_release, facts_.LeftOver()));
    } else if (facts_.LeftOver() == 0 && differs) {
      facts_.causes.push_back(SegmentsCause());
    }
  }

  void FindParts(const std::vector<EqualRun>& runs) {
    size_t left = 0;
    size_t right = facts_.window_begin;
    for (const EqualRun& run : runs) {
      facts_.aligned += run.length;
      Add(left, run.left_begin, right, run.right_begin);
      left = run.left_begin + run.length;
      right = run.right_begin + run.length;
    }
    Add(left, card_.items.size(), right, facts_.window_end);
  }

  void Add(size_t left, size_t left_end, size_t right, size_t right_end) {
    if (left == left_end && right == right_end) return;
    facts_.only_on_card += left_end - left;
    facts_.only_rehearsed += right_end - right;
    const auto items = [](const AllocationSequence& of, size_t begin, size_t end) {
      return std::vector<SequenceItem>(of.items.begin() + static_cast<ptrdiff_t>(begin),
                                       of.items.begin() + static_cast<ptrdiff_t>(end));
    };
    SequencePart part{
        .on_card = items(card_, left, left_end),
        .rehearsed = items(rehearsed_, right, right_end),
        .times = 0,
        .first_event = left,
        .card_site = SiteAt(card_, left, left_end),
        .rehearsed_site = SiteAt(rehearsed_, right, right_end),
        .stages = Stages(card_, left, left_end) && Stages(rehearsed_, right, right_end)};
    const auto what = std::make_pair(part.on_card, part.rehearsed);
    ++parts_.try_emplace(what, std::move(part)).first->second.times;
  }

  // Returns the call site of the first allocation in a range. Frees have no call site.
  static std::string SiteAt(const AllocationSequence& sequence, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (sequence.sites[i] != 0) return sequence.site_names[sequence.sites[i]];
    }
    return "";
  }

  // True if all allocations of a range are staging memory of reductions. If only the operator is
  // known and not its kernel, an allocation counts as staging memory only if it is freed within the
  // range, because results stay live.
  static bool Stages(const AllocationSequence& sequence, size_t begin, size_t end) {
    std::multiset<uint64_t> live;
    bool names_kernels = true;
    for (size_t i = begin; i < end; ++i) {
      const SequenceItem& item = sequence.items[i];
      if (item.is_free) {
        const auto known = live.find(item.bytes);
        if (known != live.end()) live.erase(known);
        continue;
      }
      if (sequence.reduces[i] == Reduces::kNo) return false;
      names_kernels &= sequence.reduces[i] == Reduces::kKernel;
      live.insert(item.bytes);
    }
    return names_kernels || live.empty();
  }

  const AllocationSequence& card_;
  const AllocationSequence& rehearsed_;
  FidelityFacts facts_;
  std::map<std::pair<std::vector<SequenceItem>, std::vector<SequenceItem>>, SequencePart> parts_;
};

}  // namespace

FidelityFacts CompareSequences(const AllocationSequence& card, const AllocationSequence& rehearsed,
                               const Multiprocessors& multiprocessors) {
  return Comparison(card, rehearsed).Run(multiprocessors);
}

}  // namespace vramstow
