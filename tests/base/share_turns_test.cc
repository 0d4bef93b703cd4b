#include "base/share_turns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace vramstow {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kSecond = 1'000'000'000;

ShareMember Member(uint64_t group, uint64_t resident, uint64_t away = 0, uint64_t wanted = 0) {
  ShareMember member = {};
  member.group = group;
  member.resident_bytes = resident * kGiB;
  member.away_bytes = away * kGiB;
  member.wanted_bytes = wanted * kGiB;
  member.is_waiting = away + wanted != 0;
  member.weight = 1;
  return member;
}

using Members = std::vector<ShareMember>;

uint64_t Next(const ShareCard& card, const Members& members) {
  return NextHolder(card, members.data(), members.size());
}
uint64_t ToMove(const ShareCard& card, const Members& members, size_t self) {
  return BytesToMove(card, members.data(), members.size(), self);
}
bool Waits(const ShareCard& card, const Members& members, size_t self) {
  return MustWait(card, members.data(), members.size(), self);
}

TEST(ShareTurns, AllRunWhileAllMemoryFits) {
  const Members members = {Member(1, 30), Member(2, 30)};
  const ShareCard card = {.free_bytes = 20 * kGiB, .holder = 0, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 0u);
  EXPECT_FALSE(Waits(card, members, 0));
  EXPECT_FALSE(Waits(card, members, 1));
  EXPECT_EQ(ToMove(card, members, 0), 0u);
}

TEST(ShareTurns, ARequestThatDoesNotFitGetsTheTurnAndOnlyWhatItLacksMoves) {
  const Members members = {Member(1, 60), Member(2, 10, 0, 30)};
  ShareCard card = {.free_bytes = 10 * kGiB, .holder = 0, .turn_ns = 0, .stalled_ns = 0};
  card.holder = Next(card, members);
  EXPECT_EQ(card.holder, 2u);
  EXPECT_EQ(ToMove(card, members, 0), 20 * kGiB);
  EXPECT_TRUE(Waits(card, members, 0));
  EXPECT_FALSE(Waits(card, members, 1));
}

TEST(ShareTurns, AProcessWhoseMemoryIsNotNeededContinues) {
  const Members members = {Member(1, 50), Member(2, 10), Member(3, 0, 0, 30)};
  const ShareCard card = {.free_bytes = 0, .holder = 3, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_EQ(ToMove(card, members, 0), 30 * kGiB);
  EXPECT_EQ(ToMove(card, members, 1), 0u);
  EXPECT_FALSE(Waits(card, members, 1));
}

TEST(ShareTurns, IdleMemoryLeavesFirstAndInteractiveMemoryLast) {
  Members members = {Member(1, 50), Member(2, 20), Member(3, 60), Member(4, 0, 0, 40)};
  members[1].is_idle = true;
  members[2].is_interactive = true;
  const ShareCard card = {.free_bytes = 0, .holder = 4, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_EQ(ToMove(card, members, 1), 20 * kGiB);
  EXPECT_EQ(ToMove(card, members, 0), 20 * kGiB);
  EXPECT_EQ(ToMove(card, members, 2), 0u);
}

TEST(ShareTurns, ATurnLastsUntilAnExchangeIsATenthOfIt) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 2 * kSecond;
  ShareCard card = {.free_bytes = 10 * kGiB, .holder = 1, .turn_ns = 17 * kSecond, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 1u);
  card.turn_ns = 18 * kSecond;
  EXPECT_EQ(Next(card, members), 2u);
  members[0].weight = 2;
  EXPECT_EQ(Next(card, members), 1u);
}

TEST(ShareTurns, AnIdleHolderGivesTheTurnAway) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 2 * kSecond;
  members[0].is_idle = true;
  const ShareCard card = {
      .free_bytes = 10 * kGiB, .holder = 1, .turn_ns = kSecond, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, InteractiveWorkDoesNotWaitForAWholeTurnButItsHeadStartIsBounded) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 2 * kSecond;
  members[1].is_interactive = true;
  const ShareCard card = {
      .free_bytes = 10 * kGiB, .holder = 1, .turn_ns = 2 * kSecond, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 2u);
  members[1].used_ns = kShareHeadStartNs + kSecond;
  EXPECT_EQ(Next(card, members), 1u);
}

