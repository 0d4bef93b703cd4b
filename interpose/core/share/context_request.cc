#include "interpose/core/share/context_request.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/share_turns.h"
#include "interpose/core/runtime/driver.h"

namespace vramstow {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kTickNs = 10 * kMillisecond;
constexpr uint64_t kLockWaitNs = 1000 * kMillisecond;
// A context needs some hundred MiB on GPUs from 16 GiB on. The first guess is one part of the GPU
// in so many. It is doubled when the driver lacks memory although there is so much room, up to the
// largest part.
constexpr uint64_t kFirstPart = 32;
constexpr uint64_t kLargestPart = 4;

}  // namespace

bool ContextRequest::Serve(const ShareSetting& setting, uint64_t group, int device,
                           const Creation& creation) {
  const auto ask = driver_.cuDeviceTotalMem_v2();
  size_t total_bytes = 0;
  if (ask == nullptr || ask(&total_bytes, device) != CUDA_SUCCESS) return false;
  const KeepErrno keep_errno;
  while (is_busy_.exchange(true, std::memory_order_acquire)) SleepFor(kTickNs);
  began_ns_ = MonotonicTime();
  tried_at_ns_ = began_ns_;
  wanted_bytes_ = total_bytes / kFirstPart;
  char why[600];
  bool is_served = false;
  if (IdentifyCard(driver_, device, &card_) && JoinTable(setting, &table_, why, sizeof why)) {
    is_served = Publish(setting, group, total_bytes) && WaitForRoom(total_bytes, creation);
    table_.Leave();
  }
  table_.Close();
  waited_ns_.fetch_add(MonotonicTime() - began_ns_, std::memory_order_relaxed);
  is_busy_.store(false, std::memory_order_release);
  return is_served;
}

bool ContextRequest::WaitForRoom(uint64_t total_bytes, const Creation& creation) {
  UnservableTime unservable;
  for (;;) {
    const uint32_t seen = table_.sequence();
    const View view = Look();
    if (!view.is_shared) return creation.create(creation.object);
    if (view.has_room && view.is_fresh) {
      if (creation.create(creation.object)) return true;
      tried_at_ns_ = MonotonicTime();
      wanted_bytes_ *= 2;
      if (wanted_bytes_ > total_bytes / kLargestPart) return false;
      continue;
    }
    const bool is_long =
        unservable.Note(view.can_be_served, MonotonicTime()) >= UnservableTime::kRefusalNs;
    if (is_long && !view.can_be_served) return false;
    table_.Wait(seen, kTickNs);
  }
}

// Writes what this process lacks into its place in the table. Returns false if a stopped process
// keeps the table locked.
bool ContextRequest::Publish(const ShareSetting& setting, uint64_t group, uint64_t total_bytes) {
  constexpr uint64_t kLongWaitNs = 5 * kLockWaitNs;
  if (!table_.Lock(kLongWaitNs)) return false;
  ShareSlot& slot = table_.own();
  ShareMember& member = slot.member;
  member.group = group;
  member.card = card_.number;
  member.free_bytes = kUnknownFree;
  member.measured_at_ns = MonotonicTime();
  member.wanted_bytes = wanted_bytes_;
  member.reserve_bytes = ReservedBytes(total_bytes);
  member.is_waiting = true;
  member.is_interactive = setting.interactive;
  member.weight = setting.weight;
  member.used_ns = LeastUsedTime(table_, group);
  slot.process = getpid();
  std::snprintf(slot.name, sizeof slot.name, "%s", program_invocation_short_name);
  std::snprintf(slot.card_name, sizeof slot.card_name, "%s", card_.name);
  table_.Unlock();
  table_.Wake();
  return true;
}

ContextRequest::View ContextRequest::Look() {
  View view;
  const uint64_t live = table_.LiveSlots();
  if (!table_.Lock(kLockWaitNs)) {
    view.is_shared = true;
    view.can_be_served = true;
    return view;
  }
  ShareMember& own = table_.own().member;
  own.measured_at_ns = MonotonicTime();
  own.wanted_bytes = wanted_bytes_;
  table_.own().waited_ns = own.measured_at_ns - began_ns_;
  ShareMember members[kMaxSharers];
  size_t count = 0;
  size_t self = 0;
  for (size_t i = 0; i < kMaxSharers; ++i) {
    if ((live >> i & 1) == 0 || table_.At(i).member.group == 0) continue;
    const ShareMember& member = table_.At(i).member;
    if (i == table_.own_number()) {
      self = count;
    } else if (member.card == card_.number) {
      view.is_shared = true;
      const bool is_known = member.free_bytes != kUnknownFree;
      view.is_fresh = view.is_fresh || (is_known && member.measured_at_ns > tried_at_ns_);
    }
    members[count++] = member;
  }
  const uint64_t holder = table_.header().holder;
  table_.Unlock();
  const uint64_t group = members[self].group;
  const uint64_t lacking = LackingBytes(members, count, group, card_.number);
  view.has_room = GroupFits(members, count, group) ||
                  (holder == group && lacking <= FreeBytesOn(members, count, card_.number));
  view.can_be_served = CanBeServed(members, count, self);
  return view;
}

void ContextRequest::AbandonAfterFork() {
  table_.Abandon();
  is_busy_.store(false, std::memory_order_relaxed);
  waited_ns_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
