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
  member.card = 1;
  member.resident_bytes = resident * kGiB;
  member.away_bytes = away * kGiB;
  member.wanted_bytes = wanted * kGiB;
  member.is_waiting = away + wanted != 0;
  member.weight = 1;
  return member;
}

using Members = std::vector<ShareMember>;

// A turn on one GPU with this much free memory.
struct Card {
  uint64_t free_bytes;
  ShareTurn turn;
};

Members On(const Card& card, Members members) {
  for (ShareMember& member : members) member.free_bytes = card.free_bytes;
  return members;
}
uint64_t Next(const Card& card, const Members& members) {
  const Members all = On(card, members);
  return NextHolder(card.turn, all.data(), all.size());
}
uint64_t ToMove(const Card& card, const Members& members, size_t self) {
  const Members all = On(card, members);
  return BytesToMove(card.turn, all.data(), all.size(), self);
}
bool ServesSecond(const Card& card, const Members& members) {
  const Members all = On(card, members);
  return CanBeServed(all.data(), all.size(), 1);
}
bool Waits(const Card& card, const Members& members, size_t self) {
  const Members all = On(card, members);
  return MustWait(card.turn, all.data(), all.size(), self);
}

TEST(ShareTurns, AllRunWhileAllMemoryFits) {
  const Members members = {Member(1, 30), Member(2, 30)};
  const Card card = {20 * kGiB, {0, 0, 0}};
  EXPECT_EQ(Next(card, members), 0u);
  EXPECT_FALSE(Waits(card, members, 0));
  EXPECT_FALSE(Waits(card, members, 1));
  EXPECT_EQ(ToMove(card, members, 0), 0u);
}

TEST(ShareTurns, ARequestThatDoesNotFitGetsTheTurnAndOnlyWhatItLacksMoves) {
  const Members members = {Member(1, 60), Member(2, 10, 0, 30)};
  Card card = {10 * kGiB, {0, 0, 0}};
  card.turn.holder = Next(card, members);
  EXPECT_EQ(card.turn.holder, 2u);
  EXPECT_EQ(ToMove(card, members, 0), 20 * kGiB);
  EXPECT_TRUE(Waits(card, members, 0));
  EXPECT_FALSE(Waits(card, members, 1));
}

TEST(ShareTurns, APausedProcessWaitsLacksNothingAndGivesFirst) {
  Members members = {Member(1, 30), Member(2, 20, 10), Member(3, 10, 0, 20)};
  members[1].is_paused = true;
  members[1].is_idle = true;
  members[1].is_waiting = false;
  members[0].is_idle = true;
  Card card = {10 * kGiB, {2, 0, 0}};
  EXPECT_EQ(LackingBytes(members[1]), 0u);
  card.turn.holder = Next(card, members);
  EXPECT_EQ(card.turn.holder, 3u);
  EXPECT_EQ(ToMove(card, members, 1), 10 * kGiB);
  EXPECT_EQ(ToMove(card, members, 0), 0u);
  EXPECT_TRUE(Waits(card, members, 1));
  members[2].wanted_bytes = 0;
  members[2].is_idle = true;
  EXPECT_EQ(Next(card, members), 0u);
  card.turn.holder = 0;
  EXPECT_TRUE(Waits(card, members, 1));
  EXPECT_FALSE(Waits(card, members, 0));
}

TEST(ShareTurns, TheReserveCountsOnceForAllRequestsOnAGpu) {
  Members members = {Member(1, 10, 0, 4), Member(1, 10, 0, 4), Member(2, 10, 3)};
  for (ShareMember& member : members) member.reserve_bytes = kGiB;
  EXPECT_EQ(LackingBytes(members.data(), members.size(), 1, 1), 9 * kGiB);
  EXPECT_EQ(LackingBytes(members.data(), members.size(), 2, 1), 3 * kGiB) << "no request waits";
  EXPECT_EQ(Next({12 * kGiB, {0, 0, 0}}, members), 0u);
  EXPECT_NE(Next({11 * kGiB, {0, 0, 0}}, members), 0u);
}

