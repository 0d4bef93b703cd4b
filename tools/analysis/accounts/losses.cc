#include "tools/analysis/accounts/losses.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "base/typed_event.h"
#include "tools/analysis/accounts/driver_memory.h"

namespace vramstow {
namespace {

// A block that was allocated and not freed yet.
struct Open {
  uint64_t size = 0;
  uint64_t birth = 0;     // number of the event
  uint64_t known_at = 0;  // sequence of the last event that shows that the block was live
  MemoryKind memory = MemoryKind::kNone;
};

class LossFinder {
 public:
  explicit LossFinder(const std::vector<TraceGap>& gaps)
      : gaps_(gaps), begins_(gaps.size(), ~uint64_t{0}) {}

  void Add(const Event& event, std::string_view text) {
    ++events_;
    for (; next_gap_ < gaps_.size() && event.sequence > gaps_[next_gap_].after; ++next_gap_) {
      begins_[next_gap_] = events_;
    }
    if (event.layer == Layer::kFramework) {
      AddFramework(event);
    } else {
      AddMemory(event);
    }
    if (event.kind == EventKind::kMark && text.starts_with("vramstow.holder ")) {
      const auto held = tensors_.find(MarkEvent::Of(event).number);
      if (held != tensors_.end()) Show(held->first, &held->second, event);
    }
  }

  std::vector<Loss> Finish() {
    for (const auto& [address, block] : tensors_) Lose(Layer::kFramework, address, block);
    for (const auto& [address, block] : driver_) Lose(Layer::kDriver, address, block);
    for (const auto& [address, block] : arrays_) Lose(Layer::kDriver, address, block);
    for (const auto& [address, block] : segments_) Lose(Layer::kPool, address, block);
    std::sort(losses_.begin(), losses_.end(), [](const Loss& a, const Loss& b) {
      return a.event != b.event ? a.event < b.event : a.address < b.address;
    });
    return std::move(losses_);
  }

 private:
  Open OpenOf(const Event& event) const {
    return {event.size, events_, event.sequence, event.memory};
  }

  // Records that the event shows that the block, or the memory around the address, is live.
  void Show(uint64_t address, Open* block, const Event& event) {
    block->known_at = event.sequence;
    ShowAround(address, &driver_, event);
    ShowAround(address, &segments_, event);
  }
  static void ShowAround(uint64_t address, std::map<uint64_t, Open>* memory, const Event& event) {
    auto around = memory->upper_bound(address);
    if (around == memory->begin()) return;
    --around;
    if (address - around->first < around->second.size) around->second.known_at = event.sequence;
  }

  void AddFramework(const Event& event) {
    if (event.kind == EventKind::kAllocate && event.result == 0) {
      const auto known = tensors_.find(event.address);
      if (known != tensors_.end()) Lose(Layer::kFramework, event.address, known->second);
      Open& block = tensors_[event.address] = OpenOf(event);
      Show(event.address, &block, event);
    } else if (event.kind == EventKind::kFree) {
      const auto known = tensors_.find(event.address);
      if (known == tensors_.end()) return;
      // Another block at the same address may have been allocated in the gap.
      const bool is_same = event.size == 0 || event.size == known->second.size;
      if (!is_same) Lose(Layer::kFramework, event.address, known->second);
      Show(event.address, &known->second, event);
      tensors_.erase(known);
    }
  }

  void AddMemory(const Event& event) {
    if (event.result != 0 || event.address == 0 || event.memory == MemoryKind::kPhysical ||
        event.memory == MemoryKind::kHostPhysical || event.memory == MemoryKind::kMulticast) {
      return;
    }
    const bool is_pool = event.layer == Layer::kPool;
    const bool is_array = DriverMemory::PlaceOf(event.memory) == BlockPlace::kArrays;
    std::map<uint64_t, Open>& memory = is_pool ? segments_ : is_array ? arrays_ : driver_;
    if (event.kind == EventKind::kAllocate) {
      const auto [known, is_new] = memory.try_emplace(event.address, OpenOf(event));
      if (is_new) return;
      Lose(event.layer, event.address, known->second);
      known->second = OpenOf(event);
    } else if (event.kind == EventKind::kFree) {
      memory.erase(event.address);
    }
  }

  // Adds a loss if the life of the block is unknown from a gap on. The first such gap ends after
  // the last event that shows that the block was live.
  void Lose(Layer layer, uint64_t address, const Open& block) {
    const auto gap = std::upper_bound(
        gaps_.begin(), gaps_.end(), block.known_at,
        [](uint64_t sequence, const TraceGap& one) { return sequence < one.before; });
    if (gap == gaps_.end()) return;
    const uint64_t begin = begins_[static_cast<size_t>(gap - gaps_.begin())];
    if (begin == ~uint64_t{0}) return;  // no event comes after the gap began
    losses_.push_back({std::max(begin, block.birth + 1), address, layer, block.memory});
  }

  const std::vector<TraceGap>& gaps_;
  std::vector<uint64_t> begins_;  // the first event after the beginning of each gap
  size_t next_gap_ = 0;
  uint64_t events_ = 0;
  absl::flat_hash_map<uint64_t, Open> tensors_;  // these tables are by address
  std::map<uint64_t, Open> driver_;
  std::map<uint64_t, Open> arrays_;
  std::map<uint64_t, Open> segments_;
  std::vector<Loss> losses_;
};

}  // namespace

std::vector<Loss> FindLosses(EventSource* source, const std::vector<TraceGap>& gaps) {
  LossFinder finder(gaps);
  Event event;
  while (source->Next(&event)) {
    const bool is_mark = event.kind == EventKind::kMark;
    finder.Add(event, is_mark ? source->MarkText(event) : std::string_view());
  }
  return finder.Finish();
}

std::vector<Loss> FindLossesAhead(EventSource* source) {
  if (!source->Rewind()) return {};
  Event event;
  while (source->Next(&event)) continue;
  const std::vector<TraceGap> gaps = source->Gaps();
  std::vector<Loss> losses;
  source->Rewind();
  if (!gaps.empty()) {
    losses = FindLosses(source, gaps);
    source->Rewind();
  }
  return losses;
}

}  // namespace vramstow
