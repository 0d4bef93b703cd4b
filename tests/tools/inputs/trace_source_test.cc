#include "tools/inputs/trace_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tools/analysis/accounts/analyzer.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

using testing::HasSubstr;

void** Slot() {
  thread_local void* slot = nullptr;
  return &slot;
}

std::string Message(const std::string& path) {
  return std::string(TraceSource::Open(path).status().message());
}

TEST(TraceSource, SaysWhatIsWrongWithAFile) {
  const std::string folder = testing::TempDir();
  EXPECT_THAT(Message(folder + "/none.stow"), HasSubstr("none.stow: No such file"));
  EXPECT_THAT(Message(folder), HasSubstr("is a directory"));
  std::ofstream(folder + "/text.stow") << "hello";
  EXPECT_THAT(Message(folder + "/text.stow"), HasSubstr("is not a vramstow trace"));
  std::ofstream(folder + "/empty.stow") << "";
  EXPECT_THAT(Message(folder + "/empty.stow"), HasSubstr("is not a vramstow trace"));
  ASSERT_EQ(mkfifo((folder + "/pipe.stow").c_str(), 0600), 0);
  EXPECT_THAT(Message(folder + "/pipe.stow"), HasSubstr("not an ordinary file"));
  remove((folder + "/pipe.stow").c_str());
}

TEST(TraceSource, OnlyFreesOfAnObservedAllocatorComplete) {
  for (const std::string_view pool : {"off", "on", ""}) {
    Recorder recorder;
    ASSERT_EQ(recorder.Open({testing::TempDir().c_str(), "frees", Slot}), RecorderError::kOk);
    const std::string path = recorder.path();
    if (!pool.empty()) recorder.Describe("option.pool", pool);
    recorder.Close();
    auto source = TraceSource::Open(path);
    ASSERT_TRUE(source.ok()) << source.status();
    Event event;
    while ((*source)->Next(&event)) continue;
    EXPECT_EQ((*source)->ReportsFreeCompleted(), pool == "off") << pool;
  }
}

TEST(TraceSource, WhatTheRecorderWritesIsWhatTheAnalysisTells) {
  static Recorder recorder;
  ASSERT_EQ(recorder.Open({testing::TempDir().c_str(), "recorded", Slot}), RecorderError::kOk);
  const std::string path = recorder.path();
  recorder.Describe("process.rank", "4");
  const uint16_t call = recorder.InternCall("cuMemAlloc");
  const uint16_t library = recorder.InternLibrary("/usr/lib/libjob.so", 0x1000, "ab");
  for (uint64_t i = 1; i <= 1000; ++i) {
    recorder.Record({.address = i * 4096,
                     .size = 4096,
                     .device = 0,
                     .call = call,
                     .library = library,
                     .kind = EventKind::kAllocate,
                     .memory = MemoryKind::kDevice});
  }
  recorder.Record({.address = 4096, .kind = EventKind::kFree, .memory = MemoryKind::kDevice});
  recorder.Close();
  auto source = TraceSource::Open(path);
  ASSERT_TRUE(source.ok()) << source.status();
  const Facts facts = Analyze(source->get(), path);
  EXPECT_EQ(facts.report.events, 1001u);
  EXPECT_TRUE(facts.report.closed);
  EXPECT_EQ(facts.counts.allocations, 1000u);
  EXPECT_EQ(facts.peak.allocated_bytes, 1000u * 4096);
  EXPECT_EQ(facts.live.device.blocks, 999u);
  EXPECT_EQ(facts.rank, 4);
  EXPECT_EQ(facts.by_library[0].name, "libjob.so");
  EXPECT_EQ(facts.by_call[0].name, "cuMemAlloc");
  remove(path.c_str());
}

}  // namespace
}  // namespace vramstow