TEST(ShareTurns, AProcessWhoseMemoryIsNotNeededContinues) {
  const Members members = {Member(1, 50), Member(2, 10), Member(3, 0, 0, 30)};
  const Card card = {0, {3, 0, 0}};
  EXPECT_EQ(ToMove(card, members, 0), 30 * kGiB);
  EXPECT_EQ(ToMove(card, members, 1), 0u);
  EXPECT_FALSE(Waits(card, members, 1));
}

TEST(ShareTurns, IdleMemoryLeavesFirstAndInteractiveMemoryLast) {
  Members members = {Member(1, 50), Member(2, 20), Member(3, 60), Member(4, 0, 0, 40)};
  members[1].is_idle = true;
  members[2].is_interactive = true;
  const Card card = {0, {4, 0, 0}};
  EXPECT_EQ(ToMove(card, members, 1), 20 * kGiB);
  EXPECT_EQ(ToMove(card, members, 0), 20 * kGiB);
  EXPECT_EQ(ToMove(card, members, 2), 0u);
}

TEST(ShareTurns, ATurnLastsUntilAnExchangeIsATenthOfIt) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 2 * kSecond;
  Card card = {10 * kGiB, {1, 17 * kSecond, 0}};
  EXPECT_EQ(Next(card, members), 1u);
  card.turn.turn_ns = 18 * kSecond;
  EXPECT_EQ(Next(card, members), 2u);
  members[0].weight = 2;
  EXPECT_EQ(Next(card, members), 1u);
}

TEST(ShareTurns, AProcessThatSaysNothingGetsNoTurn) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[1].measured_at_ns = kSecond;
  Card card = {10 * kGiB, {1, 30 * kSecond, 0, kSecond + kShareLongestStallNs}};
  EXPECT_EQ(Next(card, members), 2u);
  ++card.turn.now_ns;
  EXPECT_EQ(Next(card, members), 1u);
}

TEST(ShareTurns, ALongExchangeMakesNoTurnLongerThanTheLimit) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 5 * kSecond;
  Card card = {10 * kGiB, {1, kShareMaxTurnNs - 1, 0}};
  EXPECT_EQ(Next(card, members), 1u);
  card.turn.turn_ns = kShareMaxTurnNs;
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, TheExchangeOfAProcessThatHasNothingToDoMakesNoTurnLonger) {
  Members members = {Member(1, 50), Member(2, 20, 30), Member(3, 10)};
  members[2].exchange_ns = 10 * kSecond;
  EXPECT_EQ(TurnLength(members.data(), members.size(), 1), kShareLeastTurnNs);
  members[2].is_waiting = true;
  EXPECT_EQ(TurnLength(members.data(), members.size(), 1), kShareMaxTurnNs);
}

TEST(ShareTurns, AnIdleHolderGivesTheTurnAway) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 2 * kSecond;
  members[0].is_idle = true;
  const Card card = {10 * kGiB, {1, kSecond, 0}};
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, InteractiveWorkDoesNotWaitForAWholeTurnButItsHeadStartIsBounded) {
  Members members = {Member(1, 60), Member(2, 0, 60)};
  members[0].exchange_ns = 2 * kSecond;
  members[1].is_interactive = true;
  const Card card = {10 * kGiB, {1, 2 * kSecond, 0}};
  EXPECT_EQ(Next(card, members), 2u);
  members[1].used_ns = kShareHeadStartNs + kSecond;
  EXPECT_EQ(Next(card, members), 1u);
}

TEST(ShareTurns, AHolderThatCannotGoOnLosesItsTurn) {
  Members members = {Member(1, 10, 50), Member(2, 0, 60)};
  Card card = {10 * kGiB, {1, 0, 0}};
  EXPECT_EQ(Next(card, members), 1u);
  card.turn.stalled_ns = kShareLongestStallNs;
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, WhileTheHolderIsStalledNobodyReliesOnOthers) {
  const Members members = {Member(1, 60), Member(2, 20), Member(3, 0, 0, 15)};
  Card card = {0, {3, 0, 0}};
  EXPECT_EQ(ToMove(card, members, 1), 0u);
  card.turn.stalled_ns = kShareLongestStallNs / 2;
  EXPECT_EQ(ToMove(card, members, 1), 15 * kGiB);
}

