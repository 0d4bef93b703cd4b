#include "tools/jobs/job_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tracer/recorder.h"

namespace vramstow {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

void** RunSlot() {
  thread_local void* slot = nullptr;
  return &slot;
}

bool Never() { return false; }

JobTraces TracesOf(const std::string& directory, const std::string& run_id, time_t begin,
                   const std::function<bool()>& stop) {
  return ReadJobTraces({.directory = directory, .run_id = run_id, .begin = begin}, stop);
}

// A folder with one trace of the run "1-a" that has 200,000 events.
std::string FolderWithTrace() {
  static const std::string* const folder_of_all = [] {
    auto* folder = new std::string(testing::TempDir() + "/run-traces");
    std::filesystem::remove_all(*folder);
    std::filesystem::create_directory(*folder);
    static Recorder recorder;
    EXPECT_EQ(recorder.Open({folder->c_str(), "job", RunSlot}), RecorderError::kOk);
    recorder.Describe("run.id", "1-a");
    for (uint64_t i = 1; i <= 200000; ++i) {
      recorder.Record(
          {.address = i, .size = 1, .kind = EventKind::kAllocate, .memory = MemoryKind::kDevice});
    }
    recorder.Close();
    return folder;
  }();
  return *folder_of_all;
}

TEST(ReadJobTraces, FindsTheTracesOfTheRunOnly) {
  const JobTraces found = TracesOf(FolderWithTrace(), "1-a", time(nullptr), Never);
  ASSERT_THAT(found.facts, SizeIs(1));
  EXPECT_EQ(found.facts[0].peak.allocated_bytes, 200000u);
  EXPECT_THAT(TracesOf(FolderWithTrace(), "1-b", time(nullptr), Never).facts, IsEmpty());
}

// A run whose iterations each leave a block behind ends well, and the user learns of the leak.
TEST(ReadJobTraces, FindsAFaultThatDidNotEndTheRun) {
  const std::string folder = testing::TempDir() + "/leaking-run";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  static Recorder recorder;
  ASSERT_EQ(recorder.Open({folder.c_str(), "job", RunSlot}), RecorderError::kOk);
  recorder.Describe("run.id", "2-a");
  for (uint64_t i = 1; i <= 20; ++i) {
    recorder.RecordMark(MarkKind::kMoment, recorder.InternAnnotation("step"), i);
    recorder.Record({.address = i << 30,
                     .size = 8 << 20,
                     .kind = EventKind::kAllocate,
                     .memory = MemoryKind::kDevice});
  }
  recorder.Close();
  const JobTraces found = TracesOf(folder, "2-a", time(nullptr), Never);
  ASSERT_THAT(found.facts, SizeIs(1));
  ASSERT_FALSE(found.facts[0].advice.empty());
  EXPECT_EQ(found.facts[0].advice.front().id, AdviceId::kGrowingMemory);
}

TEST(ReadJobTraces, AddsNoCopyThatWasMadeWhileTheProcessRan) {
  const std::string& folder = FolderWithTrace();
  const std::filesystem::path trace = *std::filesystem::directory_iterator(folder);
  const std::string copy = folder + "/" + trace.stem().string() + "-oom.stow";
  std::filesystem::copy_file(trace, copy);
  EXPECT_THAT(TracesOf(folder, "1-a", time(nullptr), Never).facts, SizeIs(1));
  std::filesystem::remove(copy);
}

TEST(ReadJobTraces, LeavesOutFilesFromLongBeforeTheRun) {
  const time_t later = time(nullptr) + 7200;
  EXPECT_THAT(TracesOf(FolderWithTrace(), "1-a", later, Never).facts, IsEmpty());
}

TEST(ReadJobTraces, StopsInTheMiddleOfATraceWhenItIsTold) {
  int asked = 0;
  const JobTraces found =
      TracesOf(FolderWithTrace(), "1-a", time(nullptr), [&asked] { return ++asked > 2; });
  EXPECT_TRUE(found.stopped);
  EXPECT_EQ(asked, 3) << "and asks no more";
}

TEST(ReadJobTraces, AFolderThatIsNotThereHasNone) {
  EXPECT_THAT(TracesOf("/does/not/exist", "1-a", time(nullptr), Never).facts, IsEmpty());
}

}  // namespace
}  // namespace vramstow
