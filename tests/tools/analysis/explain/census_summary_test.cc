// Tests the facts of a census (a reference scan) other than holders, and the source line at which a
// holder stored the tensor.
#include "tools/analysis/explain/census_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {
namespace {

using testing::ElementsAre;

TEST(CensusSummary, ReadsTypeAndShape) {
  const auto words = ParseTensor("float64 [32, 384], requires grad");
  ASSERT_TRUE(words.has_value());
  EXPECT_EQ(words->type, "float64");
  EXPECT_THAT(words->shape, ElementsAre(32, 384));
  EXPECT_EQ(words->bytes, 8u * 32 * 384);
  EXPECT_EQ(ParseTensor("bool []")->bytes, 1u);
  EXPECT_FALSE(ParseTensor("float32").has_value());
  EXPECT_FALSE(ParseTensor("float32 [2, x]").has_value());
  EXPECT_FALSE(ParseTensor("float32 [2").has_value());
}

// There are two blocks of 1 MiB. A small view keeps the whole first block alive, and autograd holds
// the second one.
TEST(CensusSummary, TellsViewsGraphsAndWideNumbers) {
  Detail detail;
  CensusDetail census;
  census.event = 10;
  census.thread = 1;
  HeldBlock view;
  view.address = 0x1000;
  view.holder = "encode: firsts[0]";
  view.about = "float64 [16, 64]";
  HeldBlock saved;
  saved.address = 0x2000;
  saved.role = "saved";
  saved.holder = "train: losses[0].grad_fn → saved by MulBackward0";
  saved.about = "float32 [512, 512]";
  view.device = saved.device = 0;
  census.blocks = {view, saved};
  detail.censuses = {census};
  Facts facts;
  OutOfMemoryFacts failure;
  failure.event = 9;
  failure.thread = 1;
  std::vector<Life> lives(3);
  for (size_t i = 0; i < lives.size(); ++i) {
    lives[i].address = 0x1000 * (i + 1);
    lives[i].size = 1 << 20;
    lives[i].birth = i + 1;
    lives[i].device = 0;
    lives[i].tensor = true;
  }
  const Holders holders(detail, facts, failure);
  const CensusSummary summary = SummarizeCensus(holders, {&lives[0], &lives[1], &lives[2]});
  EXPECT_EQ(summary.all, 3u << 20);
  EXPECT_EQ(summary.known, 2u << 20);
  EXPECT_EQ(summary.viewed, 1u << 20);
  EXPECT_EQ(summary.in_graph, 1u << 20);
  EXPECT_EQ(summary.wide, 1u << 20);
  EXPECT_TRUE(summary.decides());
  EXPECT_FALSE(SummarizeCensus(holders, {&lives[2]}).decides());
}

TEST(Places, TheHolderTellsTheFunctionThatKeepsIt) {
  Detail detail;
  detail.lines = {"job.py:30 <module>", "job.py:20 encode", "job.py:9 Encoder.forward"};
  detail.sites.resize(2);
  detail.sites[1].own = {{0, 1, 30}, {1, 2, 20}, {2, 3, 9}};
  Life life;
  life.site = 1;
  life.size = 1;
  const auto place = [&](const char* holder) { return PlaceOfHolder(detail, {&life}, holder); };
  EXPECT_EQ(place("encode: firsts[0..24]"), "job.py:20 encode");
  EXPECT_EQ(place("Encoder.kept[3]"), "job.py:9 Encoder.forward");
  EXPECT_EQ(place("Other.kept[3]"), "");
  EXPECT_EQ(place("global kept[3]"), "");
  EXPECT_EQ(place("exception being handled in retry: frame encode, variable x"), "");
}

TEST(OperatorName, IsTheOneThatUsersCall) {
  const auto name_of = [](const char* operation) {
    SiteDetail site;
    site.operation = operation;
    return std::string(OperatorName(site));
  };
  EXPECT_EQ(name_of("aten::cat"), "cat");
  EXPECT_EQ(name_of("aten::pow_Tensor_Scalar"), "pow");
  EXPECT_EQ(name_of("aten::structured_mm_out_cuda"), "mm");
  EXPECT_EQ(name_of("aten::_to_copy"), "_to_copy");
  EXPECT_EQ(name_of("aten::_foreach_sqrt"), "_foreach_sqrt");
}

}  // namespace
}  // namespace vramstow
