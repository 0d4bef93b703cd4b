// Tests the requests that are read from a recording: to which device each belongs, and how much
// memory they could use.
#include "tools/replay/requests.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "base/units.h"
#include "tests/tools/list_source.h"

namespace vramstow {
namespace {

// Allocations of the driver layer have a device, and its frees have none, as in a trace.
class Recording {
 public:
  uint64_t Allocate(uint64_t address, int16_t device, Layer layer = Layer::kDriver,
                    int32_t result = 0) {
    return history_.Add({.address = address,
                         .size = 100 * kMiB,
                         .result = result,
                         .device = device,
                         .kind = EventKind::kAllocate,
                         .memory = MemoryKind::kDevice,
                         .layer = layer});
  }
  uint64_t Free(uint64_t address) {
    return history_.Add(
        {.address = address, .kind = EventKind::kFree, .memory = MemoryKind::kDevice});
  }
  void Refuse(uint64_t sequence) { history_.Refuse(sequence); }
  // Reads it as a source that reports when a free of the framework has completed.
  Requests ReadWithCompletions() const {
    struct Completing : ListSource {
      using ListSource::ListSource;
      bool ReportsFreeCompleted() const override { return true; }
    };
    Completing source(history_.events(), {});
    auto requests = ReadRequests(&source, std::nullopt);
    EXPECT_TRUE(requests.ok()) << requests.status();
    return requests.ok() ? *std::move(requests) : Requests();
  }
  Requests Read(std::map<std::string, std::string> facts = {}) const {
    ListSource source(history_.events(), std::move(facts));
    auto requests = ReadRequests(&source, std::nullopt);
    EXPECT_TRUE(requests.ok()) << requests.status();
    return requests.ok() ? *std::move(requests) : Requests();
  }

 private:
  History history_;
};

std::string KindsOf(const Requests& requests) {
  std::string kinds;
  for (const Request& request : requests.list) {
    kinds += request.kind == RequestKind::kAllocate ? 'a'
             : request.kind == RequestKind::kFree   ? 'f'
             : request.kind == RequestKind::kTry    ? 't'
                                                    : '-';
  }
  return kinds;
}

TEST(Requests, AFreeOfTheDriverBelongsToTheDeviceOfItsBlock) {
  Recording recording;
  for (uint64_t i = 0; i < 3; ++i) {
    recording.Allocate(0x1000, 1);
    recording.Allocate(0x9000, 0);
    recording.Free(0x1000);
  }
  recording.Free(0x5000);
  const Requests requests = recording.Read();
  EXPECT_EQ(requests.device, 1);
  EXPECT_EQ(KindsOf(requests), "afafaf");
  EXPECT_EQ(requests.other_devices, 3u);
}

TEST(Requests, OnlyTheFrameworksFreesComplete) {
  Recording recording;
  recording.Allocate(0x1000, 0);
  recording.Free(0x1000);
  recording.Allocate(0x1000, 0);
  EXPECT_EQ(KindsOf(recording.ReadWithCompletions()), "afa");
}

TEST(Requests, AFreeThatTheDriverRefusedIsNone) {
  Recording recording;
  recording.Allocate(0x1000, 0);
  recording.Refuse(recording.Free(0x1000));
  recording.Free(0x1000);
  EXPECT_EQ(KindsOf(recording.Read()), "a-f");
}

TEST(Requests, WhatTheDriverFreedLeavesRoomForTensors) {
  Recording recording;
  for (uint64_t i = 0; i < 5; ++i) {
    recording.Allocate(0x1000, 0);
    recording.Free(0x1000);
  }
  recording.Allocate(0x2000, 0, Layer::kFramework, 2);
  const Requests requests =
      recording.Read({{"device.0.free_bytes_at_start", std::to_string(400 * kMiB)}});
  EXPECT_EQ(requests.layer, Layer::kFramework);
  EXPECT_EQ(requests.available_bytes, 300 * kMiB);
}

}  // namespace
}  // namespace vramstow
