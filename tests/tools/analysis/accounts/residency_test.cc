// Tests which memory was on the host, from when to when, and to which call site it belonged.
#include "tools/analysis/accounts/residency.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

constexpr uint64_t kPage = 2 << 20;
constexpr auto kPressure = static_cast<uint64_t>(OffloadReason::kPressure);
constexpr auto kDiscarded = static_cast<uint64_t>(OffloadReason::kDiscarded);

Event Move(uint64_t address, uint64_t pages, uint64_t reason = kPressure) {
  Event event;
  event.kind = EventKind::kOffload;
  event.address = address;
  event.size = pages * kPage;
  event.object = reason;
  return event;
}

Life LifeAt(uint64_t address, uint64_t size, uint64_t birth, uint64_t death, uint32_t site) {
  Life life;
  life.address = address;
  life.size = size;
  life.birth = birth;
  life.death = death;
  life.site = site;
  return life;
}

TEST(Residency, WhatComesBackPieceByPieceIsSeveralLives) {
  Residency residency;
  residency.Add(Move(16 * kPage, 4), 10, 100);
  residency.End(17 * kPage, kPage, 20, 200);
  residency.End(0, kPage, 21, 210);  // nothing lies there
  residency.End(18 * kPage, 100 * kPage, 30, 300);
  EXPECT_TRUE(residency.any());
  const std::vector<Life> lives = residency.Take();
  EXPECT_FALSE(residency.any());
  ASSERT_EQ(lives.size(), 3U);
  EXPECT_EQ(lives[0].address, 16 * kPage);
  EXPECT_EQ(lives[0].size, kPage);
  EXPECT_EQ(lives[0].death, kStillLive);
  EXPECT_EQ(lives[1].address, 17 * kPage);
  EXPECT_EQ(lives[1].death, 20U);
  EXPECT_EQ(lives[2].address, 18 * kPage);
  EXPECT_EQ(lives[2].size, 2 * kPage);
  EXPECT_EQ(lives[2].death_ns, 300U);
}

TEST(Residency, SumsAreByReasonAndTheMostAtOnceIsKept) {
  Residency residency;
  residency.Add(Move(16 * kPage, 4), 1, 1);
  residency.Add(Move(32 * kPage, 2, kDiscarded), 2, 2);
  residency.End(16 * kPage, 4 * kPage, 3, 3);
  residency.Add(Move(16 * kPage, 1), 4, 4);
  // The page at 16 * kPage is evicted again although it was not restored in between. It counts only
  // once.
  residency.Add(Move(16 * kPage, 1), 5, 5);
  // A later version of vramstow may record a reason that this version does not know.
  residency.Add(Move(64 * kPage, 1, 77), 6, 6);
  EXPECT_EQ(residency.facts().most_bytes, 6 * kPage);
  EXPECT_EQ(residency.facts().by_reason[kPressure], 6 * kPage);
  EXPECT_EQ(residency.facts().by_reason[kDiscarded], 2 * kPage);
  EXPECT_EQ(residency.facts().by_reason[0], kPage);
}

TEST(Residency, SitesAreThoseOfTheBlocksThatLivedThereThen) {
  // Blocks of two call sites share the first page; the third block was allocated at the same
  // address later.
  const std::vector<Life> blocks = {LifeAt(16 * kPage, kPage / 2, 1, 50, 3),
                                    LifeAt(16 * kPage + kPage / 2, 2 * kPage, 2, 50, 4),
                                    LifeAt(16 * kPage, 3 * kPage, 60, kStillLive, 5)};
  const std::vector<Life> away = {LifeAt(16 * kPage, 2 * kPage, 10, 20, 0),
                                  LifeAt(16 * kPage, kPage, 70, 80, 0),
                                  LifeAt(90 * kPage, kPage, 71, 80, 0)};
  const std::vector<OffloadSite> sites = FindOffloadSites(away, blocks);
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_EQ(sites[0].number, 4U);
  EXPECT_EQ(sites[0].bytes, kPage * 3 / 2);
  EXPECT_EQ(sites[1].number, 5U);
  EXPECT_EQ(sites[1].bytes, kPage);
  EXPECT_EQ(sites[2].number, 3U);
  EXPECT_EQ(sites[2].bytes, kPage / 2);
}

}  // namespace
}  // namespace vramstow
