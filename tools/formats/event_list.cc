#include "tools/formats/event_list.h"

#include <algorithm>

namespace vramstow {

uint16_t EventList::Call(std::string_view name) {
  const auto found = std::ranges::find(calls, name);
  if (found != calls.end()) return static_cast<uint16_t>(found - calls.begin());
  calls.emplace_back(name);
  return static_cast<uint16_t>(calls.size() - 1);
}

}  // namespace vramstow
