#include "base/event.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace vramstow {
namespace {

TEST(Event, EveryKindHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(EventKind::kModelWork); ++i) {
    const std::string name = EventKindName(static_cast<EventKind>(i));
    EXPECT_NE(name, "unknown") << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Event, EveryKindOfMemoryHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(MemoryKind::kHostPhysical); ++i) {
    const std::string name = MemoryKindName(static_cast<MemoryKind>(i));
    EXPECT_NE(name, "unknown") << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Event, NumbersOfALaterVersionReadAsUnknown) {
  EXPECT_STREQ(EventKindName(static_cast<EventKind>(250)), "unknown");
  EXPECT_STREQ(MemoryKindName(static_cast<MemoryKind>(250)), "unknown");
  EXPECT_STREQ(LayerName(static_cast<Layer>(250)), "unknown");
}

}  // namespace
}  // namespace vramstow
