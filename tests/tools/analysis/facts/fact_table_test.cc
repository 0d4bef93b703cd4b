// Tests the tables of facts: they list every member of every struct of facts exactly once. Tests
// also the output that is made from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tools/analysis/facts/fact_names.h"
#include "tools/analysis/facts/fact_tables.h"

namespace vramstow {
namespace {

// Converts to the type of any member, but not to the struct itself.
template <typename Struct>
struct Anything {
  template <typename Member>
  requires(!std::is_same_v<Member, Struct>) operator Member&() const;
  template <typename Member>
  requires(!std::is_same_v<Member, Struct>) operator Member&&() const;
};
template <typename Struct, size_t>
using AnythingAt = Anything<Struct>;

// True if `Struct` can be initialised with as many values as there are indices.
template <typename Struct, size_t... indices>
constexpr bool CanBeMadeOf(std::index_sequence<indices...>) {
  return requires { Struct{AnythingAt<Struct, indices>()...}; };
}

// Returns how many members an aggregate has: the most values that it can be initialised with.
template <typename Struct, size_t most = 64>
constexpr size_t MemberCount() {
  if constexpr (CanBeMadeOf<Struct>(std::make_index_sequence<most>())) {
    return most;
  } else {
    return MemberCount<Struct, most - 1>();
  }
}

struct Three {
  int one = 0;
  std::vector<std::string> two;
  std::optional<uint64_t> three;
};
static_assert(MemberCount<Three>() == 3);

// The offsets in a struct of the members that the table's entries name.
class Members {
 public:
  template <typename Struct, typename Entry>
  void Add(const Struct& self, const Entry& entry) {
    if constexpr (requires { entry.entries; }) {
      std::apply([&](const auto&... inner) { (Add(self, inner), ...); }, entry.entries);
    } else if constexpr (requires { entry.member; }) {
      const auto* member = reinterpret_cast<const char*>(&(self.*entry.member));
      const auto place = member - reinterpret_cast<const char*>(&self);
      EXPECT_TRUE(places_.insert(place).second) << "two entries for the member at " << place;
    }
  }
  size_t count() const { return places_.size(); }

 private:
  std::set<ptrdiff_t> places_;
};

template <typename Struct>
class FactTable : public testing::Test {};

using AllStructs = testing::Types<
    Amount, ReadReport, TallyFacts, Counts, OffloadSite, OffloadFacts, LaunchedFacts, LaunchesFacts,
    Peak, BlockFacts, HistogramRow, TimelinePoint, TimelineFacts, DeviceFacts, LiveFacts,
    FreeMemory, HoleFacts, FragmentationFacts::Stream, FragmentationFacts, OutOfMemoryFacts,
    SiteFacts, CategoryFacts, SnapshotStateFacts::Pool, SnapshotStateFacts, IterationFacts,
    IterationsFacts, ModelClockFacts, GrowthFacts, SiteHourFacts, CategoryHourFacts, HourFacts,
    LifetimeFacts, ChurnSite, ChurnFacts, FlushFacts, CacheFacts, HostFacts, ChangeFacts,
    BeforePeakFacts, AdviceFacts, Facts, RankFigure, RankSite, RankComparison>;
TYPED_TEST_SUITE(FactTable, AllStructs);

TYPED_TEST(FactTable, HasEveryMemberOnce) {
  const TypeParam self = {};
  Members members;
  ForEachEntry<TypeParam>([&](const auto& entry) { members.Add(self, entry); });
  EXPECT_EQ(members.count(), MemberCount<TypeParam>());
}

TYPED_TEST(FactTable, SaysWhatEachFactMeans) {
  ForEachEntry<TypeParam>([](const auto& entry) {
    if constexpr (requires { entry.meaning; }) {
      EXPECT_FALSE(entry.meaning.empty());
    }
  });
}

TEST(FactNames, ShortNamesArePaths) {
  EXPECT_EQ(PathOfFact("peak_allocated"), "peak.allocated_bytes");
  EXPECT_EQ(PathOfFact("fragmentation"), "fragmentation.peak_reserved_over_allocated");
  EXPECT_EQ(PathOfFact("live_at_end"), "leaks.device_bytes");
  EXPECT_EQ(PathOfFact("steady_between"), "steady.between_bytes");
  EXPECT_EQ(PathOfFact("iterations"), "iterations_found.count");
  EXPECT_EQ(PathOfFact("peak.time_ns"), "peak.time_ns");
}

TEST(FactNames, ComparedFactsAreInOrder) {
  EXPECT_THAT(
      ComparedFacts(),
      testing::ElementsAre("peak.allocated_bytes", "peak.reserved_bytes", "peak.requested_bytes",
                           "fragmentation.unusable_bytes_at_peak", "steady.peak_bytes",
                           "steady.between_bytes", "leaks.device_bytes", "counts.allocations",
                           "counts.out_of_memory", "model_clock.step_seconds"));
}

TEST(FactNames, ListedPeaksHaveTheirBytes) {
  Peak peak;
  peak.managed_bytes = 7;
  EXPECT_THAT(ListedPeaks(peak), testing::Contains(testing::Pair("managed memory", 7u)));
}

}  // namespace
}  // namespace vramstow
