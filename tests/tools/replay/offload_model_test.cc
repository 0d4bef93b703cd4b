// Tests the comparison of offload policies on the touches of a recorded run.
#include "tools/replay/offload_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "tests/tools/list_source.h"
#include "tools/replay/replay.h"

namespace vramstow {
namespace {

constexpr uint64_t kBlock = 8 * kMiB;

uint64_t AddressOf(int block) { return kGiB + static_cast<uint64_t>(block) * kBlock; }

// A recorded loop. It uses eight blocks one after the other, and in each step the first block as
// well.
class OffloadModelTest : public testing::Test {
 protected:
  void Touch(uint64_t address) {
    history_.Add({.address = address,
                  .object = ++clock_,
                  .device = 0,
                  .kind = EventKind::kTouch,
                  .memory = MemoryKind::kPhysical,
                  .layer = Layer::kPool});
  }
  void Loop(int rounds) {
    for (int i = 0; i < 8; ++i) history_.Allocate(AddressOf(i), kBlock);
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 8; ++i) {
        Touch(AddressOf(0));
        Touch(AddressOf(i) + 7);  // somewhere in it
        clock_ += 40;
        // Each step allocates a block of its own and frees it.
        history_.Allocate(AddressOf(8), kBlock);
        history_.Free(AddressOf(8));
      }
    }
  }
  Requests Read() {
    ListSource source(history_.events());
    return *ReadRequests(&source, std::nullopt);
  }
  ModelOutcome Run(const Requests& requests, const char* model, uint64_t memory) {
    ReplayOptions options;
    options.memory_bytes = memory;
    return Replay(requests, ParseModels(model)->front(), options);
  }

  History history_;
  uint64_t clock_ = 0;
};

TEST_F(OffloadModelTest, TouchesBelongToTheBlockThatTheyLieIn) {
  history_.Allocate(AddressOf(0), kBlock);
  Touch(AddressOf(0));
  Touch(AddressOf(1));      // nothing lies there yet
  Touch(AddressOf(0) - 1);  // nor there
  history_.Allocate(AddressOf(1), kBlock);
  Touch(AddressOf(1) + kBlock - 1);
  history_.Free(AddressOf(0));
  Touch(AddressOf(0) + 1);
  const Requests requests = Read();
  EXPECT_EQ(requests.touches, 2U);
  std::vector<uint32_t> blocks;
  for (const Request& request : requests.list) {
    if (request.kind == RequestKind::kTouch) blocks.push_back(request.block);
  }
  EXPECT_THAT(blocks, testing::ElementsAre(0, 1));
}

TEST_F(OffloadModelTest, WhereAllFitsNothingMoves) {
  Loop(3);
  const ModelOutcome outcome = Run(Read(), "offload:coldest", 0);
  ASSERT_TRUE(outcome.traffic.has_value());
  EXPECT_EQ(outcome.traffic->bytes(), 0U);
  EXPECT_EQ(outcome.traffic->touches, 3U * 8 * 2);
}

TEST_F(OffloadModelTest, APolicyThatSeesTheLoopReadsLessThanTheColdest) {
  Loop(40);
  const Requests requests = Read();
  const uint64_t memory = 6 * kBlock;
  const ModelOutcome native = Run(requests, "native", memory);
  EXPECT_GT(native.out_of_memory, 0U) << "it does not fit";
  uint64_t coldest = 0;
  for (const char* model :
       {"offload:coldest", "offload:size", "offload:next-use", "offload:foreseen"}) {
    const ModelOutcome outcome = Run(requests, model, memory);
    EXPECT_EQ(outcome.out_of_memory, 0U) << model;
    EXPECT_LE(outcome.peak_reserved, memory) << model;
    ASSERT_TRUE(outcome.traffic.has_value()) << model;
    EXPECT_GE(outcome.traffic->out_bytes, 2 * kBlock) << model;
    EXPECT_GT(outcome.traffic->reads, 0U) << model;
    if (coldest == 0) coldest = outcome.traffic->bytes();
    EXPECT_LE(outcome.traffic->bytes(), coldest) << model;
  }
}

TEST_F(OffloadModelTest, TheOldModelsTakeNoNoticeOfTouches) {
  Loop(3);
  const Requests with = Read();
  Requests without = with;
  std::erase_if(without.list,
                [](const Request& request) { return request.kind == RequestKind::kTouch; });
  without.touches = 0;
  for (const char* model : {"native", "expandable", "async", "bfc", "vramstow"}) {
    const ModelOutcome a = Run(with, model, 0);
    const ModelOutcome b = Run(without, model, 0);
    EXPECT_EQ(a.peak_reserved, b.peak_reserved) << model;
    EXPECT_EQ(a.device_calls, b.device_calls) << model;
    EXPECT_FALSE(a.traffic.has_value()) << model;
  }
}

TEST(OffloadModels, BareOffloadIsAllOfThem) {
  const auto specs = ParseModels("native,offload");
  ASSERT_TRUE(specs.ok());
  std::vector<std::string> names;
  for (const ModelSpec& spec : *specs) names.push_back(spec.name);
  EXPECT_THAT(names, testing::ElementsAre("native", "offload:coldest", "offload:size",
                                          "offload:next-use", "offload:foreseen"));
  EXPECT_FALSE(ParseModels("offload:warmest").ok());
}

}  // namespace
}  // namespace vramstow
