// Tests the quiet mode of a stack capture: it uses no heap, does not read the list of loaded
// libraries, and captures the same stack as the usual mode.
#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/capture/native_stack.h"
#include "tracer/capture/stack_capture.h"
#include "tracer/capture/unwind_rule.h"
#include "tracer/format/reader.h"
#include "tracer/recorder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace {
thread_local int asked_for_libraries = 0;
thread_local int asked_for_memory = 0;
}  // namespace

#ifndef SANITIZED
// Replaces the functions of the heap by functions that count the calls and pass them to glibc.
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  ++asked_for_memory;
  return __libc_malloc(size);
}
extern "C" int dl_iterate_phdr(int (*visit)(dl_phdr_info*, size_t, void*), void* argument) {
  ++asked_for_libraries;
  static const auto real =
      reinterpret_cast<decltype(&dl_iterate_phdr)>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  return real(visit, argument);
}
#endif

namespace vramstow {
namespace {

struct Look {
  Recorder* recorder;
  bool is_quiet;
  uint32_t stack;
  int libraries;
  int memory;
};

__attribute__((noinline)) int Capture(const void* key, const void*) {
  Look* const look = *static_cast<Look* const*>(key);
  const int libraries = asked_for_libraries;
  const int memory = asked_for_memory;
  look->stack = look->is_quiet ? look->recorder->CaptureStackQuietly(EventKind::kAllocate)
                               : look->recorder->CaptureStack(EventKind::kAllocate);
  look->libraries = asked_for_libraries - libraries;
  look->memory = asked_for_memory - memory;
  return 0;
}

// Makes the same call in both modes, with a frame of libc in between.
void CaptureThroughLibc(Look* look) { std::bsearch(&look, &look, 1, sizeof look, Capture); }

std::vector<uint64_t> OffsetsOf(TraceReader* reader, uint32_t stack) {
  std::vector<uint64_t> offsets;
  for (const TraceFrame& frame : reader->Stack(stack)) offsets.push_back(frame.offset);
  return offsets;
}

class QuietStackTest : public testing::Test {
 protected:
  QuietStackTest() {
    EXPECT_EQ(recorder_->Open({folder_.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                               StackMode::kSites}),
              RecorderError::kOk);
  }
  TemporaryFolder folder_;
  Recorder* const recorder_ = NewRecorder();
};

TEST_F(QuietStackTest, AsksNobodyAndSeesTheSameFrames) {
#ifdef SANITIZED
  GTEST_SKIP() << "sanitizers have functions of their own in place of these";
#endif
  recorder_->LookAtLibraries();
  Look looks[2] = {{recorder_, true, 0, 0, 0}, {recorder_, false, 0, 0, 0}};
  for (Look& look : looks) CaptureThroughLibc(&look);
  EXPECT_NE(looks[0].stack, 0u);
  EXPECT_EQ(looks[0].libraries, 0);
  EXPECT_EQ(looks[0].memory, 0);
  EXPECT_GT(looks[1].libraries, 0) << "otherwise this test counts nothing";
  Event event = Allocation(0x1000, 512);
  event.stack = looks[0].stack;
  recorder_->RecordWithStack(event);
  recorder_->Close();

  TraceReader reader;
  ASSERT_EQ(reader.Open((folder_.path() + "/test.stow").c_str()), ReadError::kOk);
  ASSERT_TRUE(reader.Next(&event));
  std::vector<uint64_t> quiet = OffsetsOf(&reader, looks[0].stack);
  std::vector<uint64_t> usual = OffsetsOf(&reader, looks[1].stack);
  ASSERT_GT(quiet.size(), 6u);
  // The first three frames are left out. The third one is in Capture, which makes a separate call
  // for each mode, so the frames differ.
  quiet.erase(quiet.begin(), quiet.begin() + 3);
  usual.erase(usual.begin(), usual.begin() + 3);
  EXPECT_EQ(quiet, usual);
}

// The unwind rule of the outermost frame must be known. Otherwise each capture would search for it
// and examine every frame again.
TEST(QuietWalk, KnowsTheOutermostFrame) {
  static UnwindTable table;
  static NativeStack stack;
  FramePlace here = {};
  VRAMSTOW_HERE(here);
  stack.Walk(&table, here, 1, CaptureMode::kQuiet);
  ASSERT_GT(stack.count(), 2u);
  const NativeFrame& outermost = stack.frames()[stack.count() - 1];
  EXPECT_EQ(FindUnwindRule(outermost.place.address - 1, CaptureMode::kQuiet).kind,
            UnwindRule::kOutermost);
}

TEST_F(QuietStackTest, OneThatIsKnownHasItsNumberAgain) {
  std::vector<uint32_t> stacks;
  for (int i = 0; i < 3; ++i) {
    stacks.push_back(recorder_->CaptureStackQuietly(EventKind::kAllocate));
  }
  EXPECT_NE(stacks[1], 0u);
  EXPECT_EQ(stacks[1], stacks[2]);
  EXPECT_EQ(recorder_->CaptureStackQuietly(EventKind::kFree), 0u) << "of sites only";
}

BlockEvent Block() {
  BlockEvent block;
  block.kind = EventKind::kAllocate;
  block.device = 0;
  block.address = block.size = block.requested = 0x1000;
  return block;
}

// Two callers whose frames have the same size: the stacks differ in one return address.
__attribute__((noinline)) void RecordFromLeft(Recorder* recorder) {
  recorder->RecordBlock(Block());
  asm volatile("");
}
__attribute__((noinline)) void RecordFromRight(Recorder* recorder) {
  recorder->RecordBlock(Block());
  asm volatile("# not the same code as above");
}

class BlockStackTest : public testing::Test {
 protected:
  BlockStackTest() {
    RecorderConfig config = {folder_.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                             StackMode::kSites};
    config.slot_is_static = true;
    EXPECT_EQ(recorder_->Open(config), RecorderError::kOk);
  }
  TemporaryFolder folder_;
  Recorder* const recorder_ = NewRecorder();
};

// A stack is recognised without a walk more than a thousand times, after which it is walked anew.
TEST_F(BlockStackTest, CallersAreDistinguishedHoweverTheyTakeTurns) {
  constexpr int kEvents = 5000;
  const auto is_left = [](int i) { return i % 3 == 0 || i % 7 < 3; };
  for (int i = 0; i < kEvents; ++i) {
    void (*const record)(Recorder*) = is_left(i) ? RecordFromLeft : RecordFromRight;
    record(recorder_);
  }
  recorder_->Close();
  TraceReader reader;
  ASSERT_EQ(reader.Open((folder_.path() + "/test.stow").c_str()), ReadError::kOk);
  Event event;
  std::set<uint32_t> stacks[2];
  for (int i = 0; i < kEvents; ++i) {
    ASSERT_TRUE(reader.Next(&event));
    ASSERT_NE(event.stack, 0u);
    EXPECT_EQ(event.memory, MemoryKind::kDevice);
    EXPECT_EQ(event.layer, Layer::kFramework);
    stacks[is_left(i) ? 0 : 1].insert(event.stack);
  }
  // In this test the recorder's own frames are a part of the stack, and it has several functions
  // that capture one.
  for (const std::set<uint32_t>& of_caller : stacks) EXPECT_LE(of_caller.size(), 3u);
  for (const uint32_t stack : stacks[0]) EXPECT_FALSE(stacks[1].contains(stack));
}

TEST_F(BlockStackTest, RecordingABlockPreservesErrno) {
  for (int i = 0; i < 100'000; ++i) {  // fills chunks, too
    errno = 77;
    const bool is_recorded = recorder_->RecordBlock(Block()) != 0;
    ASSERT_EQ(errno, 77);
    ASSERT_TRUE(is_recorded);
  }
}

TEST_F(QuietStackTest, AfterItsEndARecorderGivesNone) {
  recorder_->Close();
  recorder_->LookAtLibraries();
  EXPECT_EQ(recorder_->CaptureStackQuietly(EventKind::kAllocate), 0u);
}

}  // namespace
}  // namespace vramstow
