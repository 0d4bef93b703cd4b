#include "simulator/device/card_model.h"

#include <gtest/gtest.h>

#include <string>

namespace vramstow::simulator {
namespace {

CardModel ModelOf(const std::string& text) {
  Spec spec;
  std::string error;
  EXPECT_TRUE(ParseSpec(text, &spec, &error)) << error;
  return CardModel(spec);
}

vramstowSimulatorWorkLine Product(uint64_t operations) {
  vramstowSimulatorWorkLine line = {};
  line.size = sizeof line;
  line.kind = "operator";
  line.name = "mm";
  line.precision = "bf16";
  line.operations = operations;
  return line;
}

TEST(CardModelTest, AProductTakesItsShareOfTheCardsRate) {
  // The model assumes that a product runs at 0.48 of the H100's 989.5 * 10^12 operations per
  // second, and that its kernel takes 3 us in addition. The product has 10^12 operations.
  EXPECT_NEAR(
      2'108'000,
      static_cast<double>(ModelOf("h100,clock=model").WorkNs(Product(1'000'000'000'000), 0)),
      2'000);
}

TEST(CardModelTest, MemoryOfTheHostIsReadOverTheLink) {
  const uint64_t ns = ModelOf("h100,clock=model").WorkNs(Product(1000), 508'000'000);
  EXPECT_NEAR(10'000'000, static_cast<double>(ns), 10'000);  // 50.8 GB per second
}

TEST(CardModelTest, CopiesTakeTheLinkOfTheCard) {
  constexpr uint64_t kBytes = 550'000'000;
  const CardModel h100 = ModelOf("h100,clock=model");
  const auto pinned =
      static_cast<double>(h100.CopyNs(CopyPlace::kPinned, CopyPlace::kDevice, kBytes));
  EXPECT_NEAR(10'000'000, pinned, 10'000);
  EXPECT_GT(h100.CopyNs(CopyPlace::kDevice, CopyPlace::kPageable, kBytes), 5 * pinned);
  EXPECT_LT(h100.CopyNs(CopyPlace::kDevice, CopyPlace::kDevice, kBytes), pinned / 20);
  const CardModel a100 = ModelOf("a100,clock=model");
  EXPECT_NEAR(22'000'000,
              static_cast<double>(a100.CopyNs(CopyPlace::kPinned, CopyPlace::kDevice, kBytes)),
              20'000);
}

TEST(CardModelTest, MakingMemoryOfTheHostIsSlow) {
  const CardModel model = ModelOf("h100,clock=model");
  constexpr uint64_t kGib = uint64_t{1} << 30;
  EXPECT_GT(model.VmmNs(VmmCall::kCreate, /*on_host=*/true, kGib), 180'000'000u);
  EXPECT_LT(model.VmmNs(VmmCall::kCreate, /*on_host=*/false, kGib), 30'000u);
}

TEST(CardModelTest, PageLockedMemoryIsMadeAndGivenBackAsSlowlyAsOthersHaveMeasured) {
  const CardModel model = ModelOf("h100,clock=model");
  constexpr uint64_t kGib = uint64_t{1} << 30;
  EXPECT_NEAR(310e6, static_cast<double>(model.PinNs(kGib)), 1e6);
  EXPECT_NEAR(145e6, static_cast<double>(model.UnpinNs(kGib)), 1e6);
}

TEST(CardModelTest, NothingTakesTimeWithoutTheModelsClock) {
  const CardModel model = ModelOf("h100");
  EXPECT_FALSE(model.is_on());
  EXPECT_EQ(0u, model.WorkNs(Product(1'000'000'000'000), 1 << 30));
  EXPECT_EQ(0u, model.AllocateNs(1 << 30));
  EXPECT_EQ(0u, model.VmmNs(VmmCall::kCreate, true, 1 << 30));
}

}  // namespace
}  // namespace vramstow::simulator
