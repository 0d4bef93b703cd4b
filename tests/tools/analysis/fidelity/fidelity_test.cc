// Tests the comparison of a GPU's allocations with those of a simulated run: where they differ, how
// often, and which setting would explain it.
#include "tools/analysis/fidelity/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace vramstow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kWorkspace = 8519680;

class Builder {
 public:
  Builder& Take(uint64_t bytes) { return Add(false, bytes); }
  Builder& Give(uint64_t bytes) { return Add(true, bytes); }
  // Adds `count` training steps. Each one allocates and frees 20 layers; `inner` adds more items
  // between these.
  template <typename Inner>
  Builder& Steps(int count, Inner inner) {
    for (int i = 0; i < count; ++i) {
      for (uint64_t layer = 1; layer <= 20; ++layer) Take(layer * kMiB);
      inner(*this);
      for (uint64_t layer = 20; layer >= 1; --layer) Give(layer * kMiB);
    }
    return *this;
  }
  // Sets whether the following items are requested by a reduction.
  Builder& By(Reduces reduces) {
    reduces_ = reduces;
    return *this;
  }
  Builder& Segment(uint64_t bytes, bool is_free = false) {
    sequence_.segments.push_back(
        {.items_before = sequence_.items.size(), .is_free = is_free, .bytes = bytes});
    return *this;
  }
  // Adds a call stack that goes through this line of a file of PyTorch's.
  Builder& In(uint32_t line) {
    sequence_.torch_lines.Add({{"step", "train.py", 7},
                               {"Module._call_impl", kModules, line},
                               {"run", "/usr/lib/python3/x-packages/other/run.py", line}});
    return *this;
  }
  AllocationSequence Make() { return sequence_; }

 private:
  static constexpr char kModules[] = "/opt/lib/python3.12/site-packages/torch/nn/modules/module.py";

  Builder& Add(bool is_free, uint64_t bytes) {
    level_ = is_free ? level_ - bytes : level_ + bytes;
    sequence_.items.push_back({is_free, bytes});
    sequence_.levels.push_back(level_);
    sequence_.sites.push_back(is_free ? 0 : 1);
    sequence_.reduces.push_back(is_free ? Reduces::kNo : reduces_);
    sequence_.site_names = {"", "train.py:3 step"};
    return *this;
  }

  AllocationSequence sequence_;
  uint64_t level_ = 0;
  Reduces reduces_ = Reduces::kNo;
};

// Compares a GPU's sequence with a simulated run's. The two are equal except for the blocks `card`
// and `rehearsed` within each step.
FidelityFacts Between(std::vector<uint64_t> card, std::vector<uint64_t> rehearsed,
                      uint64_t multiprocessors = 132) {
  const auto with = [](const std::vector<uint64_t>& sizes) {
    return [sizes](Builder& step) {
      for (const uint64_t bytes : sizes) step.Take(bytes).Give(bytes);
    };
  };
  return CompareSequences(Builder().Steps(5, with(card)).Make(),
                          Builder().Steps(5, with(rehearsed)).Make(), {multiprocessors, {}});
}

SequenceCause OnlyCause(const FidelityFacts& facts) {
  EXPECT_EQ(1u, facts.causes.size());
  return facts.causes.empty() ? SequenceCause() : facts.causes[0];
}

TEST(FidelityTest, WhatIsEqualPartsNowhere) {
  const FidelityFacts facts = Between({1536}, {1536});
  EXPECT_EQ(5u * 42, facts.card_events);
  EXPECT_EQ(facts.card_events, facts.aligned);
  EXPECT_EQ(1.0, facts.AlignedShare());
  EXPECT_TRUE(facts.parts.empty());
  EXPECT_TRUE(facts.causes.empty());
  EXPECT_EQ(210 * kMiB + 1536, facts.card_peak_bytes);
  EXPECT_EQ(facts.card_peak_bytes, facts.rehearsed_peak_bytes);
}

TEST(FidelityTest, TheRecordingOfTheLastStepsIsFoundInTheWholeRun) {
  Builder whole;
  for (uint64_t i = 1; i < 200; ++i) whole.Take(i * 4096);
  const auto nothing = [](Builder&) {};
  const FidelityFacts facts = CompareSequences(Builder().Steps(3, nothing).Make(),
                                               whole.Steps(6, nothing).Make(), {132, {}});
  EXPECT_EQ(1.0, facts.AlignedShare());
  EXPECT_EQ(120u, facts.window_end - facts.window_begin);
  EXPECT_EQ(0u, facts.only_rehearsed);
}

