#include "base/share_turns.h"

#include <algorithm>

namespace vramstow {
namespace {

template <typename Is>
bool AnyOf(const ShareMember* members, size_t count, Is is) {
  return std::any_of(members, members + count, is);
}

// The bytes that the members lack for which `counts` returns true, and the reserve, once, if a
// request of one waits.
template <typename Counts>
uint64_t SumOfLacking(const ShareMember* members, size_t count, Counts counts) {
  uint64_t bytes = 0;
  uint64_t reserve = 0;
  for (size_t i = 0; i < count; ++i) {
    const ShareMember& member = members[i];
    if (!counts(member) || member.is_paused) continue;
    bytes += LackingBytes(member);
    if (member.wanted_bytes != 0) reserve = std::max(reserve, member.reserve_bytes);
  }
  return bytes + reserve;
}

// The bytes that all members on this GPU lack.
uint64_t AllLacking(const ShareMember* members, size_t count, uint64_t card) {
  return SumOfLacking(members, count,
                      [card](const ShareMember& member) { return member.card == card; });
}

// True if the free memory of this GPU suffices for everything that members lack there.
bool HasRoom(const ShareMember* members, size_t count, uint64_t card) {
  return AllLacking(members, count, card) <= FreeBytesOn(members, count, card);
}

// The time that decides which group is next: the group with the least time is.
int64_t Claim(const ShareMember& member) {
  const auto used = static_cast<int64_t>(member.used_ns);
  return member.is_interactive ? used - static_cast<int64_t>(kShareHeadStartNs) : used;
}

// Returns the waiting member of another group than the holder that should be next, or null.
const ShareMember* FirstWaiting(const ShareTurn& turn, const ShareMember* members, size_t count) {
  const ShareMember* first = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const ShareMember& member = members[i];
    if (member.group == turn.holder || !member.is_waiting) continue;
    if (turn.now_ns > member.measured_at_ns + kShareLongestStallNs) continue;
    if (LackingBytes(members, count, member.group) == 0) continue;
    if (GroupFits(members, count, member.group)) continue;
    if (first == nullptr || Claim(member) < Claim(*first)) first = &member;
  }
  return first;
}

// True if the turn of the holder, a living group, ends in favour of the member `next`.
bool TurnEnds(const ShareTurn& turn, const ShareMember* members, size_t count,
              const ShareMember& next) {
  if (turn.stalled_ns >= kShareLongestStallNs) return true;
  bool is_idle = true;
  int64_t claim = INT64_MAX;
  uint64_t exchange = 0;
  for (size_t i = 0; i < count; ++i) {
    if (members[i].group != turn.holder) continue;
    is_idle = is_idle && members[i].is_idle && LackingBytes(members[i]) == 0;
    claim = std::min(claim, Claim(members[i]));
    exchange = std::max(exchange, members[i].exchange_ns);
  }
  if (is_idle) return true;
  // A burst of interactive work does not wait for a whole turn, but exchanges must not take more
  // time than the work between them.
  const uint64_t least = std::max(exchange, next.exchange_ns);
  if (next.is_interactive && Claim(next) < claim && turn.turn_ns >= least) return true;
  // The turn has not begun for members that still lack memory. A stall ends it.
  if (LackingBytes(members, count, turn.holder) != 0) return false;
  return turn.turn_ns >= TurnLength(members, count, turn.holder);
}

// True if the turn of the holder goes on although all memory fits for the moment. A program frees
// memory and requests it again in each of its steps: if its turn ended each time, jobs would take
// turns for single requests.
bool LastsWhileAllFit(const ShareTurn& turn, const ShareMember* members, size_t count) {
  const bool has_work = AnyOf(members, count, [&](const ShareMember& member) {
    return member.group == turn.holder && !member.is_idle;
  });
  return has_work && turn.turn_ns < TurnLength(members, count, turn.holder);
}

// True if `one` gives up memory before `other`.
bool GivesBefore(const ShareMember& one, const ShareMember& other) {
  if (one.is_paused != other.is_paused) return one.is_paused;
  if (one.is_idle != other.is_idle) return one.is_idle;
  if (one.is_interactive != other.is_interactive) return other.is_interactive;
  return MovableBytes(one) > MovableBytes(other);
}

}  // namespace

