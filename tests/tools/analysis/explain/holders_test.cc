// Tests Holders, which merges chains of references that differ only in numbers, and finds for each
// failure the census (a reference scan) that belongs to it.
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
  // A failure without a census of its own uses the last census (reference scan) before it.
  facts.out_of_memory.push_back(FailureAt(40, 3));
  EXPECT_EQ(holder(3), "last");
}

TEST(Holders, WhereTheCensusWasLeftOutNobodyIsNamed) {
  Detail detail;
  detail.censuses = {CensusAt(11, 1, "first"), CensusAt(21, 1, "")};
  detail.censuses[0].objects = 70;
  detail.censuses[1].blocks.clear();
  detail.censuses[1].why_ended = "there was no time";
  Facts facts;
  facts.out_of_memory = {FailureAt(10, 1), FailureAt(20, 1), FailureAt(30, 2)};
  const Life life = TensorAt(512, 5);
  EXPECT_EQ(Holders(detail, facts, facts.out_of_memory[0]).Of(life)->holder, "first");
  const Holders second(detail, facts, facts.out_of_memory[1]);
  EXPECT_FALSE(second.any());
  EXPECT_EQ(second.Of(life), nullptr);
  EXPECT_EQ(second.why_left_out(), "there was no time");
}

TEST(Holders, OneOfManyNumbersMayBeMissing) {
  const auto holder_text = [](uint64_t count, uint64_t without) {
    std::vector<std::string> chains;
    for (uint64_t i = 0; i < count; ++i) {
      if (i != without) chains.push_back("main: history[" + std::to_string(i) + "]");
    }
    return MergeChains(chains);
  };
  EXPECT_EQ(holder_text(68, 66), "main: history[0..67]");
  EXPECT_EQ(holder_text(68, 100), "main: history[0..67]");
  EXPECT_EQ(holder_text(6, 4), "main: history[*]");
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

CensusDetail CensusOfKeys(const std::vector<std::string>& keys) {
  CensusDetail census;
  census.event = 100;
  for (size_t i = 0; i < keys.size(); ++i) {
    census.blocks.push_back(
        {(i + 1) * 4096, 1024, 0, "other", "global cache[\"" + keys[i] + "\"][0]", "half [512]"});
  }
  return census;
}

TEST(Holders, ManyKeysAreOneHolderAndFewAreNot) {
  Facts facts;
  facts.out_of_memory = {FailureAt(99, 0)};
  const auto holder_text = [&](const std::vector<std::string>& keys) {
    Detail detail;
    detail.censuses = {CensusOfKeys(keys)};
    std::vector<Life> lives;
    for (size_t i = 0; i < keys.size(); ++i) lives.push_back(TensorAt((i + 1) * 4096, i + 1));
    std::vector<const Life*> live;
    for (const Life& life : lives) live.push_back(&life);
    std::vector<std::string> names;
    for (const HolderFacts& one : Holders(detail, facts, facts.out_of_memory[0]).OfAll(live)) {
      names.push_back(one.holder + " " + std::to_string(one.amount.blocks));
    }
    return names;
  };
  EXPECT_THAT(holder_text({"user-a1.png", "user-b2.png", "user-c.png", "user-d.png", "user-e.png",
                           "user-.png", "user-g.png", "user-hh.png"}),
              testing::ElementsAre("global cache[\"user-*.png\"][0] 8"));
  EXPECT_THAT(holder_text({"a", "b", "c", "d", "e", "f", "g", "h"}),
              testing::ElementsAre("global cache[\"*\"][0] 8"));
  EXPECT_THAT(holder_text({"aa", "a", "aaa", "aaaa", "ab", "ba", "aba", "aaab"}),
              testing::ElementsAre("global cache[\"*\"][0] 8"));
  EXPECT_THAT(holder_text({"x", "y", "mask"}), testing::SizeIs(3));
}

TEST(Holders, WhatTheCensusFoundAndDidNotNameHasTheHolderOfItsLike) {
  constexpr uint64_t kBlocks = 1000;
  Detail detail;
  CensusDetail census = CensusOfKeys({"a", "b"});  // two of a thousand
  census.found_bytes = kBlocks * 1024;
  detail.censuses = {census};
  Facts facts;
  facts.out_of_memory = {FailureAt(99, 0)};
  std::vector<Life> lives;
  for (uint64_t i = 0; i < kBlocks + 10; ++i) lives.push_back(TensorAt((i + 1) * 4096, 1));
  lives[5].site = 7;     // another line
  lives[6].size = 2048;  // another size
  lives[7].tensor = false;
  std::vector<const Life*> live;
  for (const Life& life : lives) live.push_back(&life);
  Holders holders(detail, facts, facts.out_of_memory[0]);
  EXPECT_EQ(holders.OfAll(live).at(0).amount.blocks, 1u);
  holders.NameAlike(live);
  uint64_t named = 0;
  for (const HolderFacts& one : holders.OfAll(live)) named += one.amount.blocks;
  EXPECT_EQ(named, kBlocks) << "no more than it found";
  EXPECT_EQ(holders.Of(lives[5]), nullptr);
  EXPECT_EQ(holders.Of(lives[6]), nullptr);
  EXPECT_EQ(holders.Of(lives[7]), nullptr);
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
