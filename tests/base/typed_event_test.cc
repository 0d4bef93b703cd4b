#include "base/typed_event.h"

#include <gtest/gtest.h>

#include <string>

#include "base/event.h"

namespace vramstow {
namespace {

// Returns the fields that the trace format has for these kinds: docs/trace-format.md and old traces
// depend on them. The order is address, size, requested, object, offset.
std::string Fields(const Event& event) {
  return std::string(EventKindName(event.kind)) + " " + LayerName(event.layer) + " " +
         MemoryKindName(event.memory) + " " + std::to_string(event.address) + " " +
         std::to_string(event.size) + " " + std::to_string(event.requested) + " " +
         std::to_string(event.object) + " " + std::to_string(event.offset);
}

TEST(TypedEvent, FieldsAreStoredWhereTheFormatSays) {
  EXPECT_EQ(Fields(DeviceMemoryInfo{3, 10, 20}.ToEvent()), "memory_info driver none 0 10 20 0 0");
  EXPECT_EQ(Fields(HostMemoryInfo{10, 20, 30, true}.ToEvent()),
            "memory_info driver host_physical 0 10 20 30 1");
  EXPECT_EQ(Fields(MarkEvent{MarkKind::kRangeEnds, 10, 20}.ToEvent()),
            "mark driver none 0 20 0 10 2");
  EXPECT_EQ(Fields(GapEvent{10}.ToEvent()), "gap driver none 0 10 0 0 0");
  EXPECT_EQ(Fields(StitchEvent{10, 20, 30, 40}.ToEvent()), "cache_stitch pool none 0 10 20 30 0");
  EXPECT_EQ(Fields(HookEvent{HookKind::kTrimmed, 10}.ToEvent()), "cache_hook pool none 0 10 0 1 0");
  EXPECT_EQ(Fields(FenceWaitEvent{10, 20, 30, 0}.ToEvent()),
            "cache_fence_wait pool none 0 10 20 0 0");
  EXPECT_EQ(Fields(DeviceWorkEvent{0, 1, 10, 20, 30, 40, 50}.ToEvent()),
            "activity driver none 10 20 30 50 40");
  EXPECT_EQ(Fields(ActivityMemoryEvent{MemoryKind::kManaged, 0, 10, 20, 30, 40, 50}.ToEvent()),
            "activity driver managed 10 20 30 50 40");
  EXPECT_EQ(Fields(CorrelationEvent{10, 20}.ToEvent()), "correlation driver none 0 20 0 10 0");
  EXPECT_EQ(Fields(MoveEvent{true, 10, 20, 30, OffloadReason::kTouched}.ToEvent()),
            "return pool physical 10 20 30 3 0");
  EXPECT_EQ(Fields(MoveEvent{false, 10, 20, 30, OffloadReason::kPressure}.ToEvent()),
            "offload pool physical 10 20 30 1 0");
  EXPECT_EQ(Fields(LaunchEvent{true, 10, 20, 30}.ToEvent()), "launch driver none 0 10 0 20 1");
  EXPECT_EQ(Fields(TouchEvent{10, 20}.ToEvent()), "touch pool physical 10 0 0 20 0");
  EXPECT_EQ(Fields(ModelClockEvent{10, 20, 30, 40, 50}.ToEvent()),
            "model_clock driver none 50 20 30 40 10");
  EXPECT_EQ(Fields(ModelWorkEvent{10, 20, 30, 40}.ToEvent()),
            "model_work driver none 0 20 40 30 10");
}

TEST(TypedEvent, WhatIsReadIsWhatWasWritten) {
  const auto host = HostMemoryInfo::Of(HostMemoryInfo{10, 20, 30, true}.ToEvent());
  EXPECT_EQ(host.free_bytes, 10u);
  EXPECT_EQ(host.limit_bytes, 20u);
  EXPECT_EQ(host.resident_bytes, 30u);
  EXPECT_TRUE(host.is_of_group);
  const auto device = DeviceMemoryInfo::Of(DeviceMemoryInfo{3, 10, 20}.ToEvent());
  EXPECT_EQ(device.device, 3);
  EXPECT_EQ(device.free_bytes, 10u);
  EXPECT_EQ(device.total_bytes, 20u);
  const auto mark = MarkEvent::Of(MarkEvent{MarkKind::kRangeBegins, 10, 20}.ToEvent());
  EXPECT_EQ(mark.kind, MarkKind::kRangeBegins);
  EXPECT_EQ(mark.annotation, 10u);
  EXPECT_EQ(mark.number, 20u);
  EXPECT_EQ(GapEvent::Of(GapEvent{10}.ToEvent()).lost_events, 10u);
  const auto stitch = StitchEvent::Of(StitchEvent{10, 20, 30, 40}.ToEvent());
  EXPECT_EQ(stitch.mapped_bytes, 10u);
  EXPECT_EQ(stitch.block_bytes, 20u);
  EXPECT_EQ(stitch.moved_chunks, 30u);
  EXPECT_EQ(stitch.stream, 40u);
  EXPECT_EQ(HookEvent::Of(HookEvent{HookKind::kTrimmed, 10}.ToEvent()).kind, HookKind::kTrimmed);
  const auto wait = FenceWaitEvent::Of(FenceWaitEvent{10, 20, 30, 40}.ToEvent());
  EXPECT_EQ(wait.waited_ns, 10u);
  EXPECT_EQ(wait.block_bytes, 20u);
  EXPECT_EQ(wait.stream, 30u);
  EXPECT_EQ(wait.result, 40);
  const auto work = DeviceWorkEvent::Of(DeviceWorkEvent{1, 2, 10, 20, 30, 40, 50}.ToEvent());
  EXPECT_EQ(work.correlation, 10u);
  EXPECT_EQ(work.bytes, 20u);
  EXPECT_EQ(work.duration_ns, 30u);
  EXPECT_EQ(work.begin_unix_ns, 40u);
  EXPECT_EQ(work.annotation, 50u);
  const auto memory = ActivityMemoryEvent::Of(
      ActivityMemoryEvent{MemoryKind::kManaged, 1, 10, 20, 30, 40, 50}.ToEvent());
  EXPECT_EQ(memory.memory, MemoryKind::kManaged);
  EXPECT_EQ(memory.address, 10u);
  EXPECT_EQ(memory.bytes, 20u);
  EXPECT_EQ(memory.correlation, 30u);
  EXPECT_EQ(memory.unix_ns, 40u);
  EXPECT_EQ(memory.annotation, 50u);
  const auto correlation = CorrelationEvent::Of(CorrelationEvent{10, 20}.ToEvent());
  EXPECT_EQ(correlation.sequence, 10u);
  EXPECT_EQ(correlation.correlation, 20u);
  const auto move = MoveEvent::Of(MoveEvent{true, 10, 20, 30, OffloadReason::kPaused}.ToEvent());
  EXPECT_TRUE(move.is_return);
  EXPECT_EQ(move.address, 10u);
  EXPECT_EQ(move.bytes, 20u);
  EXPECT_EQ(move.gate_ns, 30u);
  EXPECT_EQ(move.reason, OffloadReason::kPaused);
  const auto launch = LaunchEvent::Of(LaunchEvent{true, 10, 20, 30}.ToEvent());
  EXPECT_TRUE(launch.is_sample);
  EXPECT_EQ(launch.launches, 10u);
  EXPECT_EQ(launch.annotation, 20u);
  EXPECT_EQ(launch.stream, 30u);
  const auto touch = TouchEvent::Of(TouchEvent{10, 20}.ToEvent());
  EXPECT_EQ(touch.address, 10u);
  EXPECT_EQ(touch.clock, 20u);
  const auto clock = ModelClockEvent::Of(ModelClockEvent{10, 20, 30, 40, 50}.ToEvent());
  EXPECT_EQ(clock.model_ns, 10u);
  EXPECT_EQ(clock.link_read_bytes, 20u);
  EXPECT_EQ(clock.out_bytes, 30u);
  EXPECT_EQ(clock.in_bytes, 40u);
  EXPECT_EQ(clock.held_ns, 50u);
  const auto model_work = ModelWorkEvent::Of(ModelWorkEvent{10, 20, 30, 40}.ToEvent());
  EXPECT_EQ(model_work.work_ns, 10u);
  EXPECT_EQ(model_work.operators, 20u);
  EXPECT_EQ(model_work.link_ns, 30u);
  EXPECT_EQ(model_work.due_ns, 40u);
}

TEST(TypedEvent, WorkAndMemoryOfCuptiAreToldApartAndSoAreHostAndDevice) {
  EXPECT_TRUE(DeviceWorkEvent::Is(DeviceWorkEvent{}.ToEvent()));
  EXPECT_FALSE(DeviceWorkEvent::Is(ActivityMemoryEvent{}.ToEvent()));
  EXPECT_TRUE(HostMemoryInfo::Is(HostMemoryInfo{}.ToEvent()));
  EXPECT_FALSE(HostMemoryInfo::Is(DeviceMemoryInfo{}.ToEvent()));
}

TEST(TypedEvent, ARefusalIsTheAnnouncementWithItsSequenceAndTheResult) {
  Event unmap;
  unmap.kind = EventKind::kUnmap;
  unmap.address = 1;
  unmap.size = 2;
  unmap.object = 3;
  const Event refusal = RefusalOf(unmap, 77, 5);
  EXPECT_EQ(Fields(refusal), "refused driver none 1 2 0 77 0");
  EXPECT_EQ(refusal.result, 5);
  EXPECT_EQ(RefusedSequence(refusal), 77u);
}

TEST(TypedEvent, NumbersOfALaterVersionReadAsUnknown) {
  Event event;
  event.object = 200;
  event.offset = 200;
  EXPECT_EQ(ServedOf(event), Served::kUnknown);
  EXPECT_EQ(MarkEvent::Of(event).kind, MarkKind::kMoment);
  EXPECT_EQ(MoveEvent::Of(event).reason, OffloadReason::kUnknown);
  EXPECT_EQ(HookEvent::Of(event).kind, HookKind::kPressure);
  event.object = ObjectOf(Served::kStitch);
  EXPECT_EQ(ServedOf(event), Served::kStitch);
}

}  // namespace
}  // namespace vramstow