TEST(ShareTurns, ATurnLastsItsTimeAlsoIfAllFitsForAMoment) {
  Members members = {Member(1, 30), Member(2, 30)};
  Card card = {20 * kGiB, {1, kShareLeastTurnNs - 1, 0}};
  EXPECT_EQ(Next(card, members), 1u);
  EXPECT_FALSE(Waits(card, members, 1));
  card.turn.turn_ns = kShareLeastTurnNs;
  EXPECT_EQ(Next(card, members), 0u);
  card.turn.turn_ns = 0;
  members[0].is_idle = true;
  EXPECT_EQ(Next(card, members), 0u);
}

TEST(ShareTurns, TheGroupWithTheLeastTimeIsNext) {
  Members members = {Member(1, 60), Member(2, 0, 60), Member(3, 0, 60)};
  members[0].is_idle = true;
  members[1].used_ns = 5 * kSecond;
  members[2].used_ns = 4 * kSecond;
  const Card card = {10 * kGiB, {1, kSecond, 0}};
  EXPECT_EQ(Next(card, members), 3u);
}

TEST(ShareTurns, ThePlaceOfADeadHolderGoesToWhoWaits) {
  const Members members = {Member(2, 10, 60), Member(3, 5)};
  const Card card = {10 * kGiB, {1, 0, 0}};
  EXPECT_EQ(Next(card, members), 2u);
}

TEST(ShareTurns, MembersOfAGroupHaveTheirTurnsTogether) {
  const Members members = {Member(1, 30), Member(1, 10, 20), Member(2, 60)};
  const Card card = {0, {1, 0, 0}};
  EXPECT_FALSE(Waits(card, members, 0));
  EXPECT_TRUE(Waits(card, members, 1));  // until its memory is back
  EXPECT_TRUE(Waits(card, members, 2));
  EXPECT_EQ(ToMove(card, members, 0), 0u);
}

TEST(ShareTurns, WhatNoTurnCanServeIsRecognised) {
  Members members = {Member(1, 60), Member(2, 10, 0, 65)};
  const Card card = {10 * kGiB, {2, 0, 0}};
  EXPECT_TRUE(ServesSecond(card, members));

  members[0].stuck_bytes = 6 * kGiB;
  EXPECT_FALSE(ServesSecond(card, members));
}

TEST(ShareTurns, AGroupCanHaveWhatOthersGiveButNotWhatItsOwnMemoryNeeds) {
  Members members = {Member(1, 40), Member(2, 10, 20), Member(2, 5, 3)};
  members[0].stuck_bytes = 8 * kGiB;
  members[1].reserve_bytes = 1 * kGiB;
  for (ShareMember& member : members) member.free_bytes = 7 * kGiB;
  const uint64_t bytes = ReachableBytes(members.data(), members.size(), 1);
  EXPECT_EQ(bytes, (7 + 10 + 32 - 3 - 1) * kGiB);
}

TEST(RecentMinimum, ForgetsOldAmountsAndHidesShortHighOnes) {
  RecentMinimum least;
  EXPECT_EQ(least.Note(70, kSecond), 70u);
  EXPECT_EQ(least.Note(170, kSecond + RecentMinimum::kSpanNs), 70u);
  EXPECT_EQ(least.Note(60, kSecond + RecentMinimum::kSpanNs + 1), 60u);
  EXPECT_EQ(least.Note(170, kSecond + 2 * RecentMinimum::kSpanNs + 1), 60u);
  EXPECT_EQ(least.Note(170, kSecond + 3 * RecentMinimum::kSpanNs + 1), 170u);
  least.Note(50, 5 * kSecond);
  EXPECT_EQ(least.Note(90, 9 * kSecond), 90u);
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
    Card card = {random() % 20 * kGiB,
                 {random() % 6, random() % 10 * kSecond, random() % 10 * kSecond}};
    card.turn.holder = Next(card, members);
    card.turn.stalled_ns = 0;
    uint64_t lacking = 0;
    uint64_t movable = 0;
    uint64_t moves = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      const uint64_t one = ToMove(card, members, i);
      ASSERT_LE(one, MovableBytes(members[i]));
      moves += one;
      if (members[i].group == card.turn.holder) {
        lacking += LackingBytes(members[i]);
        ASSERT_EQ(one, 0u);
        ASSERT_EQ(Waits(card, members, i), members[i].away_bytes != 0);
      } else {
        movable += MovableBytes(members[i]);
      }
    }
    const uint64_t needed = lacking > card.free_bytes ? lacking - card.free_bytes : 0;
    ASSERT_EQ(moves, card.turn.holder == 0 ? 0 : std::min(needed, movable));
  }
}