uint64_t LackingBytes(const ShareMember* members, size_t count, uint64_t group) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    if (members[i].group == group) bytes += LackingBytes(members[i]);
  }
  return bytes;
}

uint64_t LackingBytes(const ShareMember* members, size_t count, uint64_t group, uint64_t card) {
  return SumOfLacking(members, count, [group, card](const ShareMember& member) {
    return member.group == group && member.card == card;
  });
}

uint64_t FreeBytesOn(const ShareMember* members, size_t count, uint64_t card) {
  const ShareMember* latest = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (members[i].card != card || members[i].free_bytes == kUnknownFree) continue;
    if (latest == nullptr || members[i].measured_at_ns > latest->measured_at_ns)
      latest = &members[i];
  }
  return latest == nullptr ? 0 : latest->free_bytes;
}

uint64_t ShortfallOf(const ShareMember* members, size_t count, uint64_t group) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t card = members[i].card;
    const auto counts = [&](const ShareMember& earlier) {
      return earlier.group == group && earlier.card == card;
    };
    if (members[i].group != group || AnyOf(members, i, counts)) continue;
    const uint64_t lacking = LackingBytes(members, count, group, card);
    bytes += lacking - std::min(lacking, FreeBytesOn(members, count, card));
  }
  return bytes;
}

bool AllFit(const ShareMember* members, size_t count) {
  return std::all_of(members, members + count, [&](const ShareMember& member) {
    return HasRoom(members, count, member.card);
  });
}

bool GroupFits(const ShareMember* members, size_t count, uint64_t group) {
  return std::all_of(members, members + count, [&](const ShareMember& member) {
    return member.group != group || LackingBytes(members, count, group, member.card) == 0 ||
           HasRoom(members, count, member.card);
  });
}

uint64_t TurnLength(const ShareMember* members, size_t count, uint64_t group) {
  uint64_t exchange = 0;
  uint64_t weight = 1;
  for (size_t i = 0; i < count; ++i) {
    const bool is_own = members[i].group == group;
    if (is_own) weight = std::max<uint64_t>(weight, members[i].weight);
    // Who has nothing to do takes no part in the next exchange.
    if (is_own || members[i].is_waiting) exchange = std::max(exchange, members[i].exchange_ns);
  }
  const uint64_t length = exchange * (kShareExchangePart - 1);
  return std::clamp(length, kShareLeastTurnNs, kShareMaxTurnNs) * weight;
}

uint64_t NextHolder(const ShareTurn& turn, const ShareMember* members, size_t count) {
  if (AllFit(members, count)) return LastsWhileAllFit(turn, members, count) ? turn.holder : 0;
  const ShareMember* const next = FirstWaiting(turn, members, count);
  const bool lives =
      AnyOf(members, count, [&](const ShareMember& member) { return member.group == turn.holder; });
  if (next == nullptr) return lives ? turn.holder : 0;
  if (!lives || TurnEnds(turn, members, count, *next)) return next->group;
  return turn.holder;
}

bool MustWait(const ShareTurn& turn, const ShareMember* members, size_t count, size_t self) {
  const ShareMember& member = members[self];
  return member.is_paused || member.away_bytes != 0 || BytesToMove(turn, members, count, self) != 0;
}

