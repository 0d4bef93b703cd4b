#include "tools/inputs/trace_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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

// Records a job whose blocks have many sizes, so that their addresses are used again in other ways.
// The job never has more than `most` bytes.
std::string RecordJob(uint64_t most) {
  static Recorder recorder;
  const std::string folder = testing::TempDir();
  const RecorderConfig config = {folder.c_str(), "cut", Slot};
  EXPECT_EQ(recorder.Open(config), RecorderError::kOk);
  std::string path = recorder.path();
  std::mt19937 random(1);
  std::vector<Event> live;
  uint64_t bytes = 0;
  for (int i = 0; i < 40'000; ++i) {
    Event event = {.address = (1 + random() % 100'000) * 512,
                   .size = (1 + random() % 64) * 1024,
                   .device = 0,
                   .kind = EventKind::kAllocate,
                   .memory = MemoryKind::kDevice,
                   .layer = Layer::kFramework};
    while (bytes + event.size > most) {
      std::swap(live[random() % live.size()], live.back());
      bytes -= live.back().size;
      live.back().kind = EventKind::kFree;
      recorder.Record(live.back());
      live.pop_back();
    }
    const auto is_there = [&event](const Event& one) { return one.address == event.address; };
    if (std::ranges::any_of(live, is_there)) continue;
    recorder.Record(event);
    live.push_back(event);
    bytes += event.size;
  }
  recorder.Close();
  return path;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// The newest events of a buffer lie at the beginning of the file. So if the end of the file is
// missing, events from the middle of the run are missing.
TEST(TraceSource, AnIncompleteTraceHasNoHigherPeakThanTheJob) {
  constexpr uint64_t kMost = 4 << 20;
  const std::string path = RecordJob(kMost);
  const std::string whole = BytesOf(path);
  ASSERT_GT(whole.size(), 500'000u);
  for (size_t part = 2; part < 10; ++part) {
    const size_t at = whole.size() * part / 10;
    std::string damaged = whole;
    damaged.replace(at, 300, std::string(300, 'x'));
    for (const std::string& bytes : {whole.substr(0, at), damaged}) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
      auto source = TraceSource::Open(path);
      ASSERT_TRUE(source.ok()) << source.status();
      const Facts facts = Analyze(source->get(), path);
      EXPECT_GT(facts.report.missing_events, 0u);
      EXPECT_LE(facts.peak.allocated_bytes, kMost) << part;
      EXPECT_GT(facts.peak.allocated_bytes, kMost - (64 << 10)) << part;
      EXPECT_LE(facts.live.device.bytes, kMost) << part;
    }
  }
  remove(path.c_str());
}

}  // namespace
}  // namespace vramstow
