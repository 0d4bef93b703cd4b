#include "base/units.h"

#include <gtest/gtest.h>

#include <clocale>
#include <random>
#include <string>

namespace vramstow {
namespace {

uint64_t Bytes(const char* text) {
  uint64_t bytes = 0;
  EXPECT_TRUE(ParseBytes(text, &bytes)) << text;
  return bytes;
}

TEST(Units, BytesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(Bytes("0"), 0u);
  EXPECT_EQ(Bytes("512"), 512u);
  EXPECT_EQ(Bytes("512 B"), 512u);
  EXPECT_EQ(Bytes("64KiB"), 64 * kKiB);
  EXPECT_EQ(Bytes("64k"), 64 * kKiB);
  EXPECT_EQ(Bytes("24GiB"), 24 * kGiB);
  EXPECT_EQ(Bytes("24GB"), 24'000'000'000);
  EXPECT_EQ(Bytes("1.5kB"), 1'500u);
  EXPECT_EQ(Bytes("3 mb"), 3'000'000u);
  EXPECT_EQ(Bytes("1TB"), 1'000'000'000'000u);
  EXPECT_EQ(Bytes("2 mib"), 2 * kMiB);
  EXPECT_EQ(Bytes("1.5g"), kGiB + 512 * kMiB);
  EXPECT_EQ(Bytes("0.25T"), kTiB / 4);
}

TEST(Units, WhatIsNoNumberOfBytesIsRefusedAndLeavesTheOutputAlone) {
  for (const char* text : {"", "GiB", "-1", "1.", ".5", "1x", "1 GiBs", "1e9", "0x10", "1,5g", " 1",
                           "99999999999999999999", "9007199254740992k", "8388608T"}) {
    uint64_t bytes = 42;
    EXPECT_FALSE(ParseBytes(text, &bytes)) << text;
    EXPECT_EQ(bytes, 42u) << text;
  }
}

TEST(Units, DurationsNeedAUnit) {
  uint64_t nanoseconds = 0;
  EXPECT_TRUE(ParseDuration("10us", &nanoseconds));
  EXPECT_EQ(nanoseconds, 10000u);
  EXPECT_TRUE(ParseDuration("1.5ms", &nanoseconds));
  EXPECT_EQ(nanoseconds, 1500000u);
  EXPECT_TRUE(ParseDuration("2 s", &nanoseconds));
  EXPECT_EQ(nanoseconds, 2000000000u);
  EXPECT_TRUE(ParseDuration("0", &nanoseconds));
  EXPECT_EQ(nanoseconds, 0u);
  EXPECT_FALSE(ParseDuration("10", &nanoseconds));
  EXPECT_FALSE(ParseDuration("us", &nanoseconds));
  EXPECT_FALSE(ParseDuration("1min", &nanoseconds));
}

TEST(Units, BytesAreWrittenWithThreeDigits) {
  EXPECT_STREQ(FormatBytes(0).text, "0 B");
  EXPECT_STREQ(FormatBytes(1023).text, "1023 B");
  EXPECT_STREQ(FormatBytes(1024).text, "1.00 KiB");
  EXPECT_STREQ(FormatBytes(6900 * kMiB).text, "6.74 GiB");
  EXPECT_STREQ(FormatBytes(20 * kMiB).text, "20.0 MiB");
  EXPECT_STREQ(FormatBytes(512 * kMiB).text, "512 MiB");
  EXPECT_STREQ(FormatBytes(1023 * kMiB).text, "1.00 GiB");
  EXPECT_STREQ(FormatBytes(~uint64_t{0}).text, "16.0 EiB");
}

TEST(Units, TheHostsLocaleDoesNotChangeWhatIsWritten) {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    // The German locale is not installed. The text must be right in any locale, so the test uses
    // the one of the environment, but then it proves less.
    std::setlocale(LC_ALL, "");
  }
  EXPECT_STREQ(FormatBytes(1536 * kMiB).text, "1.50 GiB");
  std::setlocale(LC_ALL, "C");
}

TEST(Units, WhatIsWrittenIsReadBackWithinRounding) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t bytes = random() >> (1 + random() % 62);
    uint64_t back = 0;
    const ByteText text = FormatBytes(bytes);
    if (std::string(text.text).find_first_of("PE") != std::string::npos)
      continue;  // never an input
    ASSERT_TRUE(ParseBytes(text.text, &back)) << text.text;
    const double error = static_cast<double>(back) - static_cast<double>(bytes);
    EXPECT_LE(error < 0 ? -error : error, 0.006 * static_cast<double>(bytes)) << text.text;
  }
}

}  // namespace
}  // namespace vramstow
