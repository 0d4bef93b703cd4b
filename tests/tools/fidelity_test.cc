// A card's sequence beside a rehearsal's: where they part, how often, and what would explain it.
#include "tools/analysis/fidelity/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace vramstow {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kWorkspace = 8519680;

class Builder {
 public:
  Builder& Take(uint64_t bytes) { return Add(false, bytes); }
  Builder& Give(uint64_t bytes) { return Add(true, bytes); }
  // Steps of a training, each with what `inner` adds.
  template <typename Inner>
  Builder& Steps(int count, Inner inner) {
    for (int i = 0; i < count; ++i) {
      for (uint64_t layer = 1; layer <= 20; ++layer) Take(layer * kMiB);
      inner(*this);
      for (uint64_t layer = 20; layer >= 1; --layer) Give(layer * kMiB);
    }
    return *this;
  }
  AllocationSequence Make() { return sequence_; }

 private:
  Builder& Add(bool is_free, uint64_t bytes) {
    level_ = is_free ? level_ - bytes : level_ + bytes;
    sequence_.items.push_back({is_free, bytes});
    sequence_.levels.push_back(level_);
    sequence_.sites.push_back(is_free ? 0 : 1);
    sequence_.site_names = {"", "train.py:3 step"};
    return *this;
  }

  AllocationSequence sequence_;
  uint64_t level_ = 0;
};

// Both do the same but for a block within each step.
FidelityFacts Between(std::vector<uint64_t> card, std::vector<uint64_t> rehearsed,
                      uint64_t multiprocessors = 132) {
  const auto with = [](const std::vector<uint64_t>& sizes) {
    return [sizes](Builder& step) {
      for (const uint64_t bytes : sizes) step.Take(bytes).Give(bytes);
    };
  };
  return CompareSequences(Builder().Steps(5, with(card)).Make(),
                          Builder().Steps(5, with(rehearsed)).Make(), multiprocessors);
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
  const FidelityFacts facts =
      CompareSequences(Builder().Steps(3, nothing).Make(), whole.Steps(6, nothing).Make(), 132);
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
  EXPECT_EQ("sms=144", cause.spec);
  EXPECT_EQ(20u, cause.events);
  // Of a card whose number is not known nothing follows.
  EXPECT_EQ("unknown", OnlyCause(Between({1728}, {1584}, 0)).setting);
}

TEST(FidelityTest, HalvesAndDoublesAreAPrecision) {
  const SequenceCause lower = OnlyCause(Between({kMiB / 2 + 64}, {kMiB + 128}));
  EXPECT_EQ("precision", lower.setting);
  EXPECT_THAT(lower.sentence, HasSubstr("the card ran in a lower precision"));
  const SequenceCause higher = OnlyCause(Between({2 * kMiB + 256}, {kMiB + 128}));
  EXPECT_THAT(higher.sentence, HasSubstr("the rehearsal runs in a lower precision"));
}

TEST(FidelityTest, WorkspacesTellTheCardOrTheRelease) {
  EXPECT_EQ("release", OnlyCause(Between({}, {kWorkspace})).setting);
  EXPECT_EQ("workspace", OnlyCause(Between({kWorkspace}, {})).setting);
  const SequenceCause card = OnlyCause(Between({32 * kMiB}, {kWorkspace}));
  EXPECT_EQ("card", card.setting);
  EXPECT_EQ("cc=9.0", card.spec);
  EXPECT_EQ("", OnlyCause(Between({kWorkspace}, {32 * kMiB})).spec);
}

TEST(FidelityTest, SmallBlocksOfOneSideAreWorkspacesOfLibraries) {
  EXPECT_EQ("library_workspace", OnlyCause(Between({51200}, {})).setting);
  EXPECT_EQ("unknown", OnlyCause(Between({77 * kMiB}, {})).setting);
}

TEST(FidelityTest, WhatHasNothingInCommonIsNotAligned) {
  const FidelityFacts facts =
      CompareSequences(Builder().Take(1).Take(2).Make(), Builder().Take(3).Take(4).Make(), 132);
  EXPECT_EQ(0u, facts.aligned);
  EXPECT_EQ(2u, facts.only_on_card);
  EXPECT_EQ(2u, facts.only_rehearsed);
  EXPECT_EQ(0.0, CompareSequences({}, {}, 132).AlignedShare());
}

}  // namespace
}  // namespace vramstow