uint64_t BytesToMove(const ShareTurn& turn, const ShareMember* members, size_t count, size_t self) {
  const ShareMember& member = members[self];
  if (turn.holder == 0 || member.group == turn.holder) return 0;
  const uint64_t lacking = LackingBytes(members, count, turn.holder, member.card);
  const uint64_t free_bytes = FreeBytesOn(members, count, member.card);
  if (lacking <= free_bytes) return 0;
  uint64_t left = lacking - free_bytes;
  for (size_t i = 0; i < count; ++i) {
    const ShareMember& other = members[i];
    if (i == self || other.card != member.card || other.group == turn.holder) continue;
    const bool is_first = GivesBefore(other, member) || (!GivesBefore(member, other) && i < self);
    // Once the holder is stalled, nobody relies on the others.
    const bool is_reliable = turn.stalled_ns < kShareLongestStallNs / 2;
    if (is_first && is_reliable) left -= std::min(left, MovableBytes(other));
  }
  return std::min(left, MovableBytes(member));
}

bool CanBeServed(const ShareMember* members, size_t count, size_t self) {
  const ShareMember& member = members[self];
  uint64_t reachable = FreeBytesOn(members, count, member.card);
  for (size_t i = 0; i < count; ++i) {
    const bool is_other = members[i].card == member.card && members[i].group != member.group;
    if (is_other) reachable += MovableBytes(members[i]);
  }
  return LackingBytes(members, count, member.group, member.card) <= reachable;
}

uint64_t ReachableBytes(const ShareMember* members, size_t count, size_t self) {
  const ShareMember& member = members[self];
  uint64_t bytes = FreeBytesOn(members, count, member.card) + member.resident_bytes;
  uint64_t others = member.reserve_bytes;
  for (size_t i = 0; i < count; ++i) {
    const ShareMember& other = members[i];
    if (i == self || other.card != member.card) continue;
    if (other.group == member.group) {
      others += other.away_bytes;
    } else {
      bytes += MovableBytes(other);
    }
  }
  return bytes - std::min(bytes, others);
}

uint64_t RecentMinimum::Note(uint64_t amount, uint64_t now_ns) {
  if (now_ns >= began_ns_ + kSpanNs) {
    const bool is_old = now_ns >= began_ns_ + 2 * kSpanNs;
    before_ = is_old ? ~uint64_t{0} : least_;
    least_ = ~uint64_t{0};
    began_ns_ = now_ns;
  }
  least_ = std::min(least_, amount);
  return std::min(before_, least_);
}

bool RanBeside(const ShareTurn& turn, const ShareMember* members, size_t count, size_t self) {
  const ShareMember& member = members[self];
  if (member.group == turn.holder || member.is_waiting || member.is_idle) return false;
  return AllLacking(members, count, member.card) != 0;
}

uint64_t UnservableTime::Note(bool can_be_served, uint64_t now_ns) {
  if (!can_be_served) {
    const bool counts = noted_at_ns_ != 0 && servable_from_ns_ == 0;
    if (counts) count_ns_ += now_ns - std::min(now_ns, noted_at_ns_);
    servable_from_ns_ = 0;
  } else if (servable_from_ns_ == 0) {
    servable_from_ns_ = now_ns;
  } else if (now_ns >= servable_from_ns_ + kLastingNs) {
    count_ns_ = 0;
  }
  noted_at_ns_ = now_ns;
  return count_ns_;
}

uint64_t RoomForGrowth::BytesToMove(const ShareTurn& turn, const ShareMember* members, size_t count,
                                    size_t self) {
  const ShareMember& member = members[self];
  if (turn.holder != holder_) {
    holder_ = turn.holder;
    freed_bytes_ = 0;
  }
  grows_ = !AnyOf(members, count, [&](const ShareMember& other) {
    return other.group == turn.holder && other.card == member.card && other.away_bytes != 0;
  });
  const uint64_t bytes = vramstow::BytesToMove(turn, members, count, self);
  if (bytes == 0 || !grows_) return bytes;
  const uint64_t more = std::min(freed_bytes_, kMaxBytes);
  return std::max(bytes, std::min(more, MovableBytes(member)));
}

}  // namespace vramstow
