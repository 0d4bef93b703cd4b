// Tests the requests that are read from a recording: to which device each belongs, and how much
// memory they could use.
#include "tools/replay/requests.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
             : request.kind == RequestKind::kFlush  ? 'e'
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

// The segments of PyTorch's own allocator, as a trace has them: the driver's functions that free
// memory are given no device.
class TracedCache {
 public:
  void Segment(uint64_t address, int32_t result = 0) {
    history_.Add({.address = address,
                  .size = 100 * kMiB,
                  .result = result,
                  .device = 0,
                  .call = 1,
                  .kind = EventKind::kAllocate,
                  .memory = MemoryKind::kDevice,
                  .layer = Layer::kPool});
  }
  void Return(uint64_t address) {
    history_.Add({.address = address,
                  .call = 2,
                  .kind = EventKind::kFree,
                  .memory = MemoryKind::kDevice,
                  .layer = Layer::kPool});
  }
  void Tensor(uint64_t address, EventKind kind) {
    history_.Add({.address = address,
                  .size = 100 * kMiB,
                  .device = 0,
                  .kind = kind,
                  .memory = MemoryKind::kDevice,
                  .layer = Layer::kFramework});
  }
  // A tensor that lives in a segment of its own.
  void Round(uint64_t address) {
    Segment(address);
    Tensor(address, EventKind::kAllocate);
    Tensor(address, EventKind::kFree);
  }
  Requests Read(std::vector<std::string> stacks_of_returns = {}) const {
    ReturningSource source(history_.events(), std::move(stacks_of_returns));
    auto requests = ReadRequests(&source, std::nullopt);
    EXPECT_TRUE(requests.ok()) << requests.status();
    return requests.ok() ? *std::move(requests) : Requests();
  }

 private:
  // The nth release of a segment has the nth stack, of one function.
  class ReturningSource : public ListSource {
   public:
    ReturningSource(std::vector<Event> events, std::vector<std::string> stacks)
        : ListSource(std::move(events), {{"option.pool", "off"}}), stacks_(std::move(stacks)) {}
    bool Next(Event* event) override {
      if (!ListSource::Next(event)) return false;
      is_return_ = event->layer == Layer::kPool && event->kind == EventKind::kFree;
      if (is_return_) ++returns_;
      return true;
    }
    uint32_t Stack() const override {
      return is_return_ && returns_ <= stacks_.size() ? returns_ : 0;
    }
    std::vector<CallFrame> Frames(uint32_t stack) const override {
      return {{.function = stacks_[stack - 1], .file = "torch/cuda/memory.py", .line = 1}};
    }

   private:
    std::vector<std::string> stacks_;
    uint32_t returns_ = 0;
    bool is_return_ = false;
  };

  History history_;
};

TEST(Requests, SegmentsThatATraceReturnsAreACallOfEmptyCache) {
  TracedCache cache;
  for (int i = 0; i < 3; ++i) {
    cache.Round(0x1000);
    cache.Return(0x1000);
  }
  const Requests requests = cache.Read();
  EXPECT_EQ(KindsOf(requests), "afeafeafe");
  EXPECT_EQ(requests.guessed_flushes, 2u);  // the last one changes nothing
}

TEST(Requests, AnAllocatorThatTheDriverRefusedASegmentMakesRoom) {
  TracedCache cache;
  cache.Round(0x1000);
  cache.Segment(0, 2);
  cache.Return(0x1000);
  cache.Round(0x1000);
  cache.Return(0x1000);
  cache.Round(0x1000);
  EXPECT_EQ(KindsOf(cache.Read()), "afafeaf");
}

TEST(Requests, ACallStackSaysWhoReturnedSegments) {
  TracedCache cache;
  for (int i = 0; i < 3; ++i) {
    cache.Round(0x1000);
    cache.Return(0x1000);
  }
  const Requests requests = cache.Read({"empty", "empty_cache", "empty_cache"});
  EXPECT_EQ(KindsOf(requests), "afafeafe");
  EXPECT_EQ(requests.guessed_flushes, 0u);
}

}  // namespace
}  // namespace vramstow
