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
  return std::max<uint64_t>(halves[0] ^ halves[1], 1);
}

}  // namespace

SharedCard IdentifyCard(const Driver& driver, int device) {
  CUuuid uuid = {};
  const auto ask = driver.cuDeviceGetUuid_v2();
  if (ask != nullptr) ask(&uuid, device);
  SharedCard card;
  WriteDeviceUuid(uuid.bytes, card.name);
  card.number = NumberOf(uuid);
  return card;
}

bool JoinTable(const ShareSetting& setting, ShareTable* table, char* why, size_t why_size) {
  std::snprintf(why, why_size, "the path of the folder is too long");
  char folder[200];
  if (!ShareTable::Directory(setting.folder, std::getenv("XDG_RUNTIME_DIR"), geteuid(), folder,
                             sizeof folder) ||
      !table->Open(folder, why, why_size)) {
    return false;
  }
  if (table->Join()) return true;
  std::snprintf(why, why_size, "the table has no free place");
  return false;
}

uint64_t LeastUsedTime(const ShareTable& table) {
  uint64_t least = ~uint64_t{0};
  for (size_t i = 0; i < kMaxSharers; ++i) {
    const ShareMember& member = table.At(i).member;
    if (i == table.own_number() || member.group == 0 || !table.IsLive(i)) continue;
    least = std::min(least, member.used_ns);
  }
  return least == ~uint64_t{0} ? 0 : least;
}

}  // namespace vramstow