TEST(FidelityTest, SizesThatFollowMultiprocessorsTellHowMany) {
  const FidelityFacts facts = Between({1728}, {1584});
  EXPECT_EQ(10u, facts.only_on_card);
  EXPECT_EQ(10u, facts.only_rehearsed);
  ASSERT_EQ(1u, facts.parts.size());
  EXPECT_EQ(5u, facts.parts[0].times);
  EXPECT_EQ(20u, facts.parts[0].first_event);
  EXPECT_EQ("train.py:3 step", facts.parts[0].card_site);
  const SequenceCause cause = OnlyCause(facts);
  EXPECT_EQ("multiprocessors", cause.setting);
  EXPECT_THAT(cause.specs, ElementsAre("sms=144"));
  EXPECT_EQ(20u, cause.events);
  // If the GPU's number of multiprocessors is unknown, no setting explains the difference.
  EXPECT_EQ("unknown", OnlyCause(Between({1728}, {1584}, 0)).setting);
}

// Makes steps in which a reduction requests a staging block of `staged` bytes; no block if `staged`
// is 0.
Builder Reductions(uint64_t staged, Reduces who = Reduces::kKernel) {
  return Builder().Steps(5, [=](Builder& step) {
    if (staged != 0) step.By(who).Take(staged).Take(32).Give(32).Give(staged).By(Reduces::kNo);
  });
}

TEST(FidelityTest, WhatAReductionAsksForFollowsMultiprocessorsWhateverItsSize) {
  // On a GPU with fewer multiprocessors fewer reductions need a staging block.
  const Multiprocessors cards = {.simulated = 40, .possible = {108, 40, 82}};
  const FidelityFacts staged =
      CompareSequences(Reductions(48 * kMiB).Make(), Reductions(0).Make(), cards);
  EXPECT_EQ("multiprocessors", OnlyCause(staged).setting);
  EXPECT_THAT(OnlyCause(staged).specs, ElementsAre("sms=108", "sms=82"));
  // Sizes of large staging blocks are rounded. So the settings that follow from such sizes are
  // tried last.
  const FidelityFacts larger =
      CompareSequences(Reductions(48 * kMiB).Make(), Reductions(32 * kMiB).Make(), cards);
  EXPECT_EQ("multiprocessors", OnlyCause(larger).setting);
  EXPECT_EQ("sms=108", OnlyCause(larger).specs.front());
  // Here only the operator that requested the block is known, not the kernel. A block that is freed
  // soon is a staging block and not the operator's result.
  const FidelityFacts unnamed = CompareSequences(Reductions(48 * kMiB, Reduces::kOperator).Make(),
                                                 Reductions(0).Make(), cards);
  EXPECT_EQ("multiprocessors", OnlyCause(unnamed).setting);
  const auto result = [](Builder& step) {
    step.By(Reduces::kOperator).Take(48 * kMiB).By(Reduces::kNo);
  };
  EXPECT_EQ("unknown", OnlyCause(CompareSequences(Builder().Steps(5, result).Make(),
                                                  Reductions(0).Make(), cards))
                           .setting);
  // A block of the size of a staging block shows nothing about multiprocessors if it was not
  // requested by a reduction.
  EXPECT_EQ("unknown", OnlyCause(Between({48 * kMiB}, {})).setting);
}

TEST(FidelityTest, WhatWasTriedInVainIsNoCause) {
  std::vector<SequenceCause> causes = {{"multiprocessors", "m", {"sms=1"}, 7, true},
                                       {"precision", "p", {}, 5, false}};
  DropVainCauses(&causes);
  ASSERT_EQ(2u, causes.size());
  EXPECT_EQ("precision", causes[0].setting);
  EXPECT_EQ("unknown", causes[1].setting);
  EXPECT_EQ(7u, causes[1].events);
  causes.insert(causes.begin(), {"card", "c", {"cc=9.0"}, 2, true});
  DropVainCauses(&causes);
  ASSERT_EQ(2u, causes.size());
  EXPECT_EQ(9u, causes[1].events);
}

