// Tests the list of simulated GPUs, and the choice of the GPU that agrees with a snapshot.
#include "tools/launch/card_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace vramstow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHelp[] =
    "SPEC is CARD[,option=value]…\nCards:\n"
    "  h100          NVIDIA H100 80GB HBM3, 79.2 GiB, compute capability 9.0, 132 multiprocessors\n"
    "  a100          NVIDIA A100-SXM4-80GB, 79.3 GiB, compute capability 8.0, 108 multiprocessors\n"
    "  t4            Tesla T4, 14.7 GiB, compute capability 7.5, 40 multiprocessors\n"
    "Options:\n"
    "  sms=          multiprocessors; default: the card's (a number from 1 to 1024)\n";

std::string Matched(const CardEvidence& evidence) {
  const auto card = MatchCard(evidence, ReadCardList(kHelp));
  return card.ok() ? card->spec : std::string(card.status().message());
}

TEST(CardListTest, RowsOfTheHelpAreCards) {
  const std::vector<ListedCard> cards = ReadCardList(kHelp);
  ASSERT_EQ(3u, cards.size());
  EXPECT_EQ("h100", cards[0].key);
  EXPECT_EQ("NVIDIA H100 80GB HBM3", cards[0].name);
  EXPECT_EQ(90u, cards[0].capability);
  EXPECT_EQ(132u, cards[0].multiprocessors);
  EXPECT_NEAR(79.2, static_cast<double>(cards[0].memory_bytes) / kGiB, 0.01);
  EXPECT_TRUE(ReadCardList("").empty());
  EXPECT_TRUE(ReadCardList("  x  y, z, compute capability w, v multiprocessors\n  \n").empty());
}

TEST(CardListTest, ASpecSaysHowManyMultiprocessors) {
  const std::vector<ListedCard> cards = ReadCardList(kHelp);
  EXPECT_EQ(108u, MultiprocessorsOf(cards, "a100,memory=24GiB"));
  EXPECT_EQ(7u, MultiprocessorsOf(cards, "a100,sms=7"));
  EXPECT_EQ(0u, MultiprocessorsOf(cards, "unknown"));
}

TEST(CardListTest, TheSmallestCardThatAgreesIsTaken) {
  EXPECT_EQ("t4", Matched({.held_bytes = 10 * kGiB}));
  // 14.5 GiB and the memory of a CUDA context are together more than the smaller GPU has.
  EXPECT_EQ("h100", Matched({.held_bytes = 14 * kGiB + 512 * kMiB}));
  EXPECT_EQ("a100", Matched({.held_bytes = 20 * kGiB, .has_workspace = true}));
  EXPECT_EQ("h100", Matched({.held_bytes = 1 * kGiB, .has_large_workspace = true}));
  // The GPU must also have the memory that was still free when a request failed.
  EXPECT_EQ(
      "h100",
      Matched({.held_bytes = 10 * kGiB, .free_bytes = 8 * kGiB, .held_then_bytes = 10 * kGiB}));
  EXPECT_THAT(Matched({.held_bytes = 200 * kGiB}), HasSubstr("no simulated GPU agrees"));
}

TEST(CardListTest, MultiprocessorsAreThoseOfTheCardsThatAgree) {
  const std::vector<ListedCard> cards = ReadCardList(kHelp);
  EXPECT_THAT(PossibleMultiprocessors(cards, {}), ElementsAre(108, 132, 40));
  EXPECT_THAT(PossibleMultiprocessors(cards, {.has_workspace = true}), ElementsAre(108, 40));
  EXPECT_THAT(PossibleMultiprocessors(cards, {.held_bytes = 20 * kGiB}), ElementsAre(108, 132));
}

TEST(CardListTest, OnlyASpecThatBeginsWithMatchIsResolved) {
  std::string why;
  const auto plain = ResolveMatch("h100,memory=24GiB", "/nowhere", &why);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ("h100,memory=24GiB", *plain);
  EXPECT_EQ("", why);
  const auto missing = ResolveMatch("match=/no/such/file,seed=2", "/nowhere", &why);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace vramstow
