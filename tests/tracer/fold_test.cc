// Tests folding, which replaces the older events of a trace by sums, once or many times. Peaks,
// sums, call sites and levels over time must be those of all events.
#include "tracer/fold/event_folder.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/typed_event.h"
#include "tests/tools/list_source.h"
#include "tests/tracer/support.h"
#include "tools/analysis/facts/known_part.h"
#include "tracer/chunk_writer.h"
#include "tracer/fold_input.h"
#include "tracer/format/event_encoder.h"
#include "tracer/format/layout.h"
#include "tracer/format/sums.h"
#include "tracer/open_trace.h"
#include "tracer/recorder.h"
#include "tracer/system_calls.h"
#include "tracer/thread_registry.h"
#include "tracer/trace_folder.h"

namespace vramstow {
namespace {

// Makes random histories of a job: a framework's tensors from several source lines, in memory of a
// pool or of the driver, the driver's own blocks, refused frees, reused addresses, marks, reads of
// the free memory, failed requests.
class JobMaker {
 public:
  explicit JobMaker(uint64_t seed) : random_(seed) {}

  std::vector<Event> Make(size_t events) {
    while (events_.size() < events) Step();
    return events_;
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  uint64_t RemoveAny(std::vector<uint64_t>* from) {
    const size_t index = Below(from->size());
    const uint64_t taken = (*from)[index];
    (*from)[index] = from->back();
    from->pop_back();
    return taken;
  }

  uint64_t Add(Event event) {
    sequence_ += 1 + Below(3);
    // There are pauses of all lengths, so that the timeline is halved at arbitrary times.
    time_ns_ += Below(8) == 0 ? Below(uint64_t{1} << Below(34)) : Below(2000);
    event.sequence = sequence_;
    event.time_ns = time_ns_;
    if (event.thread == 0) event.thread = 1 + static_cast<uint32_t>(Below(3));
    if (event.library == 0) event.library = static_cast<uint16_t>(1 + Below(3));
    events_.push_back(event);
    return sequence_;
  }

  void Step() {
    // The number of live blocks alternately grows and shrinks.
    const bool grows = (events_.size() / 700) % 2 == 0;
    switch (Below(20)) {
      case 0:
        return Driver();
      case 1:
        return DriverFree();
      case 2:
        return Segment();
      case 3:
        return Mapping();
      case 4:
        return Odd();
      case 5:
        return Other();
      case 6:
        return Handle();
      default:
        return Below(10) < (grows ? 6u : 4u) ? Tensor() : TensorFree();
    }
  }

  void Tensor() {
    const uint64_t address = 0x100000000 + Below(200) * 4096;
    // Sometimes a tensor is allocated at an address that is in use already.
    if (tensors_.contains(address) && Below(20) != 0) return TensorFree();
    tensors_.insert(address);
    Add({.address = address,
         .size = 512 * (1 + Below(40)),
         .requested = Below(2) == 0 ? 0 : 1 + Below(512),
         .stack = static_cast<uint32_t>(Below(9)),
         .device = static_cast<int16_t>(Below(2)),
         .call = 5,
         .kind = EventKind::kAllocate,
         .memory = MemoryKind::kDevice,
         .layer = Layer::kFramework});
  }

  void TensorFree() {
    if (tensors_.empty()) return;
    auto place = tensors_.lower_bound(0x100000000 + Below(200) * 4096);
    if (place == tensors_.end()) place = tensors_.begin();
    const uint64_t address = Below(50) == 0 ? 0x7000 : *place;
    tensors_.erase(address);
    Event event = {.address = address,
                   .device = 0,
                   .call = 5,
                   .kind = EventKind::kFree,
                   .memory = MemoryKind::kDevice,
                   .layer = Layer::kFramework};
    Add(event);
    if (Below(4) != 0) return;
    event.kind = EventKind::kFreeCompleted;
    Add(event);
  }

  void Driver() {
    static constexpr MemoryKind kKinds[] = {MemoryKind::kDevice,  MemoryKind::kDeviceStream,
                                            MemoryKind::kManaged, MemoryKind::kHostPinned,
                                            MemoryKind::kArray,   MemoryKind::kDevicePitched};
    Event event = {.address = 0x500000000 + Below(60) * 65536,
                   .size = 4096 * (1 + Below(16)),
                   .object = Below(2) == 0 ? 0 : Below(6),
                   .device = static_cast<int16_t>(Below(2)),
                   .call = static_cast<uint16_t>(1 + Below(2)),
                   .kind = EventKind::kAllocate,
                   .memory = kKinds[Below(6)]};
    // Some blocks are allocated at the address of a tensor, so that the tensor lies in them.
    if (Below(4) == 0) {
      event.address = 0x100000000 + Below(12) * 65536;
      event.memory = MemoryKind::kDevice;
      event.object = 0;
    }
    // The thread follows from the address, so a thread's block is not given to another thread
    // before its next tensor.
    event.thread = 1 + static_cast<uint32_t>(event.address / 65536 % 3);
    Add(event);
    blocks_.push_back(event.address);
  }

  void DriverFree() {
    if (blocks_.empty()) return;
    const uint64_t address = Below(30) == 0 ? 0 : RemoveAny(&blocks_);
    Event event = {.address = address,
                   .thread = 1 + static_cast<uint32_t>(Below(3)),
                   .device = 0,
                   .call = 3,
                   .kind = EventKind::kFree,
                   .memory = Below(10) == 0 ? MemoryKind::kArray : MemoryKind::kDevice};
    const uint64_t sequence = Add(event);
    if (Below(8) != 0) return;
    for (uint64_t i = Below(4); i > 0; --i) Tensor();
    event.library = events_.back().library;
    Add(RefusalOf(event, sequence, 1));
    blocks_.push_back(address);
  }

  void Segment() {
    if (segments_.empty() || Below(2) == 0) {
      segments_.push_back(0x900000000 + Below(40) * 0x200000);
      Add({.address = segments_.back(),
           .size = 0x10000 * (1 + Below(32)),
           .device = 0,
           .kind = EventKind::kAllocate,
           .memory = MemoryKind::kDevice,
           .layer = Layer::kPool});
    } else {
      Add({.address = RemoveAny(&segments_),
           .device = 0,
           .kind = EventKind::kFree,
           .memory = MemoryKind::kDevice,
           .layer = Layer::kPool});
    }
  }

  void Mapping() {
    const uint64_t place = 0xA00000000 + Below(30) * 0x200000;
    const bool maps = mapped_.insert(place).second;
    if (!maps) mapped_.erase(place);
    // One unmapping may end several mappings, or a part of one.
    const bool is_odd = !maps && Below(6) == 0;
    Add({.address = is_odd && Below(2) == 0 ? place + 0x1000 : place,
         .size = is_odd ? 0x300000u : 0x200000u,
         .device = 0,
         .kind = maps ? EventKind::kMap : EventKind::kUnmap,
         .memory = MemoryKind::kAddressRange,
         .layer = Layer::kPool});
  }

  void Handle() {
    const bool makes = handles_.empty() || Below(2) == 0;
    if (makes) handles_.push_back(next_handle_++);
    Add({.address = makes ? handles_.back() : RemoveAny(&handles_),
         .size = makes ? 0x200000u : 0u,
         .device = 0,
         .kind = makes ? EventKind::kAllocate : EventKind::kFree,
         .memory = MemoryKind::kPhysical,
         .layer = Layer::kPool});
  }

  void Odd() {
    switch (Below(6)) {
      case 0:
        return void(Add({.address = 1,
                         .size = 1u << 30,
                         .result = 2,
                         .device = 0,
                         .kind = EventKind::kAllocate,
                         .memory = MemoryKind::kDevice}));
      case 1:
        return void(Add({.device = 0, .kind = EventKind::kContextCreate}));
      case 2:
        if (Below(6) != 0) return;
        return void(Add({.device = 0, .kind = EventKind::kContextDestroy}));
      case 3:
        return void(Add({.address = 0xB00000000 + Below(10) * 4096,
                         .size = 4096,
                         .kind = EventKind::kRegister,
                         .memory = MemoryKind::kHostRegistered}));
      case 4:
        return void(Add({.address = 0xB00000000 + Below(10) * 4096,
                         .kind = EventKind::kUnregister,
                         .memory = MemoryKind::kHostRegistered}));
      default:
        return void(Add({.address = 0xC00000000, .size = 4096, .kind = EventKind::kReserve}));
    }
  }

  void Other() {
    switch (Below(4)) {
      case 0:
        Add(DeviceMemoryInfo{0, Below(1u << 30), 1u << 30}.ToEvent());
        return;
      case 1:
        Add(HostMemoryInfo{Below(1u << 30), 1u << 30, Below(1u << 30), false}.ToEvent());
        return;
      case 2:
        Add(MarkEvent{MarkKind::kMoment, 1, 1 + Below(100)}.ToEvent());
        return;
      default:
        Add({.size = 100, .kind = EventKind::kCacheMiss, .layer = Layer::kPool});
    }
  }

  std::mt19937_64 random_;
  std::vector<Event> events_;
  uint64_t sequence_ = 0;
  uint64_t time_ns_ = 0;
  uint64_t next_handle_ = 1;
  std::set<uint64_t> tensors_;
  std::vector<uint64_t> blocks_;
  std::vector<uint64_t> segments_;
  std::vector<uint64_t> handles_;
  std::set<uint64_t> mapped_;
};

// An event source over a list. It also has the call stacks that the events name, and the sums of
// the events that were folded (replaced by sums).
class JobSource : public ListSource {
 public:
  explicit JobSource(const std::vector<Event>& events) : ListSource(events) {}
  JobSource(const std::vector<Event>& events, TraceSums sums)
      : ListSource(events), sums_(std::move(sums)), has_sums_(true) {}
  bool Next(Event* event) override {
    const bool got = ListSource::Next(event);
    stack_ = got ? event->stack : 0;
    return got;
  }
  uint32_t Stack() const override { return stack_; }
  std::vector<CallFrame> Frames(uint32_t stack) const override {
    return {{.function = "step", .file = "/job/train.py", .line = stack}};
  }
  const TraceSums* Sums() const override { return has_sums_ ? &sums_ : nullptr; }

