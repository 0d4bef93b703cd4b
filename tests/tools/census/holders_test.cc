// Holders: chains that differ in numbers are one, and each failure has the census that belongs to
// it.
#include "tools/analysis/explain/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vramstow {
namespace {

TEST(MergeChains, NumbersOfContainersBecomeARange) {
  EXPECT_EQ(
      MergeChains({"train: hist[0].grad_fn", "train: hist[2].grad_fn", "train: hist[1].grad_fn"}),
      "train: hist[0..2].grad_fn");
  EXPECT_EQ(MergeChains({"global a[3]", "global a[9]"}), "global a[*]");
  EXPECT_EQ(MergeChains({"global model.0.weight", "global model.11.weight"}),
            "global model.*.weight");
  EXPECT_EQ(MergeChains({"global a[7]"}), "global a[7]");
  EXPECT_EQ(MergeChains({}), "");
}

TEST(MergeChains, NumbersInNamesStay) {
  EXPECT_NE(PatternOf("model.layer1.weight"), PatternOf("model.layer2.weight"));
  EXPECT_NE(PatternOf("x → saved by MmBackward0"), PatternOf("x → saved by MmBackward1"));
  EXPECT_NE(PatternOf("train: x_1"), PatternOf("train: x_2"));
  EXPECT_NE(PatternOf("state[\"exp_avg\"]"), PatternOf("state[\"exp_avg_sq\"]"));
  EXPECT_EQ(PatternOf("global a[1].b.2"), PatternOf("global a[30].b.4"));
}

TEST(MergeChains, AttributesAndKeysThatAreCountedAreOneHolder) {
  EXPECT_EQ(MergeChains({"global model.seen_0", "global model.seen_1"}), "global model.seen_*");
  EXPECT_EQ(MergeChains({"global a[\"layer 0\"][3]", "global a[\"layer 2\"][4]"}),
            "global a[\"layer *\"][3..4]");
  EXPECT_EQ(MergeChains({"global w[\"0.bias\"]", "global w[\"12.bias\"]"}), "global w[\"*.bias\"]");
  EXPECT_EQ(PatternOf("global a[\"1\"]"), PatternOf("global a[\"2\"]"));
}

TEST(MergeChains, AVeryLongNumberIsNoError) {
  EXPECT_EQ(MergeChains({"global a[99999999999999999999999]", "global a[1]"}), "global a[0..1]");
}

Life TensorAt(uint64_t address, uint64_t birth) {
  Life life;
  life.address = address;
  life.size = 1024;
  life.birth = birth;
  life.device = 0;
  life.tensor = true;
  return life;
}

CensusDetail CensusAt(uint64_t event, uint32_t thread, const std::string& holder) {
  CensusDetail census;
  census.event = event;
  census.thread = thread;
  census.blocks.push_back({512, 1000, 0, "other", holder, "float32 [250]"});
  return census;
}

OutOfMemoryFacts FailureAt(uint64_t event, uint32_t thread) {
  OutOfMemoryFacts failure;
  failure.event = event;
  failure.thread = thread;
  return failure;
}

TEST(Holders, EachFailureHasTheCensusOfItsThreadBehindIt) {
  Detail detail;
  detail.censuses = {CensusAt(11, 1, "first"), CensusAt(13, 2, "second"), CensusAt(31, 1, "last")};
  Facts facts;
  facts.out_of_memory = {FailureAt(10, 1), FailureAt(12, 2), FailureAt(30, 1)};
  const Life life = TensorAt(512, 5);
  const auto holder = [&](size_t failure) {
    return Holders(detail, facts, facts.out_of_memory[failure]).Of(life)->holder;
  };
  EXPECT_EQ(holder(0), "first");
  EXPECT_EQ(holder(1), "second");
  EXPECT_EQ(holder(2), "last");
  // A failure without a census of its own has the one before.
  facts.out_of_memory.push_back(FailureAt(40, 3));
  EXPECT_EQ(holder(3), "last");
}

TEST(Holders, ABlockThatCameLaterOrLiesElsewhereIsNotHeld) {
  Detail detail;
  detail.censuses = {CensusAt(11, 1, "list")};
  Facts facts;
  facts.out_of_memory = {FailureAt(10, 1)};
  const Holders holders(detail, facts, facts.out_of_memory[0]);
  Life freed = TensorAt(512, 5);
  freed.death = 8;
  EXPECT_EQ(holders.Of(freed), nullptr);
  EXPECT_EQ(holders.Of(TensorAt(512, 20)), nullptr);
  EXPECT_EQ(holders.Of(TensorAt(1024, 5)), nullptr);
  Life elsewhere = TensorAt(512, 5);
  elsewhere.device = 1;
  EXPECT_EQ(holders.Of(elsewhere), nullptr);
  const Life held = TensorAt(512, 5);
  const auto all = holders.OfAll({&held, &freed});
  ASSERT_THAT(all, testing::SizeIs(1));
  EXPECT_EQ(all[0].holder, "list");
  EXPECT_EQ(all[0].amount.bytes, 1024u);
}

TEST(Holders, WithoutACensusNobodyHoldsAnything) {
  const Detail detail;
  const Facts facts;
  const Holders holders(detail, facts, FailureAt(10, 1));
  EXPECT_FALSE(holders.any());
  const Life life = TensorAt(512, 5);
  EXPECT_THAT(holders.OfAll({&life}), testing::IsEmpty());
}

}  // namespace
}  // namespace vramstow
