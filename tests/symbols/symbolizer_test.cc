// Tests that addresses in this program are resolved: by symbol, by line, and through inlined
// functions.
#include "tools/symbols/symbolizer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tracer/capture/caller.h"

namespace vramstow {

// The function from which the call is made.
__attribute__((noinline)) void* CallSite() {
  asm volatile("");
  return __builtin_return_address(0);
}

constexpr int kInnermostLine = __LINE__ + 2;
__attribute__((always_inline)) inline void* Innermost() {
  void* const place = CallSite();
  asm volatile("");
  return place;
}

constexpr int kMiddleLine = __LINE__ + 2;
__attribute__((always_inline)) inline void* Middle(int) {
  void* const place = Innermost();
  asm volatile("");
  return place;
}

constexpr int kOutermostLine = __LINE__ + 2;
__attribute__((noinline)) void* Outermost(const std::string& text) {
  void* const place = Middle(static_cast<int>(text.size()));
  asm volatile("");
  return place;
}

namespace {

CallerTable g_callers;

TraceLibrary LibraryOf(const void* place) {
  const CallerObject* const object = g_callers.FindDirect(place);
  if (object == nullptr) return {};
  return {object->path, object->base, object->build_id};
}

uint64_t OffsetIn(const TraceLibrary& library, const void* place) {
  return reinterpret_cast<uintptr_t>(place) - library.base;
}

TEST(SymbolizerTest, FindsInlinedFunctionsWithTheirFilesAndLines) {
  void* const place = Outermost("text");
  const TraceLibrary library = LibraryOf(place);
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.FailureReason(library), "");
  const std::vector<SourcePlace>& places = symbolizer.Resolve(library, OffsetIn(library, place));
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].function, "vramstow::Innermost()");
  EXPECT_EQ(places[1].function, "vramstow::Middle(int)");
  EXPECT_EQ(places[2].function.substr(0, 20), "vramstow::Outermost(");
  EXPECT_TRUE(places[0].is_inlined);
  EXPECT_TRUE(places[1].is_inlined);
  EXPECT_FALSE(places[2].is_inlined);
  const int lines[] = {kInnermostLine, kMiddleLine, kOutermostLine};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::filesystem::path(places[static_cast<size_t>(i)].file).filename(),
              "symbolizer_test.cc");
    EXPECT_EQ(places[static_cast<size_t>(i)].line, lines[i]);
  }
  EXPECT_EQ(&symbolizer.Resolve(library, OffsetIn(library, place)), &places) << "asked once";
}

TEST(SymbolizerTest, FindsNamesInALibraryWithoutDebugInformation) {
  void* const place = reinterpret_cast<char*>(&qsort) + 1;
  const TraceLibrary library = LibraryOf(place);
  Symbolizer symbolizer;
  const std::vector<SourcePlace>& places = symbolizer.Resolve(library, OffsetIn(library, place));
  ASSERT_FALSE(places.empty());
  EXPECT_NE(places.back().function.find("qsort"), std::string::npos) << places.back().function;
}

TEST(SymbolizerTest, KnowsNothingOfAPlaceOutsideOfTheLibrary) {
  const TraceLibrary library = LibraryOf(reinterpret_cast<void*>(&CallSite));
  Symbolizer symbolizer;
  EXPECT_TRUE(symbolizer.Resolve(library, 0).empty());
  EXPECT_TRUE(symbolizer.Resolve(library, uint64_t{1} << 40).empty());
}

TEST(SymbolizerTest, SaysWhyNothingIsKnown) {
  TraceLibrary library = LibraryOf(reinterpret_cast<void*>(&CallSite));
  ASSERT_FALSE(library.build_id.empty());
  library.build_id[0] = library.build_id[0] == '0' ? '1' : '0';
  Symbolizer symbolizer;
  EXPECT_NE(symbolizer.FailureReason(library).find("is not the file that was traced"),
            std::string_view::npos);
  EXPECT_TRUE(symbolizer.Resolve(library, 4096).empty());

  const TraceLibrary gone = {"/nowhere/libgone.so", 0, ""};
  EXPECT_EQ(symbolizer.FailureReason(gone),
            "cannot read /nowhere/libgone.so: No such file or directory.");
  const std::string text =
      (std::filesystem::temp_directory_path() / ("no-library-" + std::to_string(getpid())))
          .string();
  std::ofstream(text) << "text\n";
  EXPECT_EQ(symbolizer.FailureReason({text, 0, ""}), text + " is not a library or program.");
  EXPECT_TRUE(symbolizer.Resolve({text, 0, ""}, 1).empty());
  std::filesystem::remove(text);
}

// Who opens a pipe waits until somebody writes to it.
TEST(SymbolizerTest, OpensRegularFilesOnly) {
  const std::string pipe =
      (std::filesystem::temp_directory_path() / ("pipe-" + std::to_string(getpid()))).string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Symbolizer symbolizer;
  EXPECT_TRUE(symbolizer.Resolve({pipe, 0, ""}, 1).empty());
  EXPECT_EQ(symbolizer.FailureReason({pipe, 0, ""}), pipe + " is not a regular file.");
  EXPECT_EQ(symbolizer.FailureReason({"/dev/zero", 0, ""}), "/dev/zero is not a regular file.");
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace vramstow
