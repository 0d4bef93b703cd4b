// `make_trace DIRECTORY EVENTS LIVE [compressed] [pool]` writes DIRECTORY/events.stow, in which
// LIVE blocks are live and one of them, chosen at random, is replaced again and again, until there
// are EVENTS events.
//
// It is for bench/analyze_scale.py. This is the hardest history for an analysis, because a free has
// no relation to its allocation's position. Sizes are 512 bytes to 4 MiB; two libraries alternate.
// With `pool` the blocks are those of vramstow's pool (its real code, on a device that does
// nothing), three of four of them are tensors on two streams, and the trace has all events of the
// pool: physical memory, mappings, steps. Sizes change from phase to phase, so that chunks move,
// and now and then cached memory is released.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "allocator/pool/pool.h"
#include "bench/idle_device.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

constexpr uint64_t kPage = 512;
constexpr uint64_t kSpacing = uint64_t{4} << 20;  // more than the size of any block
constexpr uint64_t kFirstAddress = uint64_t{0x7f} << 32;

Recorder recorder;

void** Slot() {
  thread_local void* slot = nullptr;
  return &slot;
}

// A xorshift64* generator (Vigna, "An experimental exploration of Marsaglia's xorshift generators",
// 2016).
class Random {
 public:
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15u;
};

// The names of calls and libraries that the events refer to.
struct Names {
  Names() {
    allocate = recorder.InternCall("cuMemAlloc");
    free = recorder.InternCall("cuMemFree");
    for (uint16_t& library : libraries) {
      const std::string name = "/usr/lib/libjob" + std::to_string(&library - libraries) + ".so";
      library = recorder.InternLibrary(name.c_str(), 0x1000, "");
    }
  }
  uint16_t allocate = 0;
  uint16_t free = 0;
  uint16_t libraries[2] = {};
};

class Maker {
 public:
  explicit Maker(uint64_t live) : live_(live) {}

  void Make(uint64_t events) {
    std::vector<uint64_t> addresses;
    addresses.reserve(live_);
    uint64_t made = 0;
    for (; made < events && addresses.size() < live_; ++made) {
      addresses.push_back(kFirstAddress + addresses.size() * kSpacing);
      Allocate(addresses.back());
    }
    // Blocks exchange their addresses, so that the initial order of addresses is soon lost.
    uint64_t spare = kFirstAddress + live_ * kSpacing;
    for (; made + 2 <= events; made += 2) {
      uint64_t& address = addresses[random_.Next() % addresses.size()];
      recorder.Record({.address = address,
                       .device = 0,
                       .call = names_.free,
                       .library = names_.libraries[0],
                       .kind = EventKind::kFree,
                       .memory = MemoryKind::kDevice});
      std::swap(address, spare);
      Allocate(address);
    }
  }

 private:
  void Allocate(uint64_t address) {
    const uint64_t bits = random_.Next();
    const uint64_t size = kPage << (bits % 13);
    recorder.Record({.address = address,
                     .size = size,
                     .requested = size,
                     .device = 0,
                     .call = names_.allocate,
                     .library = names_.libraries[bits >> 60 & 1],
                     .kind = EventKind::kAllocate,
                     .memory = MemoryKind::kDevice});
  }

  uint64_t live_;
  Random random_;
  Names names_;
};

class PoolMaker {
 public:
  explicit PoolMaker(uint64_t live) : live_(live) {
    PoolConfig config;
    config.sink = {OnEvent, this};
    if (pool_->Open(device_.table(), config) != PoolError::kOk) std::abort();
  }
  ~PoolMaker() { pool_->Close(PoolEnd::kDriverGone); }
  PoolMaker(const PoolMaker&) = delete;
  PoolMaker& operator=(const PoolMaker&) = delete;

  void Make(uint64_t events) {
    std::vector<uint64_t> addresses;
    addresses.reserve(live_);
    while (made_ < events && addresses.size() < live_) addresses.push_back(Allocate());
    for (uint64_t step = 1; made_ < events; ++step) {
      uint64_t& address = addresses[random_.Next() % addresses.size()];
      if (pool_->Free(address) != PoolError::kOk) std::abort();
      address = Allocate();
      if (step % kPhase == 0) ++phase_;
      if (step % (16 * kPhase) == 0) pool_->Trim({});
    }
  }

 private:
  static constexpr uint64_t kPhase = 50'000;  // replacements

  static uint64_t OnEvent(void* context, Event* event) {
    auto* self = static_cast<PoolMaker*>(context);
    ++self->made_;
    event->library = self->names_.libraries[event->address >> 20 & 1];
    if (event->layer == Layer::kDriver) {
      event->call = event->kind == EventKind::kFree ? self->names_.free : self->names_.allocate;
    }
    return recorder.Record(*event);
  }

  uint64_t Allocate() {
    const uint64_t bits = random_.Next();
    // In every other phase the sizes are three quarters as large, which makes them odd.
    const uint64_t size = kPage << (bits % 13);
    BlockRequest request{phase_ % 2 == 0 ? size : size - size / 4};
    if (bits >> 62 != 0) {
      request.layer = Layer::kFramework;
      request.stream = 1 + (bits >> 61 & 1);
    }
    Block block{};
    if (pool_->Allocate(request, &block) != PoolError::kOk) std::abort();
    return block.address;
  }

  uint64_t live_;
  uint64_t made_ = 0;
  uint64_t phase_ = 0;
  Random random_;
  Names names_;
  IdleDevice device_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
};

int Main(int count, char** values) {
  if (count < 4) {
    std::fputs("make_trace DIRECTORY EVENTS LIVE [compressed] [pool]\n", stderr);
    return 2;
  }
  const auto given = [&](const char* word) {
    return std::any_of(values + 4, values + count,
                       [&](const char* value) { return std::strcmp(value, word) == 0; });
  };
  const bool compressed = given("compressed");
  RecorderConfig config = {values[1], "events", Slot};
  config.background = config.compress = compressed;
  if (recorder.Open(config) != RecorderError::kOk) {
    std::perror(values[1]);
    return 1;
  }
  recorder.Describe("process.command", "make_trace");
  recorder.Describe("device.0.name", "no device");
  const uint64_t events = std::strtoull(values[2], nullptr, 10);
  const uint64_t live = std::max<uint64_t>(1, std::strtoull(values[3], nullptr, 10));
  if (given("pool")) {
    PoolMaker(live).Make(events);
  } else {
    Maker(live).Make(events);
  }
  recorder.Close();
  return 0;
}

}  // namespace
}  // namespace vramstow

int main(int count, char** values) { return vramstow::Main(count, values); }