 private:
  TraceSums sums_;
  bool has_sums_ = false;
  uint32_t stack_ = 0;
};

TraceSums SumsOf(EventFolder* folder) {
  // The sums are encoded and decoded, as in a trace.
  std::vector<uint8_t> bytes(size_t{1} << 20);
  uint8_t* out = EncodeTotals(bytes.data(), folder->sums().Totals(folder->levels()));
  TraceSum sum;
  for (size_t at = 0; folder->sums().NextSum(folder->levels(), &at, &sum);) {
    out = EncodeSum(out, sum);
  }
  const FoldTimeline& timeline = folder->levels().timeline();
  for (size_t i = 0; i < timeline.count(); ++i) out = EncodePoint(out, timeline.at(i));
  SumSamples samples;
  for (size_t at = 0; folder->sums().NextSamples(folder->levels(), 1, &at, &samples);) {
    out = EncodeSamples(out, samples);
  }
  TraceSums sums;
  uint64_t chunks = 0;
  EXPECT_TRUE(DecodeSums(bytes.data(), static_cast<size_t>(out - bytes.data()), &sums, &chunks));
  return sums;
}

struct Folded {
  std::vector<Event> events;
  TraceSums sums;
};

// Folds the events up to each of `cuts`, one after the other.
Folded Fold(const std::vector<Event>& events, const std::vector<size_t>& cuts) {
  EventFolder* const folder = EventFolder::Create();
  std::vector<Event> kept;
  size_t done = 0;
  for (const size_t cut : cuts) {
    EXPECT_TRUE(folder->Begin());
    for (const Event& event : kept) EXPECT_TRUE(folder->Look(event, true));
    for (size_t i = done; i < cut; ++i) EXPECT_TRUE(folder->Look(events[i], false));
    folder->Decide();
    kept.insert(kept.end(), events.begin() + static_cast<ptrdiff_t>(done),
                events.begin() + static_cast<ptrdiff_t>(cut));
    std::erase_if(kept, [folder](const Event& event) { return !folder->Keeps(event); });
    folder->End();
    done = cut;
  }
  Folded folded = {kept, SumsOf(folder)};
  folded.events.insert(folded.events.end(), events.begin() + static_cast<ptrdiff_t>(done),
                       events.end());
  return folded;
}

// Returns as text the facts that must not change if older events are folded into sums.
std::string Story(const Facts& facts) {
  std::string text;
  const auto add = [&text](const auto&... numbers) {
    ((text += " " + testing::PrintToString(numbers)), ...);
    text += "\n";
  };
  const Peak& peak = facts.peak;
  add("peak", peak.allocated_bytes, peak.reserved_bytes, peak.requested_bytes, peak.time_ns,
      peak.sequence, peak.host_bytes, peak.registered_bytes, peak.managed_bytes,
      peak.requested_then_bytes, facts.largest_block_bytes, facts.host.pinned_rounding_bytes);
  add("end", facts.live.device.bytes, facts.live.device.blocks, facts.live.other.bytes,
      facts.end_ns);
  const Counts& counts = facts.counts;
  add("counts", counts.allocations, counts.frees, counts.out_of_memory, counts.failed_allocations,
      counts.refused_frees, counts.frees_of_unseen, counts.frees_missed, counts.freed_with_context,
      counts.unmatched_refusals);
  for (size_t i = 0; i < counts.by_kind.size(); ++i) {
    if (counts.by_kind[i] != 0) add("kind", i, counts.by_kind[i]);
  }
  for (const auto* tallies : {&facts.by_library, &facts.by_call, &facts.by_kind}) {
    for (const TallyFacts& tally : *tallies) {
      add(tally.name, tally.calls, tally.allocations, tally.frees, tally.failed, tally.total_bytes,
          tally.at_peak.bytes, tally.at_peak.blocks, tally.at_end.bytes, tally.highest_bytes,
          tally.other_at_end.bytes, tally.other_highest_bytes);
    }
  }
  for (const SiteFacts& site : facts.by_site) {
    add(site.site, site.allocations, site.total_bytes, site.at_peak.bytes, site.at_peak.blocks,
        site.at_end.bytes, site.at_end.blocks);
  }
  for (const HistogramRow& row : facts.histogram) {
    add("size", row.from_bytes, row.allocations, row.total_bytes, row.at_peak.bytes,
        row.at_end.bytes);
  }
  for (const DeviceFacts& device : facts.devices) {
    add("device", device.device, device.peak_bytes, device.peak_reserved_bytes, device.end_bytes,
        device.end_reserved_bytes, device.out_of_memory, device.lowest_free_bytes.value_or(1),
        device.lowest_free_time_ns);
  }
  for (const BlockFacts& block : facts.largest_at_peak) {
    add("block", block.address, block.size, block.requested, block.time_ns, block.call);
  }
  add("timeline", facts.timeline.interval_ns);
  for (const TimelinePoint& point : facts.timeline.points) {
    add(point.allocated_highest, point.reserved_highest, point.allocated_last, point.requested_last,
        point.host_highest, point.managed_highest);
  }
  const HourFacts& hour = facts.by_hour;
  add("hour", hour.known, hour.is_endless, hour.bytes_per_hour, hour.from_bytes, hour.to_bytes,
      hour.over_ns);
  for (const SiteHourFacts& site : hour.by_site) add(site.site, site.bytes_per_hour);
  add("host", facts.host.least_free_bytes, facts.host.highest_resident_bytes);
  return text;
}

std::string StoryOf(JobSource* source) { return Story(Analyze(source, "job.stow")); }

class RandomJobs : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomJobs, AreToldTheSameAfterFolding) {
  for (uint64_t seed = GetParam() * 40; seed < GetParam() * 40 + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<Event> events = JobMaker(seed).Make(200 + seed % 9 * 700);
    JobSource whole(events);
    std::mt19937_64 random(seed);
    std::set<size_t> cuts;
    for (uint64_t i = random() % 6 + 1; i > 0; --i) cuts.insert(random() % (events.size() + 1));
    const Folded folded = Fold(events, {cuts.begin(), cuts.end()});
    JobSource summed(folded.events, folded.sums);
    ASSERT_EQ(StoryOf(&summed), StoryOf(&whole));
    ASSERT_EQ(folded.events.size() + folded.sums.totals.events, events.size());
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomJobs, testing::Range<uint64_t>(0, 10));

TEST(EventFolder, KeepsNoMoreThanThePeakAndTheLiveBlocksNeed) {
  std::vector<Event> events;
  const auto add = [&events](uint64_t slot, EventKind kind) {
    events.push_back({.sequence = events.size() + 1,
                      .time_ns = events.size() * 1000,
                      .address = 0x10000000 + slot * 4096,
                      .size = kind == EventKind::kAllocate ? 4096u : 0u,
                      .stack = kind == EventKind::kAllocate ? 7u : 0u,
                      .device = 0,
                      .kind = kind,
                      .memory = MemoryKind::kDevice,
                      .layer = Layer::kFramework});
  };
  for (uint64_t i = 0; i < 100; ++i) add(i, EventKind::kAllocate);
  for (uint64_t round = 0; round < 1000; ++round) {
    add(round % 100, EventKind::kFree);
    add(round % 100, EventKind::kAllocate);
  }
  const Folded folded = Fold(events, {events.size()});
  // Two hundred events remain for a hundred blocks that were live at the peak and freed later.
  // Another hundred events remain for the blocks that are live now.
  EXPECT_EQ(folded.events.size(), 300u);
  EXPECT_EQ(folded.sums.totals.events, events.size() - 300);
}

// An allocator reports the completion of nearly each free. So there are more of these events than a
// fold can retain, and they must not displace others.
TEST(EventFolder, KeepsAFailureThatComesAfterManyCompletedFrees) {
  constexpr uint64_t kFrees = (uint64_t{1} << 17) + 1000;
  std::vector<Event> events;
  const auto add = [&events](Layer layer, EventKind kind, int32_t result) {
    const bool has_size = kind != EventKind::kFree;
    events.push_back({.sequence = events.size() + 1,
                      .time_ns = events.size() * 1000,
                      .address = layer == Layer::kPool ? 0x20000000u : 0x10000000u,
                      .size = has_size ? 4096u : 0u,
                      .result = result,
                      .device = 0,
                      .kind = kind,
                      .memory = MemoryKind::kDevice,
                      .layer = layer});
  };
  for (const Layer layer : {Layer::kPool, Layer::kFramework, Layer::kDriver}) {
    for (uint64_t i = 0; i < kFrees; ++i) {
      add(layer, EventKind::kAllocate, 0);
      add(layer, EventKind::kFree, 0);
      add(layer, EventKind::kFreeCompleted, 0);
    }
  }
  const size_t failure = events.size();
  add(Layer::kFramework, EventKind::kAllocate, 2);
  const Folded folded = Fold(events, {events.size() / 2, events.size()});
  EXPECT_EQ(folded.sums.totals.left_out, 0u);
  EXPECT_LT(folded.events.size(), 1000u);
  ASSERT_FALSE(folded.events.empty());
  EXPECT_EQ(folded.events.back().sequence, events[failure].sequence);
}

Event FailedRequest(uint64_t size) {
  return {.size = size,
          .stack = 3,
          .result = 2,
          .device = 0,
          .call = 5,
          .library = 1,
          .kind = EventKind::kAllocate,
          .memory = MemoryKind::kDevice,
          .layer = Layer::kFramework};
}

// A job that tries again and again has more failed requests than a fold can retain. The others are
// calls, but they allocate nothing.
TEST(EventFolder, AFailedRequestThatIsLeftOutIsNoAllocation) {
  constexpr uint64_t kKept = uint64_t{1} << 17;
  std::vector<Event> events;
  for (uint64_t i = 1; i <= kKept + 100; ++i) {
    events.push_back(FailedRequest(uint64_t{1} << 40));
    events.back().sequence = events.back().time_ns = i;
  }
  const Folded folded = Fold(events, {events.size()});
  EXPECT_EQ(folded.events.size(), kKept);
  const SumTotals& totals = folded.sums.totals;
  EXPECT_EQ(totals.left_out, 100u);
  EXPECT_EQ(totals.events, 100u);
  EXPECT_EQ(totals.allocations, 0u);
  EXPECT_EQ(totals.device_blocks, 0u);
  EXPECT_EQ(totals.largest_block, 0u);
  EXPECT_EQ(totals.largest_request, 0u);
  JobSource summed(folded.events, folded.sums);
  const Facts facts = Analyze(&summed, "job.stow");
  EXPECT_EQ(facts.counts.allocations, 0u);
  EXPECT_THAT(facts.by_site, testing::IsEmpty());
}

// Two days of a service: a cache that fills and then stays constant, blocks of each request, a list
// that grows without limit, a buffer that is replaced by a larger one each time, and a start-up
// that ends at noon.
std::vector<Event> TwoDays() {
  constexpr uint64_t kMinuteNs = uint64_t{60} * 1'000'000'000;
  constexpr uint64_t kMinutes = 2 * 24 * 60;
  std::vector<Event> events;
  const auto add = [&events](uint64_t time_ns, uint32_t site, uint64_t number, uint64_t size) {
    events.push_back({.sequence = events.size() + 1,
                      .time_ns = time_ns,
                      .address = (uint64_t{site} << 48) + number * 0x80000000,
                      .size = size,
                      .stack = size != 0 ? site : 0,
                      .thread = 1,
                      .device = 0,
                      .library = 1,
                      .kind = size != 0 ? EventKind::kAllocate : EventKind::kFree,
                      .memory = MemoryKind::kDevice,
                      .layer = Layer::kFramework});
  };
  for (uint64_t i = 0; i < 8; ++i) add(1000 + i, 1, i, uint64_t{1} << 30);
  for (uint64_t minute = 0; minute < kMinutes; ++minute) {
    const uint64_t now = (minute + 1) * kMinuteNs;
    if (minute < 600) add(now, 2, minute, uint64_t{4} << 20);
    for (uint64_t i = 0; i < 20; ++i) {
      add(now + 1000 + 2 * i, 3, 0, uint64_t{512} << 20);
      add(now + 1001 + 2 * i, 3, 0, 0);
    }
    if (minute % 3 == 0) add(now + 2000, 4, minute, uint64_t{1} << 20);
    if (minute != 0) add(now + 3000, 5, 0, 0);
    add(now + 3001, 5, 0, (minute + 1) << 16);
  }
  return events;
}

TEST(GrowthByTheHour, IsThatOfTheWholeRunAfterFolding) {
  const std::vector<Event> events = TwoDays();
  JobSource whole(events);
  const Facts facts = Analyze(&whole, "job.stow");
  const HourFacts& growth = facts.by_hour;
  ASSERT_TRUE(growth.known);
  EXPECT_TRUE(growth.is_endless);
  // One call site grows by 1 MiB in three minutes, and the other call site grows by 64 KiB each
  // minute.
  const auto is_near = [](int64_t bytes, double mebibytes) {
    return std::abs(static_cast<double>(bytes) / (1 << 20) / mebibytes - 1) < 0.01;
  };
  EXPECT_TRUE(is_near(growth.bytes_per_hour, 20 + 3.75)) << growth.bytes_per_hour;
  ASSERT_EQ(growth.by_site.size(), 2u);
  EXPECT_EQ(growth.by_site[0].site, "train.py:4 step");
  EXPECT_TRUE(is_near(growth.by_site[0].bytes_per_hour, 20)) << growth.by_site[0].bytes_per_hour;
  EXPECT_EQ(growth.by_site[1].site, "train.py:5 step");
  EXPECT_TRUE(is_near(growth.by_site[1].bytes_per_hour, 3.75));
  for (const size_t folds : {1, 2, 7, 40}) {
    std::vector<size_t> cuts;
    for (size_t i = 1; i <= folds; ++i) cuts.push_back(events.size() * i / folds);
    const Folded folded = Fold(events, cuts);
    JobSource summed(folded.events, folded.sums);
    EXPECT_EQ(StoryOf(&summed), Story(facts)) << folds;
  }
}

TEST(GrowthByTheHour, IsNotToldOfWhatFillsAndStays) {
  std::vector<Event> events = TwoDays();
  std::erase_if(events, [](const Event& event) { return event.address >> 48 >= 4; });
  JobSource filled(events);
  const Facts facts = Analyze(&filled, "job.stow");
  EXPECT_TRUE(facts.by_hour.known);
  EXPECT_FALSE(facts.by_hour.is_endless);
  EXPECT_THAT(facts.by_hour.by_site, testing::IsEmpty());
  std::erase_if(events, [](const Event& event) { return event.time_ns > 200'000'000'000; });
  JobSource brief(events);
  EXPECT_FALSE(Analyze(&brief, "job.stow").by_hour.known);
}

TEST(GrowthByTheHour, IsNotToldWhereEventsWereLost) {
  JobSource source(TwoDays());
  source.mutable_report().overwritten_events = 1;
  EXPECT_FALSE(Analyze(&source, "job.stow").by_hour.known);
}

TEST(Sums, SamplesThatAreDamagedAreRefused) {
  SumSamples samples = {.of = SumOf::kStack, .number = 9, .shift = 40, .count = 3};
  samples.levels[0] = 700;
  samples.levels[2] = ~uint32_t{0};
  uint8_t bytes[kMaxSumRecordBytes + 32] = {};
  uint8_t* const end = EncodeSamples(bytes, samples);
  TraceSums sums;
  uint64_t chunks = 0;
  ASSERT_TRUE(DecodeSums(bytes, static_cast<size_t>(end - bytes), &sums, &chunks));
  ASSERT_EQ(sums.samples.size(), 1u);
  EXPECT_EQ(sums.samples[0].count, 3u);
  EXPECT_EQ(sums.samples[0].levels[1], 0u);
  EXPECT_EQ(sums.samples[0].levels[2], ~uint32_t{0});
  for (const uint8_t* cut = bytes; cut < end; ++cut) {
    if (cut == bytes) continue;  // an empty file is not damaged
    EXPECT_FALSE(DecodeSums(bytes, static_cast<size_t>(cut - bytes), &sums, &chunks));
  }
  samples.shift = 63;
  uint8_t* const wrong_end = EncodeSamples(bytes, samples);
  EXPECT_FALSE(DecodeSums(bytes, static_cast<size_t>(wrong_end - bytes), &sums, &chunks));
}

TEST(Sums, ThatAreDamagedAreRefused) {
  uint8_t bytes[kMaxSumRecordBytes] = {};
  uint8_t* const end = EncodeSum(bytes, {.of = SumOf::kCall, .number = 3, .calls = 300});
  TraceSums sums;
  uint64_t chunks = 0;
  const size_t size = static_cast<size_t>(end - bytes);
  for (size_t cut = 1; cut < size; ++cut) {
    EXPECT_FALSE(DecodeSums(bytes, cut, &sums, &chunks)) << cut;
  }
  EXPECT_TRUE(DecodeSums(bytes, size, &sums, &chunks));
  ASSERT_EQ(sums.sums.size(), 1u);
  EXPECT_EQ(sums.sums[0].calls, 300u);
}

// A long job with an early peak: some thousand blocks, each of which lives for a while.
class LongJob {
 public:
  static constexpr uint64_t kSlots = 3000;
  static constexpr uint64_t kStacks = 7;  // from 1 on
  // Returns which of the kSlots slots has the address.
  static uint64_t SlotOf(uint64_t address) { return (address - kFirstAddress) / kSpacing; }

  using Sink = std::function<void(const Event&)>;
  explicit LongJob(Sink sink) : sink_(std::move(sink)) {}

  // Records events.
  void Run(size_t events) {
    for (size_t i = 0; i < events; ++i) {
      const bool is_peak = recorded_ > 300'000 && recorded_ < 375'000;
      const uint64_t slot = random_() % (is_peak ? kSlots : kSlots / 2);
      ++recorded_;
      Record(slot, !live_[slot]);
      live_[slot] = !live_[slot];
    }
  }

  // Records events, and waits from time to time until the recorder's thread has written and folded
  // what it was given. So a trace is folded in time, however busy the machine is.
  void RunAndWait(size_t events) {
    for (size_t done = 0; done < events; done += kBetweenWaits) {
      Run(std::min(kBetweenWaits, events - done));
      WaitForWriter();
    }
  }

 private:
  void Record(uint64_t slot, bool allocates) {
    Event event = {.address = kFirstAddress + slot * kSpacing,
                   .device = 0,
                   .call = 5,
                   .library = static_cast<uint16_t>(1 + slot % 3),
                   .kind = allocates ? EventKind::kAllocate : EventKind::kFree,
                   .memory = MemoryKind::kDevice,
                   .layer = Layer::kFramework};
    if (allocates) {
      event.size = 512 * (1 + random_() % 2000);
      event.stack = 1 + static_cast<uint32_t>(slot % kStacks);
    }
    sink_(event);
  }

  static constexpr uint64_t kFirstAddress = 0x700000000000;
  static constexpr uint64_t kSpacing = 0x100000;

  static constexpr size_t kBetweenWaits = 20'000;  // some 200 KB

  Sink sink_;
  std::mt19937_64 random_{1};
  uint64_t recorded_ = 0;
  bool live_[kSlots] = {};
};

// Returns the story (the facts as text) without facts that depend on the clock.
std::string TimelessStory(JobSource* source) {
  Facts facts = Analyze(source, "job.stow");
  facts.peak.time_ns = facts.peak.sequence = facts.end_ns = 0;
  facts.timeline = {};
  facts.by_hour = {};
  for (BlockFacts& block : facts.largest_at_peak) block.time_ns = 0;
  return Story(facts);
}

std::string StoryOfFile(const std::string& path, ReadReport* report) {
  TraceReader reader;
  EXPECT_EQ(reader.Open(path.c_str()), ReadError::kOk);
  std::vector<Event> events;
  for (Event event; reader.Next(&event);) events.push_back(event);
  *report = reader.report();
  JobSource whole(events);
  JobSource summed(events, reader.sums() != nullptr ? *reader.sums() : TraceSums());
  return TimelessStory(reader.sums() != nullptr ? &summed : &whole);
}

TEST(BoundedTrace, TellsOfTheWholeRunWhatAnUnboundedOneDoes) {
  constexpr size_t kEvents = 3'000'000;
  constexpr uint64_t kRing = 4u << 20;
  std::string stories[3];
  ReadReport reports[3];
  for (const size_t kind : {0, 1, 2}) {
    const TemporaryFolder folder;
    Recorder* const recorder = NewRecorder();
    RecorderConfig config = {folder.path().c_str(), "job", TestThreadSlot};
    config.background = true;
    config.compress = kind == 2;
    config.ring_bytes = kind == 0 ? 0 : kRing;
    ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
    LongJob([recorder](const Event& event) {
      recorder->RecordWithStack(event);
    }).RunAndWait(kEvents);
    // The trace is read without being closed, as a killed process leaves it. (A trace that is read
    // while chunks move from their slots into the file may miss some, but all of them are written
    // now.)
    const std::string path = folder.path() + "/job.stow";
    stories[kind] = StoryOfFile(path, &reports[kind]);
    if (kind != 0) {
      EXPECT_LE(std::filesystem::file_size(path), kRing + 8 * kSlotBytes);
    }
    recorder->Close();
    EXPECT_EQ(StoryOfFile(path, &reports[kind]), stories[kind]);
    EXPECT_EQ(reports[kind].damaged_bytes, 0u);
  }
  for (const size_t kind : {1, 2}) {
    EXPECT_EQ(stories[kind], stories[0]);
    EXPECT_GT(reports[kind].folded_events, kEvents / 2);
    EXPECT_EQ(reports[kind].folded_events + reports[kind].events, kEvents);
    EXPECT_EQ(reports[kind].overwritten_events, 0u);
    EXPECT_EQ(reports[kind].missing_events, 0u);
  }
}

// Records `blocks` allocations of blocks that are never freed, and closes the trace.
void RecordBlocksThatStay(const std::string& folder, uint64_t blocks, bool may_grow) {
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.c_str(), "job", TestThreadSlot};
  config.background = config.compress = true;
  config.ring_bytes = 4u << 20;
  config.ring_may_grow = may_grow;
  ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
  for (uint64_t i = 0; i < blocks; ++i) {
    recorder->RecordWithStack({.address = 0x700000000000 + i * 0x10000,
                               .size = 512 * (1 + i * 7919 % 2000),
                               .stack = 1 + static_cast<uint32_t>(i % 7),
                               .device = 0,
                               .call = 5,
                               .library = 1,
                               .kind = EventKind::kAllocate,
                               .memory = MemoryKind::kDevice,
                               .layer = Layer::kFramework});
    if (i % 20'000 == 0) WaitForWriter();
  }
  recorder->Close();
}

ReadReport ReportOf(const std::string& path) {
  ReadReport report;
  StoryOfFile(path, &report);
  return report;
}

// A fold replaces old events by sums, but it must retain the events of live blocks. Here more
// blocks are live than a fold has room for, and their events need more bytes than the ring has.
TEST(BoundedTrace, ThatMayGrowKeepsAllEventsWhereItCannotAddThemUp) {
  constexpr uint64_t kBlocks = 1'200'000;
  for (const bool may_grow : {false, true}) {
    SCOPED_TRACE(may_grow);
    const TemporaryFolder folder;
    RecordBlocksThatStay(folder.path(), kBlocks, may_grow);
    const ReadReport report = ReportOf(folder.path() + "/job.stow");
    EXPECT_EQ(report.damaged_bytes, 0u);
    EXPECT_EQ(report.missing_events, 0u);
    if (may_grow) {
      EXPECT_EQ(report.overwritten_events, 0u);
      EXPECT_EQ(report.events + report.folded_events, kBlocks);
    } else {
      EXPECT_GT(report.overwritten_events, 0u) << "the test has to overrun the ring";
    }
  }
}

ChunkHeader HeaderOfEvents(uint32_t number) {
  ChunkHeader header = {};
  std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
  header.number = header.turn = number;
  header.kind = static_cast<uint8_t>(ChunkKind::kEvents);
  header.header_bytes = sizeof header;
  header.buffer = header.thread = 1;
  return header;
}

// Returns an object that is never freed, like those of a recorder. It stays reachable, so that
// LeakSanitizer does not report it.
template <typename T>
T* NewForEver() {
  static auto* const made = new std::vector<T*>;
  made->push_back(new T);
  return made->back();
}

// Appends a chunk that contains one event.
int AppendShortChunk(TraceFile* file, uint32_t number) {
  ChunkHeader header = HeaderOfEvents(number);
  header.base_sequence = number - 1;
  uint8_t payload[kMaxEncodedBytes + kEncodeSlack] = {};
  EventEncoder encoder;
  encoder.Begin(header.base_sequence, 0);
  const Event event = {
      .address = uint64_t{number} << 20, .size = 512, .kind = EventKind::kAllocate};
  const uint32_t size =
      static_cast<uint32_t>(encoder.Encode(payload, event, number, number) - payload);
  return AppendChunk(file, header, ChunkEncoding::kPlain, payload, size, size);
}

// There are as many chunks as in a ring of 1.3 GiB with chunks of the usual length. Each chunk has
// only one event, so that the file is short.
TEST(FoldInput, ListsAllChunksOfALargeRing) {
  constexpr uint32_t kChunks = 70'000;
  const TemporaryFolder folder;
  auto* const trace = NewForEver<OpenTrace>();
  ASSERT_EQ(trace->file.Create({folder.path().c_str(), "job", false, false}), 0);
  int error = 0;
  trace->first_slot = trace->file.NewSlot(&error);
  ASSERT_EQ(error, 0);
  trace->file.MakeRing(uint64_t{600} << 20, true);
  for (uint32_t i = 1; i <= kChunks; ++i) {
    ASSERT_EQ(AppendShortChunk(&trace->file, i), 0);
  }
  auto* const threads = NewForEver<ThreadRegistry>();
  FoldInput* const input = FoldInput::Create(trace, threads);
  ASSERT_NE(input, nullptr);
  ASSERT_TRUE(input->Begin(0));
  uint64_t count = 0;
  bool was_kept = false;
  for (Event event; input->Next(&event, &was_kept);) EXPECT_EQ(event.sequence, ++count);
  EXPECT_FALSE(input->failed());
  EXPECT_GE(count, kChunks / 2 - 1) << "the older half";
  EXPECT_LE(count, kChunks / 2 + 1);
  input->End();
}

// Appends a chunk of a thread's events that has nearly the greatest length.
int AppendLongChunk(TraceFile* file, uint32_t number) {
  static const std::vector<uint8_t> payload(60'000);
  const auto size = static_cast<uint32_t>(payload.size());
  return AppendChunk(file, HeaderOfEvents(number), ChunkEncoding::kPlain, payload.data(), size,
                     size);
}

// A fold is requested when a third of the ring is still free. Short rings are tested, too: they
// have few extents, and one of these must stay free.
TEST(TraceFolder, HasAThirdOfWhatTheRingTakesLeftForItsWork) {
  for (const uint64_t mebibytes : {2, 4, 8, 256}) {
    const TemporaryFolder folder;
    auto* const trace = NewForEver<OpenTrace>();
    ASSERT_EQ(trace->file.Create({folder.path().c_str(), "job", false, false}), 0);
    int error = 0;
    trace->first_slot = trace->file.NewSlot(&error);
    ASSERT_EQ(error, 0);
    trace->file.MakeRing(mebibytes << 20, true);
    const TraceFolder* const folds =
        TraceFolder::Create(trace, NewForEver<ThreadRegistry>(), nullptr);
    ASSERT_NE(folds, nullptr);
    uint64_t needed_at = 0;
    for (uint32_t i = 1; !trace->file.ring_is_left(); ++i) {
      ASSERT_EQ(AppendLongChunk(&trace->file, i), 0);
      if (needed_at == 0 && folds->IsNeeded()) needed_at = trace->file.RingUse();
    }
    const uint64_t left_at = trace->file.RingUse();
    EXPECT_GT(needed_at, left_at / 2) << mebibytes << " MiB";
    EXPECT_LT(needed_at, left_at / 3 * 2 + kSlotBytes) << mebibytes << " MiB";
    trace->file.Close();
  }
}

TEST(TraceFolder, IsTriedAgainAfterItHadNoMemory) {
  const TemporaryFolder folder;
  auto* const trace = NewForEver<OpenTrace>();
  ASSERT_TRUE(trace->status.Make());
  ASSERT_EQ(trace->file.Create({folder.path().c_str(), "job", false, false}), 0);
  int error = 0;
  trace->first_slot = trace->file.NewSlot(&error);
  ASSERT_EQ(error, 0);
  trace->file.MakeRing(4u << 20, false);
  TraceFolder* const folds = TraceFolder::Create(trace, NewForEver<ThreadRegistry>(), nullptr);
  ASSERT_NE(folds, nullptr);
  uint32_t chunks = 0;
  const auto fill = [&] {
    while (!folds->IsNeeded() && chunks < 10'000) {
      ASSERT_EQ(AppendShortChunk(&trace->file, ++chunks), 0);
    }
  };
  const auto rest = [](void*) { return true; };
  fill();
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit none = {1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  folds->Fold(rest, nullptr);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_FALSE(folds->IsNeeded()) << "not before the ring has got fuller";
  fill();
  ASSERT_TRUE(folds->IsNeeded());
  EXPECT_LE(trace->file.RingUse(), trace->file.ring_bytes());
  const uint64_t use = trace->file.RingUse();
  folds->Fold(rest, nullptr);
  EXPECT_LT(trace->file.RingUse(), use / 4 * 3);
  fill();
  EXPECT_TRUE(folds->IsNeeded()) << "folds go on";
  trace->file.Close();
}

// Records a job with this number of events, and requests a copy of the trace after the first half.
// Returns the size of the trace.
uint64_t RecordWithCopy(const std::string& folder, size_t events, uint64_t ring) {
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.c_str(), "job", TestThreadSlot};
  config.background = config.ring_may_grow = true;
  config.ring_bytes = ring;
  EXPECT_EQ(recorder->Open(config), RecorderError::kOk);
  LongJob job([recorder](const Event& event) { recorder->RecordWithStack(event); });
  job.RunAndWait(events / 2);
  recorder->CopyBeforeSums();
  job.RunAndWait(events - events / 2);
  recorder->Close();
  return std::filesystem::file_size(folder + "/job.stow");
}

TEST(BoundedTrace, ThatMayGrowKeepsToItsSizeWhereItCanAddUp) {
  constexpr size_t kEvents = 1'000'000;
  constexpr uint64_t kRing = 8u << 20;
  const TemporaryFolder folder;
  EXPECT_LE(RecordWithCopy(folder.path(), kEvents, kRing), kRing + 8 * kSlotBytes);
  const ReadReport report = ReportOf(folder.path() + "/job.stow");
  EXPECT_EQ(report.overwritten_events, 0u);
  EXPECT_EQ(report.events + report.folded_events, kEvents);
  EXPECT_GT(report.folded_events, 0u);
  // The copy was requested after the first half of the events, so fewer events had been folded into
  // sums then.
  const ReadReport copy = ReportOf(folder.path() + "/job-oom.stow");
  EXPECT_LT(copy.folded_events, report.folded_events);
  EXPECT_GT(copy.events, 0u);
}

// Records until the process is killed, and stores the number of events after each one.
[[noreturn]] void RecordForEver(const std::string& folder, bool may_grow,
                                std::atomic<uint64_t>* count) {
  *TestThreadSlot() = nullptr;  // it belongs to the recorder of the parent process
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.c_str(), "job", TestThreadSlot};
  config.background = config.compress = true;
  config.ring_bytes = 4u << 20;
  config.ring_may_grow = may_grow;
  if (recorder->Open(config) != RecorderError::kOk) _exit(2);
  LongJob([=](const Event& event) {
    recorder->RecordWithStack(event);
    count->fetch_add(1);
  }).RunAndWait(~size_t{0});
  _exit(3);
}

TEST(BoundedTrace, ThatIsKilledAtAnyMomentTellsOfAllEvents) {
  constexpr int kKills = 12;
  void* const shared =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::mt19937_64 random(7);
  uint64_t folded = 0;
  for (int i = 0; i < kKills; ++i) {
    const TemporaryFolder folder;
    auto* const count = new (shared) std::atomic<uint64_t>(0);
    const pid_t child = fork();
    if (child == 0) RecordForEver(folder.path(), i % 2 == 0, count);
    // Some processes are killed before the first fold (a replacement of old events by sums), and
    // most are killed after one.
    const uint64_t most = 200'000 + random() % 900'000;
    int status = 0;
    while (count->load() < most && waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_GE(count->load(), most) << "the process ended by itself with status " << status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ReadReport report;
    const std::string story = StoryOfFile(folder.path() + "/job.stow", &report);
    folded += report.folded_events;
    ASSERT_EQ(report.overwritten_events, 0u);
    ASSERT_EQ(report.missing_events, 0u);
    const uint64_t recorded = report.events + report.folded_events;
    ASSERT_GE(recorded, count->load()) << "nothing that was recorded is lost";
    ASSERT_LE(recorded, count->load() + 1);
    std::vector<Event> events;
    LongJob([&events](const Event& event) { events.push_back(event); }).Run(recorded);
    for (size_t at = 0; at < events.size(); ++at) events[at].sequence = at + 1;
    JobSource whole(events);
    ASSERT_EQ(story, TimelessStory(&whole));
  }
  EXPECT_GT(folded, 0u);
  munmap(shared, 4096);
}

// Reads a trace event by event, because a hundred million events are too many to hold.
class FileSource : public JobSource {
 public:
  explicit FileSource(const std::string& path) : JobSource({}) {
    EXPECT_EQ(reader_.Open(path.c_str()), ReadError::kOk);
  }
  bool Next(Event* event) override {
    const bool got = reader_.Next(event);
    stack_ = got ? event->stack : 0;
    return got;
  }
  uint32_t Stack() const override { return stack_; }
  ReadReport report() const override { return reader_.report(); }
  const TraceSums* Sums() const override { return reader_.sums(); }

 private:
  TraceReader reader_;
  uint32_t stack_ = 0;
};

// The sums of a LongJob's events, with which its trace must agree at the end. They are in plain
// arrays, because this code is not optimised and handles a hundred million events.
struct Expected {
  uint64_t allocations = 0;
  uint64_t live = 0;
  uint64_t peak = 0;
  uint64_t bytes_of_stack[LongJob::kStacks + 1] = {};
  uint64_t sizes[LongJob::kSlots] = {};

  void Add(const Event& event) {
    uint64_t& size = sizes[LongJob::SlotOf(event.address)];
    if (event.kind == EventKind::kFree) {
      live -= size;
      return;
    }
    size = event.size;
    ++allocations;
    bytes_of_stack[event.stack] += size;
    live += size;
    if (live > peak) peak = live;
  }

  std::map<std::string, uint64_t> BytesOfSite() const {
    std::map<std::string, uint64_t> bytes;
    for (uint64_t stack = 1; stack <= LongJob::kStacks; ++stack) {
      bytes["train.py:" + std::to_string(stack) + " step"] = bytes_of_stack[stack];
    }
    return bytes;
  }
};

uint64_t HighestResidentKib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6));
  }
  return 0;
}

// Records as a default run does; with VRAMSTOW_LONG, long enough to exceed the default size.
TEST(BoundedTrace, IsRightAtItsEndAndTakesLittleMemory) {
  const bool is_long = std::getenv("VRAMSTOW_LONG") != nullptr;
  const uint64_t count = is_long ? 100'000'000 : 3'000'000;
  const TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.path().c_str(), "job", TestThreadSlot};
  config.background = config.compress = config.ring_may_grow = true;
  config.ring_bytes = is_long ? 256u << 20 : 4u << 20;
  Expected expected;
  const uint64_t before = HighestResidentKib();
  ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
  LongJob([&](const Event& event) {
    recorder->RecordWithStack(event);
    expected.Add(event);
  }).RunAndWait(count);
  recorder->Close();
  const uint64_t resident = HighestResidentKib() - before;
  const std::string path = folder.path() + "/job.stow";
  FileSource source(path);
  const Facts facts = Analyze(&source, "job.stow");
  std::printf("%llu events, %llu of them as sums, in %llu bytes; %llu KiB of the host\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(facts.report.folded_events),
              static_cast<unsigned long long>(std::filesystem::file_size(path)),
              static_cast<unsigned long long>(resident));
  EXPECT_LE(resident, 64u << 10);
  EXPECT_GT(facts.report.folded_events, 0u);
  EXPECT_EQ(facts.report.folded_events + facts.report.events, count);
  EXPECT_EQ(facts.report.overwritten_events, 0u);
  EXPECT_EQ(facts.report.missing_events, 0u);
  EXPECT_EQ(facts.counts.allocations, expected.allocations);
  EXPECT_EQ(facts.peak.allocated_bytes, expected.peak);
  EXPECT_EQ(facts.live.device.bytes, expected.live);
  std::map<std::string, uint64_t> found;
  for (const SiteFacts& site : facts.by_site) found[site.site] = site.total_bytes;
  EXPECT_EQ(found, expected.BytesOfSite());
}

// The trace is so short that only one fold (a replacement of old events by sums) happens. Then no
// chunk has been overwritten by another one yet.
TEST(BoundedTrace, ThatFoldedOnceMissesNothing) {
  bool any_folded = false;
  for (uint64_t count = 300'000; count <= 600'000; count += 50'000) {
    const TemporaryFolder folder;
    Recorder* const recorder = NewRecorder();
    RecorderConfig config = {folder.path().c_str(), "job", TestThreadSlot};
    config.background = config.compress = config.ring_may_grow = true;
    config.ring_bytes = 4u << 20;
    ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
    LongJob([&](const Event& event) { recorder->RecordWithStack(event); }).RunAndWait(count);
    // The trace is also read as a process leaves it that is killed.
    for (const bool is_closed : {false, true}) {
      SCOPED_TRACE(is_closed);
      if (is_closed) recorder->Close();
      FileSource source(folder.path() + "/job.stow");
      const Facts facts = Analyze(&source, "job.stow");
      any_folded |= facts.report.folded_events > 0;
      EXPECT_EQ(facts.report.folded_events + facts.report.events, count);
      EXPECT_EQ(facts.report.missing_events, 0u) << count << " events";
      EXPECT_EQ(facts.report.overwritten_events, 0u) << count << " events";
    }
  }
  EXPECT_TRUE(any_folded);
}

TEST(BoundedTrace, SaysHowManyEventsItsSumsLeaveOut) {
  const TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.path().c_str(), "job", TestThreadSlot};
  config.background = config.compress = config.ring_may_grow = true;
  config.ring_bytes = 4u << 20;
  ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
  for (uint64_t i = 0; i < 3'000'000; ++i) {
    recorder->RecordWithStack(FailedRequest((i * 7919 % 1000 + 1) << 30));
    if (i % 20'000 == 0) WaitForWriter();
  }
  recorder->Close();
  FileSource source(folder.path() + "/job.stow");
  const Facts facts = Analyze(&source, "job.stow");
  EXPECT_GT(facts.report.left_out_events, 0u);
  EXPECT_EQ(facts.report.left_out_events, facts.report.folded_events);
  EXPECT_EQ(KnownPartOf(facts), KnownPart::kWithGaps);
}

std::atomic<int> g_writes_left{0};

ssize_t WriteUntilFull(int fd, const iovec* parts, int count, off_t offset) {
  if (g_writes_left.fetch_sub(1) > 0) return RealSystemCalls().write_at(fd, parts, count, offset);
  errno = ENOSPC;
  return -1;
}

// Every write from the Nth on is refused, for many values of N. So the first refused write may be
// that of a chunk, that of a header in the ring, or one during a fold.
TEST(BoundedTrace, OnADiskThatFillsUpIsReadAndCountsWhatIsLost) {
  constexpr uint64_t kEvents = 300'000;
  SystemCalls calls = RealSystemCalls();
  calls.write_at = WriteUntilFull;
  uint64_t folded = 0;
  for (int writes = 1; writes < 400; writes += 1 + writes / 4) {
    SCOPED_TRACE(writes);
    const TemporaryFolder folder;
    Recorder* const recorder = NewRecorder();
    RecorderConfig config = {folder.path().c_str(), "job", TestThreadSlot};
    config.background = true;
    config.ring_bytes = kLeastRingBytes;
    ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
    g_writes_left = writes;
    SetSystemCallsForTest(calls);
    LongJob([recorder](const Event& event) {
      recorder->RecordWithStack(event);
    }).RunAndWait(kEvents);
    recorder->Close();
    SetSystemCallsForTest(RealSystemCalls());
    ReadReport report;
    StoryOfFile(folder.path() + "/job.stow", &report);
    folded += report.folded_events;
    EXPECT_TRUE(report.closed);
    EXPECT_EQ(report.damaged_chunks, 0u);
    EXPECT_LE(report.events + report.folded_events, kEvents + 1);  // one message says what was lost
    if (g_writes_left.load() < 0) {
      EXPECT_EQ(report.write_error, static_cast<uint32_t>(ENOSPC));
      EXPECT_GT(report.dropped_events, 0u);
    }
  }
  EXPECT_GT(folded, 0u);
}

// A chunk that is written into a full ring drops the chunks in its place first. If its own write is
// then refused, a reader must still find the way over the chunks that were dropped. No thread folds
// here, so each run makes the same writes, and each of them is refused once.
TEST(BoundedTrace, OfWhichAnyWriteIsRefusedIsNotDamaged) {
  constexpr int kWrites = 150;  // the ring is full after 16 of them
  SystemCalls calls = RealSystemCalls();
  calls.write_at = WriteUntilFull;
  for (int writes = 1; writes < kWrites; ++writes) {
    SCOPED_TRACE(writes);
    const TemporaryFolder folder;
    Recorder* const recorder = NewRecorder();
    RecorderConfig config = {folder.path().c_str(), "job", TestThreadSlot};
    config.ring_bytes = kLeastRingBytes;
    ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
    g_writes_left = writes;
    SetSystemCallsForTest(calls);
    LongJob job([recorder](const Event& event) { recorder->RecordWithStack(event); });
    while (g_writes_left.load() >= 0) job.Run(1000);
    recorder->Close();
    SetSystemCallsForTest(RealSystemCalls());
    const ReadTrace trace = ReadFile(folder.path() + "/job.stow");
    EXPECT_EQ(trace.report.write_error, static_cast<uint32_t>(ENOSPC));
    EXPECT_GT(trace.report.events, 0u);
    EXPECT_EQ(trace.report.damaged_chunks, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
  }
}

}  // namespace
}  // namespace vramstow
