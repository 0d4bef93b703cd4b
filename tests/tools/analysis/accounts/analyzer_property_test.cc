// Compares the analyzer with the naive model on random histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/tools/analysis/accounts/naive_model.h"
#include "tests/tools/list_source.h"

namespace vramstow {
namespace {

constexpr uint16_t kLibraries = 5;

// Makes histories as a driver could produce them: addresses are reused, frees are refused, blocks
// from before the trace are freed, physical memory is shared, retained and released in any order.
class HistoryMaker {
 public:
  explicit HistoryMaker(uint64_t seed) : random_(seed) {}

  History Make(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    return history_;
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  template <typename T>
  T RemoveAny(std::vector<T>* from) {
    const size_t index = Below(from->size());
    T taken = (*from)[index];
    from->erase(from->begin() + static_cast<ptrdiff_t>(index));
    return taken;
  }

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Allocate();
      case 4:
      case 5:
        return Free();
      case 6:
        return CreatePhysical();
      case 7:
        return Map();
      case 8:
        return Unmap();
      case 9:
        return Release();
      case 10:
        return Range();
      default:
        return Oddity();
    }
  }

  void Allocate() {
    static constexpr MemoryKind kKinds[] = {MemoryKind::kDevice, MemoryKind::kDeviceStream,
                                            MemoryKind::kManaged, MemoryKind::kHostPinned};
    uint64_t address = 0;
    if (!free_addresses_.empty() && Below(2) == 0) {
      address = RemoveAny(&free_addresses_);
    } else {
      address = next_address_++;
    }
    const uint64_t size = Below(1000) + 1;
    history_.Add({.address = address,
                  .size = size,
                  .requested = Below(2) == 0 ? 0 : Below(size) + 1,
                  .device = static_cast<int16_t>(Below(2)),
                  .call = 1,
                  .library = static_cast<uint16_t>(Below(kLibraries)),
                  .kind = EventKind::kAllocate,
                  .memory = kKinds[Below(4)]});
    addresses_.push_back(address);
  }

  void Free() {
    if (Below(10) == 0) {
      history_.Free(0xdead0000 + Below(100));
      return;
    }
    if (addresses_.empty()) return;
    const uint64_t address = RemoveAny(&addresses_);
    const uint64_t sequence = history_.Free(address);
    if (Below(5) != 0) {
      free_addresses_.push_back(address);
      return;
    }
    // Other threads allocate while the driver handles the call.
    for (uint64_t i = Below(3); i > 0; --i) Allocate();
    history_.Refuse(sequence);
    addresses_.push_back(address);
  }

  void CreatePhysical() {
    const uint64_t handle = next_handle_++;
    history_.Allocate(handle, Below(3000) + 1, MemoryKind::kPhysical,
                      static_cast<uint16_t>(Below(kLibraries)));
    handles_.push_back(handle);
  }

  void Release() {
    if (handles_.empty()) return;
    const uint64_t handle = RemoveAny(&handles_);
    const uint64_t sequence = history_.Free(handle, MemoryKind::kPhysical);
    if (Below(4) != 0) return;
    history_.Refuse(sequence);
    handles_.push_back(handle);
  }

  void Map() {
    if (handles_.empty()) return;
    const uint64_t address = Below(NaiveModel::kSpace / 16) * 16;
    for (const auto& [other, size] : mappings_) {
      if (address < other + size && other < address + 48) return;
    }
    const uint64_t size = (Below(3) + 1) * 16;
    history_.Map(address, size, handles_[Below(handles_.size())]);
    mappings_[address] = size;
  }

  void Unmap() {
    if (mappings_.empty()) return;
    const uint64_t from = Below(NaiveModel::kSpace);
    const uint64_t size = Below(300) + 16;
    const uint64_t sequence = history_.Unmap(from, size);
    if (Below(4) == 0) {
      history_.Refuse(sequence);
      return;
    }
    std::erase_if(mappings_, [&](const auto& mapping) {
      return mapping.first >= from && mapping.first + mapping.second <= from + size;
    });
  }

  void Range() {
    constexpr uint64_t kRange = 512;
    const uint64_t address = Below(NaiveModel::kSpace / kRange) * kRange;
    if (!ranges_.contains(address)) {
      history_.Reserve(address, kRange);
      ranges_.insert(address);
    } else if (Below(3) == 0) {
      const uint64_t sequence = history_.Unreserve(address, kRange);
      if (Below(2) == 0) {
        history_.Refuse(sequence);
      } else {
        ranges_.erase(address);
      }
    }
  }