// Two GPUs: two groups of one process on each, and a process on the second GPU alone.
class TwoGpus : public testing::Test {
 protected:
  static ShareMember On(uint64_t card, uint64_t free, ShareMember member) {
    member.card = card;
    member.free_bytes = free * kGiB;
    return member;
  }
  // Returns what the member `self` has to move while the group `holder` has the turn.
  uint64_t ToMove(uint64_t holder, size_t self) const {
    return BytesToMove({holder, 0, 0}, members_.data(), members_.size(), self);
  }
  bool Fits(uint64_t group) const { return GroupFits(members_.data(), members_.size(), group); }

  Members members_ = {On(1, 10, Member(1, 60)), On(2, 0, Member(1, 60)),
                      On(1, 10, Member(2, 0, 60)), On(2, 0, Member(2, 0, 50)),
                      On(2, 0, Member(3, 20))};
};

TEST_F(TwoGpus, AGroupOnBothGetsBothOrNone) {
  for (const uint64_t holder : {1, 2}) {
    const ShareTurn turn = {holder, 30 * kSecond, 0};
    EXPECT_EQ(NextHolder(turn, members_.data(), members_.size()), 2u);
  }
  EXPECT_EQ(ToMove(2, 0), 50 * kGiB);
  EXPECT_EQ(ToMove(2, 1), 50 * kGiB);
  EXPECT_EQ(ToMove(2, 4), 0u) << "the larger process on that GPU gives enough";
  EXPECT_FALSE(Fits(2));
}

TEST_F(TwoGpus, AProcessWhoseOwnGpuHasRoomNeedsNoTurn) {
  members_[2] = On(1, 10, Member(4, 0, 5));
  EXPECT_TRUE(Fits(4));
  EXPECT_FALSE(Fits(2));
  const ShareTurn turn = {1, 30 * kSecond, 0};
  members_[2].used_ns = 0;
  members_[3].used_ns = kSecond;
  EXPECT_EQ(NextHolder(turn, members_.data(), members_.size()), 2u) << "not 4, which fits";
}

TEST_F(TwoGpus, WhoRunsWhileMembersOfItsGpuWaitHasUsedTime) {
  const ShareTurn turn = {1, 30 * kSecond, 0};
  const auto ran = [&](size_t self) {
    return RanBeside(turn, members_.data(), members_.size(), self);
  };
  EXPECT_TRUE(ran(4));
  EXPECT_FALSE(ran(0)) << "its own turn is counted anyway";
  EXPECT_FALSE(ran(3)) << "it waits";
  members_[4].is_idle = true;
  EXPECT_FALSE(ran(4));
}

TEST_F(TwoGpus, TheLatestFigureOfEachGpuCounts) {
  members_[1].measured_at_ns = 5;
  members_[1].free_bytes = 7 * kGiB;
  EXPECT_EQ(FreeBytesOn(members_.data(), members_.size(), 2), 7 * kGiB);
  EXPECT_EQ(FreeBytesOn(members_.data(), members_.size(), 3), 0u);
  members_[3].measured_at_ns = 9;
  members_[3].free_bytes = kUnknownFree;
  EXPECT_EQ(FreeBytesOn(members_.data(), members_.size(), 2), 7 * kGiB);
  EXPECT_EQ(ShortfallOf(members_.data(), members_.size(), 2), (60 - 10 + 50 - 7) * kGiB);
}

TEST_F(TwoGpus, AGroupNeedsRoomOnlyOnGpusWhereItLacksMemory) {
  members_[3] = On(2, 0, Member(3, 0, 50));
  members_[2].away_bytes = 5 * kGiB;
  members_.push_back(On(2, 0, Member(2, 20)));
  EXPECT_TRUE(Fits(2));
  EXPECT_FALSE(Fits(3));
}

