// Tests that the levels of a trace with gaps are lower bounds in exports, too.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/tools/list_source.h"
#include "tests/tools/units.h"
#include "tools/exports/column_stream.h"
#include "tools/exports/merged_trace.h"

namespace vramstow {
namespace {

// A tensor that may have been freed in the gap after it, and another one.
ListSource SourceWithGap() {
  History history;
  const auto allocate = [&](uint64_t address, uint64_t size) {
    return history.Add({.address = address,
                        .size = size,
                        .device = 0,
                        .kind = EventKind::kAllocate,
                        .memory = MemoryKind::kDevice,
                        .layer = Layer::kFramework});
  };
  const uint64_t last = allocate(0x100000000, 4 * kMega);
  const uint64_t next = allocate(0x200000000, 3 * kMega);
  ListSource source(history.events());
  source.SetGaps({{last, next}});
  return source;
}

TEST(LostBlocks, DoNotCountInColumnsAfterTheGap) {
  ListSource source = SourceWithGap();
  FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ColumnStream stream(fileno(file));
  ASSERT_TRUE(stream.Write(&source, 0, "gap"));
  std::rewind(file);
  while (std::fgetc(file) != '\n') {
    ASSERT_FALSE(std::feof(file));
  }
  constexpr size_t kRows = 2;
  constexpr size_t kAllocated = 11;  // the column
  std::vector<int64_t> numbers(kRows * (kAllocated + 1));
  ASSERT_EQ(std::fread(numbers.data(), sizeof(int64_t), numbers.size(), file), numbers.size());
  std::fclose(file);
  EXPECT_EQ(numbers[kAllocated * kRows], int64_t{4 * kMega});
  EXPECT_EQ(numbers[kAllocated * kRows + 1], int64_t{3 * kMega});
}

TEST(LostBlocks, DoNotCountInAMergedTraceAfterTheGap) {
  ListSource source = SourceWithGap();
  ProfilerTimeline timeline;
  timeline.first_ns = 0;
  timeline.last_ns = int64_t{1} << 60;
  MergedTrace merged(&source, {}, timeline);
  std::string text;
  while (merged.AddSome(&text)) continue;
  EXPECT_EQ(merged.events(), 2u);
  EXPECT_NE(text.find(R"("allocated":4194304)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("allocated":3145728)"), std::string::npos) << text;
  EXPECT_EQ(text.find(R"("allocated":7340032)"), std::string::npos) << text;
}

}  // namespace
}  // namespace vramstow