TEST(ShareTurns, AHolderThatCannotGoOnLosesItsTurn) {
  Members members = {Member(1, 10, 50), Member(2, 0, 60)};
  ShareCard card = {.free_bytes = 10 * kGiB, .holder = 1, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 1u);
  card.stalled_ns = kShareLongestStallNs;
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, WhileTheHolderIsStalledNobodyReliesOnOthers) {
  const Members members = {Member(1, 60), Member(2, 20), Member(3, 0, 0, 15)};
  ShareCard card = {.free_bytes = 0, .holder = 3, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_EQ(ToMove(card, members, 1), 0u);
  card.stalled_ns = kShareLongestStallNs / 2;
  EXPECT_EQ(ToMove(card, members, 1), 15 * kGiB);
}

TEST(ShareTurns, TheGroupWithTheLeastTimeIsNext) {
  Members members = {Member(1, 60), Member(2, 0, 60), Member(3, 0, 60)};
  members[0].is_idle = true;
  members[1].used_ns = 5 * kSecond;
  members[2].used_ns = 4 * kSecond;
  const ShareCard card = {
      .free_bytes = 10 * kGiB, .holder = 1, .turn_ns = kSecond, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 3u);
}

TEST(ShareTurns, ThePlaceOfADeadHolderGoesToWhoWaits) {
  const Members members = {Member(2, 10, 60), Member(3, 5)};
  const ShareCard card = {.free_bytes = 10 * kGiB, .holder = 1, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, MembersOfAGroupHaveTheirTurnsTogether) {
  const Members members = {Member(1, 30), Member(1, 10, 20), Member(2, 60)};
  const ShareCard card = {.free_bytes = 0, .holder = 1, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_FALSE(Waits(card, members, 0));
  EXPECT_TRUE(Waits(card, members, 1));  // until its memory is back
  EXPECT_TRUE(Waits(card, members, 2));
  EXPECT_EQ(ToMove(card, members, 0), 0u);
}

TEST(ShareTurns, WhatNoTurnCanServeIsRecognised) {
  Members members = {Member(1, 60), Member(2, 10, 0, 65)};
  const ShareCard card = {.free_bytes = 10 * kGiB, .holder = 2, .turn_ns = 0, .stalled_ns = 0};
  EXPECT_TRUE(CanBeServed(card, members.data(), members.size(), 2));

  members[0].stuck_bytes = 6 * kGiB;
  EXPECT_FALSE(CanBeServed(card, members.data(), members.size(), 2));
}

// With any figures: the parts that the members move add up to what the holder lacks or to all that
// can move, nobody moves more than it has, and the holder moves nothing and does not wait.
TEST(ShareTurns, AnyFiguresGiveConsistentDuties) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    Members members(1 + random() % 8);
    for (ShareMember& member : members) {
      member = Member(1 + random() % 5, random() % 40, random() % 10, random() % 10);
      member.stuck_bytes = random() % 50 * kGiB;
      member.is_idle = random() % 2 == 0;
      member.is_interactive = random() % 4 == 0;
      member.used_ns = random() % 100 * kSecond;
    }
    ShareCard card = {random() % 20 * kGiB, random() % 6, random() % 10 * kSecond,
                      random() % 10 * kSecond};
    card.holder = Next(card, members);
    card.stalled_ns = 0;
    uint64_t lacking = 0;
    uint64_t movable = 0;
    uint64_t moves = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      const uint64_t one = ToMove(card, members, i);
      ASSERT_LE(one, MovableBytes(members[i]));
      moves += one;
      if (members[i].group == card.holder) {
        lacking += LackingBytes(members[i]);
        ASSERT_EQ(one, 0u);
        ASSERT_EQ(Waits(card, members, i), members[i].away_bytes != 0);
      } else {
        movable += MovableBytes(members[i]);
      }
    }
    const uint64_t needed = lacking > card.free_bytes ? lacking - card.free_bytes : 0;
    ASSERT_EQ(moves, card.holder == 0 ? 0 : std::min(needed, movable));
  }
}

TEST(UnservableTime, ContinuesAfterAMomentInWhichRequestsSeemToBeServable) {
  UnservableTime time;
  EXPECT_EQ(time.Note(false, 1 * kSecond), 0u);
  EXPECT_EQ(time.Note(false, 2 * kSecond), kSecond);
  EXPECT_EQ(time.Note(true, 2 * kSecond + 1), kSecond);
  EXPECT_EQ(time.Note(false, 2 * kSecond + 2), kSecond) << "the time before counts for neither";
  EXPECT_EQ(time.Note(false, 3 * kSecond + 2), 2 * kSecond);
}

TEST(UnservableTime, BeginsAnewOnceRequestsCanBeServedForLong) {
  UnservableTime time;
  time.Note(false, 1 * kSecond);
  EXPECT_EQ(time.Note(false, 3 * kSecond), 2 * kSecond);
  time.Note(true, 4 * kSecond);
  EXPECT_EQ(time.Note(true, 4 * kSecond + UnservableTime::kLastingNs), 0u);
  EXPECT_EQ(time.Note(false, 7 * kSecond), 0u);
}

}  // namespace
}  // namespace vramstow