TEST_F(TwoGpus, ATurnDoesNotEndBeforeAllMembersHaveTheirMemory) {
  members_[1] = On(2, 0, Member(1, 0, 60));
  members_[2].is_waiting = true;
  ShareTurn turn = {1, 30 * kSecond, 0};
  EXPECT_EQ(NextHolder(turn, members_.data(), members_.size()), 1u);
  turn.stalled_ns = kShareLongestStallNs;
  EXPECT_EQ(NextHolder(turn, members_.data(), members_.size()), 2u);
}

TEST(UnservableTime, ContinuesAfterAMomentInWhichRequestsSeemToBeServable) {
  UnservableTime time;
  EXPECT_EQ(time.Note(false, 1 * kSecond), 0u);
  EXPECT_EQ(time.Note(false, 2 * kSecond), kSecond);
  EXPECT_EQ(time.Note(true, 2 * kSecond + 1), kSecond);
  EXPECT_EQ(time.Note(false, 2 * kSecond + 2), kSecond) << "the time before counts for neither";
  EXPECT_EQ(time.Note(false, 3 * kSecond + 2), 2 * kSecond);
}

TEST(UnservableTime, LeavesOutTheTimeInWhichMemoryWasAway) {
  UnservableTime time;
  time.Note(false, 1 * kSecond);
  time.Skip();
  EXPECT_EQ(time.Note(false, 20 * kSecond), 0u);
  EXPECT_EQ(time.Note(false, 21 * kSecond), kSecond);
}

TEST(UnservableTime, BeginsAnewOnceRequestsCanBeServedForLong) {
  UnservableTime time;
  time.Note(false, 1 * kSecond);
  EXPECT_EQ(time.Note(false, 3 * kSecond), 2 * kSecond);
  time.Note(true, 4 * kSecond);
  EXPECT_EQ(time.Note(true, 4 * kSecond + UnservableTime::kLastingNs), 0u);
  EXPECT_EQ(time.Note(false, 7 * kSecond), 0u);
}

class Growth : public ::testing::Test {
 protected:
  static constexpr uint64_t kPiece = 4 << 20;

  // The bytes that the second member moves for a request of the first one, and then has freed.
  uint64_t Moves(uint64_t wanted_bytes) {
    members_[0].wanted_bytes = wanted_bytes;
    const uint64_t bytes = growth_.BytesToMove(turn_, members_.data(), members_.size(), 1);
    growth_.Note(bytes);
    return bytes;
  }

  RoomForGrowth growth_;
  ShareTurn turn_ = {1, 0, 0};
  Members members_ = On({0, {}}, {Member(1, 10), Member(2, 60)});
};

TEST_F(Growth, MovesAsMuchForARequestAsForAllEarlierOnes) {
  EXPECT_EQ(Moves(kPiece), kPiece);
  EXPECT_EQ(Moves(kPiece), kPiece);
  EXPECT_EQ(Moves(kPiece), 2 * kPiece);
  EXPECT_EQ(Moves(kPiece), 4 * kPiece);
  EXPECT_EQ(Moves(64 * kPiece), 64 * kPiece) << "a request is served as a whole";
  EXPECT_EQ(Moves(0), 0u);
}

TEST_F(Growth, IsLimited) {
  EXPECT_EQ(Moves(kGiB), kGiB);
  EXPECT_EQ(Moves(kPiece), RoomForGrowth::kMaxBytes);
  members_[1].resident_bytes = 3 * kPiece;
  EXPECT_EQ(Moves(kPiece), 3 * kPiece);
}

TEST_F(Growth, BeginsAnewWithEachTurn) {
  Moves(kGiB);
  turn_.holder = 0;
  EXPECT_EQ(Moves(kPiece), 0u);
  turn_.holder = 1;
  EXPECT_EQ(Moves(kPiece), kPiece);
}

TEST_F(Growth, MovesNoMoreThanReturnsToTheHolder) {
  Moves(kGiB);
  members_[0].away_bytes = kPiece;
  EXPECT_EQ(Moves(0), kPiece);
  EXPECT_EQ(Moves(0), kPiece) << "what returned is not counted";
}

}  // namespace
}  // namespace vramstow
