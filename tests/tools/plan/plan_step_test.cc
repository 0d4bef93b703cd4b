// Tests the estimated duration of steps from the work that a simulated run recorded.
#include <string>

#include "base/card_rates.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/plan/step_time.h"

namespace vramstow {
namespace {

using ::testing::DoubleNear;
using ::testing::SizeIs;

// A GPU with round numbers: 100·10^12 operations a second, half of which are reached, and 1000·10^9
// bytes a second.
constexpr CardRates kRound = {"round", 100, 100, 50, 10, 1, 1000, 100, 10, 0.5, 0.25};

constexpr char kHead[] = "time_ns,kind,name,precision,operations,read_bytes,written_bytes,items\n";

StepTime Of(const std::string& lines, const CardRates& rates = kRound) {
  return EstimateStep(ReadWorkLog(kHead + lines), rates);
}

TEST(StepTime, AProductTakesItsOperationsAtTheRateOfItsPrecision) {
  // 10^12 operations take 0.02 s at half of 100·10^12 a second.
  EXPECT_THAT(Of("5,operator,mm,bf16,1000000000000,1000,1000,0\n").products,
              DoubleNear(0.02, 1e-9));
  EXPECT_THAT(Of("5,operator,mm,tf32,1000000000000,1000,1000,0\n").products,
              DoubleNear(0.04, 1e-9));
  EXPECT_THAT(Of("5,operator,mm,f32,1000000000000,1000,1000,0\n").products, DoubleNear(0.2, 1e-9));
  EXPECT_THAT(Of("5,operator,_flash_attention_forward,f16,1000000000000,0,0,0\n").attention,
              DoubleNear(0.04, 1e-9));
}

TEST(StepTime, AProductWithRowsOfAnOddNumberOfElementsIsSlower) {
  EXPECT_THAT(Of("5,operator,mm,bf16_odd,1000000000000,1000,1000,0\n").products,
              DoubleNear(0.02 / 0.29, 1e-9));
}

TEST(StepTime, WhatMemoryBoundsTakesItsBytes) {
  // 8·10^9 bytes take 0.01 s at four fifths of 1000·10^9 bytes a second.
  EXPECT_THAT(Of("5,operator,add,-,0,6000000000,2000000000,0\n").memory, DoubleNear(0.01, 1e-9));
  // A product with a thin matrix reads the whole other matrix.
  const StepTime thin = Of("5,operator,mm,bf16,1000000,8000000000,0,0\n");
  EXPECT_THAT(thin.memory, DoubleNear(0.01, 1e-9));
  EXPECT_EQ(thin.products, 0);
}

TEST(StepTime, AnEmbeddingTouchesTheRowsThatAreAskedForAlone) {
  const StepTime step = Of("5,operator,index_select,-,0,8000000000,1000,2\n");
  EXPECT_LT(step.memory, 1e-8);
  EXPECT_EQ(step.tokens, 2U);
}

TEST(StepTime, TokensAreThoseOfTheLossOrElseOfTheLargestEmbedding) {
  EXPECT_EQ(Of("1,operator,index_select,-,0,100,10,64\n"
               "2,operator,index_select,-,0,200,10,8\n"
               "3,operator,index_select,-,0,100,10,64\n")
                .tokens,
            128U);
  EXPECT_EQ(Of("1,operator,index_select,-,0,100,10,64\n"
               "2,operator,nll_loss_forward,-,0,100,8,32\n"
               "3,operator,nll_loss_forward,-,0,100,8,32\n")
                .tokens,
            64U);
  EXPECT_EQ(Of("1,operator,mm,f32,100,100,8,0\n").tokens, 0U);
}

TEST(StepTime, CollectivesHideBehindComputing) {
  // With 4 ranks, 7.5·10^9 · 3/4 · 2 bytes at three quarters of 100·10^9 a second take 0.15 s, plus
  // the constant time of a collective.
  const std::string reduce = "9,collective,all_reduce,-,0,7500000000,7500000000,4\n";
  EXPECT_THAT(Of(reduce).collectives, DoubleNear(0.15, 1e-4));
  const std::string compute = "5,operator,mm,bf16,50000000000000,0,0,0\n";  // 1 s
  const StepTime both = Of(compute + reduce);
  EXPECT_THAT(both.collectives, DoubleNear(0.015, 1e-4));
  EXPECT_THAT(both.seconds, DoubleNear(1.015, 1e-3));
  // A gather of the same bytes takes half as long; without NVLink, PCIe takes ten times as long.
  EXPECT_THAT(Of("9,collective,all_gather,-,0,1,7500000000,4\n").collectives,
              DoubleNear(0.075, 1e-4));
  CardRates bus = kRound;
  bus.links = 0;
  EXPECT_THAT(Of(reduce, bus).collectives, DoubleNear(1.5, 1e-3));
}

TEST(StepTime, CopiesOfTheHostAreAddedAndTheProgramMayBeSlower) {
  // 8·10^9 bytes take 1 s at four fifths of 10·10^9 bytes a second.
  EXPECT_THAT(Of("5,copy,to_device,-,0,8000000000,8000000000,0\n").transfers,
              DoubleNear(1.0, 1e-9));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "5,operator,add,-,0,8,8,0\n";
  const StepTime small = Of(many);
  EXPECT_GT(small.program, 0.9 * small.seconds / 2);
  EXPECT_THAT(small.seconds, DoubleNear(small.launches + small.memory + small.program, 1e-9));
}

TEST(StepTime, LinesAreReadWhole) {
  const auto items = ReadWorkLog(std::string(kHead) +
                                 "1,kernel,void f<int, 4>(int),-,0,0,0,0\n"
                                 "2,operator,mm,bf16,12,34,56,0\n"
                                 "3,nonsense,mm,bf16,12,34,56,0\n"
                                 "4,operator,mm,bf16,12,34\n"
                                 "9,copy,to_host,-,0,4,4,0\n");
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_EQ(items[0].kind, WorkItem::Kind::kKernel);
  EXPECT_EQ(items[1].written_bytes, 56U);
  EXPECT_THAT(Within(items, 2, 9), SizeIs(1));
  EXPECT_THAT(Within(items, 0, 10), SizeIs(3));
  EXPECT_THAT(Within(items, 10, 20), SizeIs(0));
  EXPECT_EQ(EstimateStep(items, kRound).unknown_kernels, 1U);
}

// Every simulated GPU has rates, and these are plausible: a smaller number type is not slower than
// a larger one, and the GPU's memory is faster than the connection to the host.
TEST(CardRates, EachCardHasThem) {
  for (const char* key : {"h200", "h100", "b200", "gb200", "a100", "a100-40gb", "l40s", "rtx4090",
                          "rtx6000ada", "rtx5090", "rtx3090", "a30", "a10", "l4", "t4", "v100"}) {
    const CardRates* rates = FindCardRates(key);
    ASSERT_NE(rates, nullptr) << key;
    EXPECT_GE(rates->f16, rates->tf32) << key;
    EXPECT_GE(rates->tf32, rates->f32) << key;
    EXPECT_GT(rates->memory, rates->host) << key;
    EXPECT_GT(rates->product_share, 0.3) << key;
    EXPECT_LT(rates->product_share, 1) << key;
  }
  EXPECT_EQ(FindCardRates("h300"), nullptr);
}

}  // namespace
}  // namespace vramstow
