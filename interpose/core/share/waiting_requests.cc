#include "interpose/core/share/waiting_requests.h"

#include <algorithm>

#include "base/monotonic_clock.h"
#include "base/share_turns.h"
#include "interpose/core/pools/room_request.h"

namespace vramstow {
namespace {

// How long memory is reserved for a granted request.
constexpr uint64_t kGrantNs = 200'000'000;
// A request that comes less than this time after another one continues its count, because a thread
// that tries again after an answer may fail and ask again.
constexpr uint64_t kRetryNs = 1'000'000'000;

}  // namespace

bool WaitingRequests::any() const { return requests_.wanted_bytes() != 0; }

bool WaitingRequests::Look() {
  const uint64_t now = MonotonicTime();
  if (!any()) {
    since_ns_ = 0;
    if (now >= seen_at_ns_ + kRetryNs) unservable_.Reset();
    return false;
  }
  seen_at_ns_ = now;
  if (since_ns_ != 0) return false;
  since_ns_ = now;
  return true;
}

uint64_t WaitingRequests::LackingBytes(const MovableMemory::Figures& figures) {
  if (MonotonicTime() > granted_until_ns_) granted_bytes_ = 0;
  const uint64_t served =
      figures.resident_bytes - std::min(figures.resident_bytes, granted_from_bytes_);
  const uint64_t granted = granted_bytes_ - std::min(granted_bytes_, served);
  // While memory is on the host, a request may ask for memory that returns with it.
  const uint64_t wanted = figures.away_bytes != 0 ? 0 : requests_.wanted_bytes();
  return std::max(wanted, granted);
}

WaitingRequests::Answer WaitingRequests::Decide(const MovableMemory::Figures& figures,
                                                const Situation& situation) {
  const uint64_t wanted = requests_.wanted_bytes();
  if (wanted == 0 || figures.away_bytes != 0) {
    unservable_.Skip();
    return Answer::kNone;
  }
  if (situation.has_room) return Answer::kGrant;
  const uint64_t now = MonotonicTime();
  // A figure of a stopped process may never be new.
  const bool is_known = situation.is_fresh || now >= since_ns_ + kShareLongestStallNs;
  const bool is_too_large =
      wanted + figures.resident_bytes + ReservedBytes(figures.total_bytes) > figures.total_bytes;
  if (is_too_large) return is_known ? Answer::kRefuse : Answer::kNone;
  const bool is_long = unservable_.Note(situation.can_be_served, now) >= UnservableTime::kRefusalNs;
  return is_long && is_known && !situation.can_be_served ? Answer::kRefuse : Answer::kNone;
}

void WaitingRequests::Give(Answer answer, uint64_t resident_bytes) {
  const bool is_granted = answer == Answer::kGrant;
  granted_bytes_ = is_granted ? requests_.wanted_bytes() : 0;
  granted_from_bytes_ = resident_bytes;
  granted_until_ns_ = MonotonicTime() + kGrantNs;
  unservable_.Reset();
  if (is_granted) {
    requests_.GrantAll();
  } else {
    requests_.RefuseLargest();
  }
}

void WaitingRequests::TryAgain() {
  if (any()) requests_.GrantAll();
}

void WaitingRequests::Reset() {
  requests_.Reset();
  since_ns_ = 0;
  seen_at_ns_ = 0;
  unservable_.Reset();
  granted_bytes_ = 0;
}

}  // namespace vramstow