  void Oddity() {
    if (Below(2) == 0) {
      history_.Add({.address = next_address_,
                    .size = 77,
                    .result = static_cast<int32_t>(Below(3)) + 1,
                    .kind = EventKind::kAllocate,
                    .memory = MemoryKind::kHostPinned});
    } else {
      history_.Add({.kind = EventKind::kPeerAccess});
    }
  }

  std::mt19937_64 random_;
  History history_;
  uint64_t next_address_ = 0x10000;
  uint64_t next_handle_ = 1;
  std::vector<uint64_t> addresses_;
  std::vector<uint64_t> free_addresses_;
  std::vector<uint64_t> handles_;
  std::map<uint64_t, uint64_t> mappings_;
  std::set<uint64_t> ranges_;
};

class RandomHistory : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomHistory, GivesTheNumbersOfTheNaiveModel) {
  for (uint64_t seed = GetParam() * 50; seed < GetParam() * 50 + 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const History history = HistoryMaker(seed).Make(static_cast<int>(seed % 7) * 60 + 5);
    NaiveModel naive;
    for (const Event& event : history.events()) naive.Add(event);
    const Facts facts = history.Analyze();
    ASSERT_EQ(facts.counts.allocations, naive.allocations);
    ASSERT_EQ(facts.counts.frees, naive.frees);
    ASSERT_EQ(facts.counts.frees_of_unseen, naive.unseen);
    ASSERT_EQ(facts.counts.frees_missed, 0u);
    ASSERT_EQ(facts.peak.allocated_bytes, naive.peak);
    ASSERT_EQ(facts.peak.sequence, naive.peak_sequence);
    ASSERT_EQ(facts.peak.requested_bytes, naive.peak_requested);
    ASSERT_EQ(facts.live.device.bytes, naive.Allocated());
    for (uint16_t library = 0; library < kLibraries; ++library) {
      const TallyFacts* tally =
          Find(facts.by_library, "library-" + std::to_string(library) + ".so");
      const Amount nothing;
      ASSERT_EQ(tally == nullptr ? nothing : tally->at_peak, naive.OfLibraryAtPeak(library));
      ASSERT_EQ(tally == nullptr ? nothing : tally->at_end, naive.OfLibrary(library));
    }
    std::vector<uint64_t> sizes = naive.SizesAtPeak();
    sizes.resize(std::min(sizes.size(), kMaxBlocksAtPeak));
    std::vector<uint64_t> reported;
    for (const BlockFacts& block : facts.largest_at_peak) reported.push_back(block.size);
    ASSERT_EQ(reported, sizes);
    const FreeMemory free = naive.Free(facts.fragmentation.largest_request_bytes);
    ASSERT_EQ(facts.fragmentation.at_end.free_bytes, free.free_bytes);
    ASSERT_EQ(facts.fragmentation.at_end.largest_bytes, free.largest_bytes);
    ASSERT_EQ(facts.fragmentation.at_end.unusable_bytes, free.unusable_bytes);
    uint64_t highest = 0;
    for (const TimelinePoint& point : facts.timeline.points) {
      highest = std::max(highest, point.allocated_highest);
    }
    ASSERT_EQ(highest, naive.peak) << "the timeline has lost the peak";
    ASSERT_EQ(facts.timeline.points.back().allocated_last, naive.Allocated());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistory, testing::Range<uint64_t>(0, 20));

// Whatever a file contains, the analysis ends and gives a result.
TEST(RandomEvents, OfAnyKindAndWithAnyNumbersDoNoHarm) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Event> events;
    for (int i = 0; i < 300; ++i) {
      Event event;
      const auto number = [&random] { return random() >> (random() % 64); };
      event.sequence = number();
      event.time_ns = number();
      event.address = random() % 3 == 0 ? random() : random() % 64 * 16;
      event.size = random() % 3 == 0 ? number() : random() % 128;
      event.requested = number();
      event.object = random() % 64;
      event.offset = number();
      event.thread = static_cast<uint32_t>(random() % 3);
      event.result = random() % 4 == 0 ? static_cast<int32_t>(random()) : 0;
      event.device = static_cast<int16_t>(random() % 5 == 0 ? random() : random() % 2);
      event.call = static_cast<uint16_t>(random() % 16);
      event.library = static_cast<uint16_t>(random() % 16);
      event.kind = static_cast<EventKind>(random() % 40);
      event.memory = static_cast<MemoryKind>(random() % 15);
      events.push_back(event);
    }
    ListSource source(events);
    const Facts facts = Analyze(&source, "");
    EXPECT_LE(facts.timeline.points.size(), 512u);
  }
}

}  // namespace
}  // namespace vramstow
