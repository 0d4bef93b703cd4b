#include "tools/analysis/fidelity/fidelity.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/fidelity/align.h"
#include "tools/analysis/pass/call_stack.h"

namespace vramstow {
namespace {

// Gives sites numbers, by their call stacks.
class SiteNames {
 public:
  explicit SiteNames(const EventSource& source) : source_(source), names_(1) {}

  uint32_t NumberOf(uint32_t stack) {
    if (stack == 0) return 0;
    const auto [known, is_new] = by_stack_.try_emplace(stack, 0);
    if (is_new) {
      const std::string name = WordsOf(source_.Frames(stack)).site;
      const auto [number, added] = by_name_.try_emplace(name, static_cast<uint32_t>(names_.size()));
      if (added) names_.push_back(name);
      known->second = number->second;
    }
    return known->second;
  }
  std::vector<std::string> Take() { return std::move(names_); }

 private:
  const EventSource& source_;
  absl::flat_hash_map<uint32_t, uint32_t> by_stack_;
  std::map<std::string, uint32_t> by_name_;
  std::vector<std::string> names_;
};

// One device's sequence while it is read.
struct DeviceSequence {
  AllocationSequence sequence;
  uint64_t level = 0;
};

std::vector<uint64_t> KeysOf(const AllocationSequence& sequence) {
  std::vector<uint64_t> keys;
  keys.reserve(sequence.items.size());
  for (const SequenceItem& item : sequence.items) {
    keys.push_back(item.bytes << 1 | (item.is_free ? 1 : 0));
  }
  return keys;
}

// The highest of levels [begin, end), with the one before.
uint64_t HighestOf(const AllocationSequence& sequence, size_t begin, size_t end) {
  uint64_t highest = begin == 0 ? sequence.level_before : sequence.levels[begin - 1];
  for (size_t i = begin; i < end; ++i) highest = std::max(highest, sequence.levels[i]);
  return highest;
}

// Runs at the ends that belong to something else: a few equal events with a long way to the next.
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

class Comparison {
 public:
  Comparison(const AllocationSequence& card, const AllocationSequence& rehearsed)
      : card_(card), rehearsed_(rehearsed) {}

  FidelityFacts Run(uint64_t multiprocessors) {
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
    facts_.causes = CausesOf(facts_.parts, multiprocessors);
    if (facts_.parts.size() > kMostSequenceParts) {
      facts_.parts_left_out = facts_.parts.size() - kMostSequenceParts;
      facts_.parts.resize(kMostSequenceParts);
    }
    return std::move(facts_);
  }

 private:
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
    SequencePart part{.on_card = items(card_, left, left_end),
                      .rehearsed = items(rehearsed_, right, right_end),
                      .times = 0,
                      .first_event = left,
                      .card_site = SiteAt(card_, left, left_end),
                      .rehearsed_site = SiteAt(rehearsed_, right, right_end)};
    const auto what = std::make_pair(part.on_card, part.rehearsed);
    ++parts_.try_emplace(what, std::move(part)).first->second.times;
  }

  // The site of the first allocation of a range; frees have no site of their own.
  static std::string SiteAt(const AllocationSequence& sequence, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (sequence.sites[i] != 0) return sequence.site_names[sequence.sites[i]];
    }
    return "";
  }

  const AllocationSequence& card_;
  const AllocationSequence& rehearsed_;
  FidelityFacts facts_;
  std::map<std::pair<std::vector<SequenceItem>, std::vector<SequenceItem>>, SequencePart> parts_;
};

}  // namespace

AllocationSequence SequenceOf(EventSource* source) {
  SiteNames sites(*source);
  std::map<int16_t, DeviceSequence> devices;
  Event event;
  while (source->Next(&event)) {
    const bool is_free = event.kind == EventKind::kFree;
    if (event.layer != Layer::kFramework || event.result != 0) continue;
    if (!is_free && event.kind != EventKind::kAllocate) continue;
    DeviceSequence& device = devices[event.device];
    // The requested size, because a snapshot knows the rounding only of blocks that are still live.
    const uint64_t bytes = event.requested == 0 ? event.size : event.requested;
    device.level = is_free ? device.level - std::min(device.level, bytes) : device.level + bytes;
    AllocationSequence& sequence = device.sequence;
    if (source->OpeningCall() == event.call) {
      sequence.level_before = device.level;
      continue;
    }
    sequence.items.push_back({is_free, bytes});
    sequence.levels.push_back(device.level);
    sequence.sites.push_back(is_free ? 0 : sites.NumberOf(source->Stack()));
  }
  DeviceSequence* most = nullptr;
  for (auto& [number, device] : devices) {
    if (most == nullptr || device.sequence.items.size() > most->sequence.items.size()) {
      most = &device;
    }
  }
  if (most == nullptr) return {};
  most->sequence.site_names = sites.Take();
  return std::move(most->sequence);
}

FidelityFacts CompareSequences(const AllocationSequence& card, const AllocationSequence& rehearsed,
                               uint64_t multiprocessors) {
  return Comparison(card, rehearsed).Run(multiprocessors);
}

}  // namespace vramstow
