#include "interpose/core/share/shared_card.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/core/runtime/driver.h"

namespace vramstow {
namespace {

uint64_t NumberOf(const CUuuid& uuid) {
  uint64_t halves[2];
  static_assert(sizeof halves == sizeof uuid.bytes);
  std::memcpy(halves, uuid.bytes, sizeof halves);
  return halves[0] ^ halves[1];
}

}  // namespace

bool IdentifyCard(const Driver& driver, int device, SharedCard* card) {
  CUuuid uuid = {};
  const auto ask = driver.cuDeviceGetUuid_v2();
  if (ask == nullptr || ask(&uuid, device) != CUDA_SUCCESS) return false;
  WriteDeviceUuid(uuid.bytes, card->name);
  card->number = std::max<uint64_t>(NumberOf(uuid) ^ driver.SimulatedGroup(), 1);
  return true;
}

bool JoinTable(const ShareSetting& setting, ShareTable* table, char* why, size_t why_size) {
  std::snprintf(why, why_size, "the path of the folder is too long");
  char folder[sizeof setting.folder];
  if (!ShareTable::Directory(setting.folder, std::getenv("XDG_RUNTIME_DIR"), geteuid(), folder,
                             sizeof folder)) {
    return false;
  }
  return table->Open(folder, why, why_size) && table->Join(why, why_size);
}

uint64_t LeastUsedTime(const ShareTable& table, uint64_t group) {
  const uint64_t holder = table.holder();
  uint64_t least = ~uint64_t{0};
  for (size_t i = 0; i < kMaxSharers; ++i) {
    const ShareSlot& slot = table.At(i);
    const ShareMember& member = slot.member;
    const bool is_other = member.group != 0 && member.group != group;
    const bool has_work = member.is_waiting || !member.is_idle || member.group == holder;
    if (!is_other || !has_work || !table.IsLive(i)) continue;
    const uint64_t turn_ns =
        member.group == holder ? slot.turn_ns / std::max(1u, member.weight) : 0;
    least = std::min(least, member.used_ns + turn_ns);
  }
  return least == ~uint64_t{0} ? 0 : least;
}

}  // namespace vramstow
