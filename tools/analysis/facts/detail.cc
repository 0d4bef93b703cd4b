#include "tools/analysis/facts/detail.h"

#include <algorithm>
#include <map>

namespace vramstow {

int DeviceAtPeak(const Detail& detail) {
  std::map<int, uint64_t> bytes;
  for (const Life& life : detail.lives) {
    if (life.birth > detail.peak_event) break;
    if (!life.pending && life.LivesAt(detail.peak_event)) bytes[life.device] += life.size;
  }
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  return most == bytes.end() ? 0 : most->first;
}

}  // namespace vramstow