TEST(FidelityTest, AnotherReleaseIsNamedBeforeAllElse) {
  const auto with = [](uint64_t bytes, uint32_t line) {
    const auto block = [bytes](Builder& step) { step.Take(bytes).Give(bytes); };
    return Builder().Steps(5, block).In(line).Make();
  };
  const FidelityFacts other = CompareSequences(with(1728, 1750), with(1584, 1790), {132, {}});
  ASSERT_TRUE(other.other_release.has_value());
  EXPECT_EQ("torch/nn/modules/module.py", other.other_release->file);
  EXPECT_EQ("_call_impl", other.other_release->function);
  ASSERT_EQ(2u, other.causes.size());
  EXPECT_EQ("release", other.causes[0].setting);
  EXPECT_THAT(other.causes[0].sentence, HasSubstr("line 1750 there and in line 1790"));
  EXPECT_EQ(other.LeftOver(), other.causes[0].events);
  EXPECT_EQ("multiprocessors", other.causes[1].setting);
  // If both runs came from the same source lines of PyTorch, they used the same release. If their
  // sizes do not differ, there is nothing to explain.
  EXPECT_FALSE(CompareSequences(with(1728, 1750), with(1584, 1750), {132, {}}).other_release);
  EXPECT_THAT(CompareSequences(with(64, 1750), with(64, 1790), {132, {}}).causes, IsEmpty());
}

TEST(FidelityTest, SegmentsAreComparedToo) {
  const auto holding = [](std::vector<uint64_t> segments) {
    Builder builder;
    builder.Segment(64 * kMiB);
    for (const uint64_t bytes : segments) builder.Segment(bytes);
    return builder.Steps(2, [](Builder&) {}).Segment(64 * kMiB, true).Take(1).Make();
  };
  const FidelityFacts same =
      CompareSequences(holding({20 * kMiB}), holding({20 * kMiB}), {132, {}});
  EXPECT_TRUE(same.held.is_known);
  EXPECT_TRUE(same.held.IsEqual());
  EXPECT_EQ(84 * kMiB, same.held.card_peak_bytes);
  EXPECT_EQ(1u, same.held.card_segments);
  EXPECT_THAT(same.causes, IsEmpty());
  const FidelityFacts other =
      CompareSequences(holding({20 * kMiB, 2 * kMiB, 2 * kMiB}), holding({22 * kMiB}), {132, {}});
  EXPECT_EQ(1.0, other.AlignedShare());
  EXPECT_EQ(88 * kMiB, other.held.card_peak_bytes);
  EXPECT_EQ(86 * kMiB, other.held.rehearsed_peak_bytes);
  EXPECT_THAT(other.held.only_on_card, ElementsAre(Pair(2 * kMiB, 2), Pair(20 * kMiB, 1)));
  EXPECT_THAT(other.held.only_rehearsed, ElementsAre(Pair(22 * kMiB, 1)));
  EXPECT_EQ("allocator", OnlyCause(other).setting);
  // Without segments in a recording, reserved memory is not compared.
  EXPECT_FALSE(Between({1536}, {1536}).held.is_known);
}

TEST(FidelityTest, HalvesAndDoublesAreAPrecision) {
  const SequenceCause lower = OnlyCause(Between({kMiB / 2 + 64}, {kMiB + 128}));
  EXPECT_EQ("precision", lower.setting);
  EXPECT_THAT(lower.sentence, HasSubstr("the real GPU ran in a lower precision"));
  const SequenceCause higher = OnlyCause(Between({2 * kMiB + 256}, {kMiB + 128}));
  EXPECT_THAT(higher.sentence, HasSubstr("the simulated run uses a lower precision"));
}

TEST(FidelityTest, WorkspacesTellTheCardOrTheRelease) {
  EXPECT_EQ("release", OnlyCause(Between({}, {kWorkspace})).setting);
  EXPECT_EQ("workspace", OnlyCause(Between({kWorkspace}, {})).setting);
  const SequenceCause card = OnlyCause(Between({32 * kMiB}, {kWorkspace}));
  EXPECT_EQ("card", card.setting);
  EXPECT_THAT(card.specs, ElementsAre("cc=9.0"));
  EXPECT_THAT(OnlyCause(Between({kWorkspace}, {32 * kMiB})).specs, IsEmpty());
}

TEST(FidelityTest, SmallBlocksOfOneSideAreWorkspacesOfLibraries) {
  EXPECT_EQ("library_workspace", OnlyCause(Between({51200}, {})).setting);
  EXPECT_EQ("unknown", OnlyCause(Between({77 * kMiB}, {})).setting);
}

TEST(FidelityTest, WhatHasNothingInCommonIsNotAligned) {
  const FidelityFacts facts = CompareSequences(Builder().Take(1).Take(2).Make(),
                                               Builder().Take(3).Take(4).Make(), {132, {}});
  EXPECT_EQ(0u, facts.aligned);
  EXPECT_EQ(2u, facts.only_on_card);
  EXPECT_EQ(2u, facts.only_rehearsed);
  EXPECT_EQ(0.0, CompareSequences({}, {}, {}).AlignedShare());
}

}  // namespace
}  // namespace vramstow
