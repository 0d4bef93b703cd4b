#include "tools/exports/csv_writer.h"

#include <gtest/gtest.h>

#include "tests/tools/list_source.h"

namespace vramstow {
namespace {

TEST(Csv, HasOneLineForAnEvent) {
  const ListSource source({});
  CsvWriter csv(source);
  std::string text;
  csv.Append({.sequence = 1,
              .time_ns = 2,
              .address = 0xabc,
              .size = 512,
              .requested = 500,
              .object = 0x10,
              .offset = 3,
              .stream = 0,
              .thread = 7,
              .result = -1,
              .device = 1,
              .call = 4,
              .library = 5,
              .kind = EventKind::kAllocate,
              .memory = MemoryKind::kDeviceStream},
             &text);
  EXPECT_EQ(
      text,
      "1,2,7,allocate,device_stream,call-4,/lib/library-5.so,1,0x0,0xabc,512,500,0x10,3,-1\n");
}

TEST(Csv, WhatDoesNotApplyIsEmptyOrZero) {
  const ListSource source({});
  CsvWriter csv(source);
  std::string text;
  csv.Append({}, &text);
  EXPECT_EQ(text, "0,0,0,none,none,call-0,/lib/library-0.so,-1,,0x0,0,0,0x0,0,0\n");
}

class OddNames : public ListSource {
 public:
  OddNames() : ListSource({}) {}
  std::string_view LibraryPath(uint16_t) const override { return "/a \"b\",c.so"; }
};

TEST(Csv, OddNamesAreQuoted) {
  const OddNames source;
  CsvWriter csv(source);
  std::string text;
  csv.Append({}, &text);
  EXPECT_NE(text.find(",\"/a \"\"b\"\",c.so\","), std::string::npos) << text;
}

class HarmfulNames : public ListSource {
 public:
  HarmfulNames() : ListSource({}) {}
  std::string_view CallName(uint16_t) const override { return "=HYPERLINK(1)"; }
  std::string_view LibraryPath(uint16_t) const override { return "@\x1b[2J\r\n\xc2\x9b"; }
};

TEST(Csv, NamesAreNeitherFormulasNorControlTheTerminal) {
  const HarmfulNames source;
  CsvWriter csv(source);
  std::string text;
  csv.Append({}, &text);
  EXPECT_NE(text.find(",'=HYPERLINK(1),'@?[2J???,-1,"), std::string::npos) << text;
}

}  // namespace
}  // namespace vramstow
