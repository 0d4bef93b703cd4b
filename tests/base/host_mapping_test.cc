#include "base/host_mapping.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

constexpr char kFirst[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

TEST(HostMappingTest, AnswersAreFoundByTheDevicesName) {
  const std::string text = std::string(kFirst) + "=host;GPU-2=node:1;GPU-3=no:it = that;*=no:late";
  EXPECT_EQ("host", FindHostAnswer(text.c_str(), kFirst));
  EXPECT_EQ("node:1", FindHostAnswer(text.c_str(), "GPU-2"));
  EXPECT_EQ("no:it = that", FindHostAnswer(text.c_str(), "GPU-3"));
  EXPECT_EQ("no:late", FindHostAnswer(text.c_str(), "GPU-4"));
  EXPECT_EQ("", FindHostAnswer("GPU-2=host;;broken;", "GPU-4"));
  EXPECT_EQ("", FindHostAnswer("", "GPU-4"));
  EXPECT_EQ("", FindHostAnswer(nullptr, "GPU-4"));
}

TEST(HostMappingTest, OnlyWhatIsSaidRightCounts) {
  EXPECT_EQ(HostPlace::kHost, ReadHostMapping("host").place);
  EXPECT_EQ(HostPlace::kNode, ReadHostMapping("node:3").place);
  EXPECT_EQ(3, ReadHostMapping("node:3").node);
  EXPECT_EQ(HostPlace::kNone, ReadHostMapping("no:why").place);
  EXPECT_EQ("why", ReadHostMapping("no:why").reason);
  for (const char* wrong :
       {"", "hosts", "node", "node:", "node:-1", "node:1x", "node:99999999999"}) {
    EXPECT_EQ(HostPlace::kUnknown, ReadHostMapping(wrong).place) << wrong;
  }
}

TEST(HostMappingTest, ADevicesNameIsAsNvidiaSmiWritesIt) {
  unsigned char bytes[16];
  for (unsigned char i = 0; i < 16; ++i) bytes[i] = i;
  char text[kDeviceUuidBytes];
  WriteDeviceUuid(bytes, text);
  EXPECT_STREQ(kFirst, text);
}

}  // namespace
}  // namespace vramstow
