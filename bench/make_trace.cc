// make_trace DIRECTORY EVENTS LIVE [compressed]: writes DIRECTORY/events.stow, in which LIVE blocks
// are live and one picked at random is replaced again and again, until there are EVENTS events.
//
// For bench/analyze_scale.py and its tests: the hardest history for an analysis, because a free
// says nothing of where its allocation was. Sizes are 512 bytes to 4 MiB; two libraries and sixteen
// call sites of each take turns.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tracer/recorder.h"

namespace vramstow {
namespace {

constexpr uint64_t kPage = 512;
constexpr uint64_t kSpacing = uint64_t{4} << 20;  // more than any block has
constexpr uint64_t kFirstAddress = uint64_t{0x7f} << 32;

Recorder recorder;

void** Slot() {
  thread_local void* slot = nullptr;
  return &slot;
}

// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016).
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

class Maker {
 public:
  explicit Maker(uint64_t live) : live_(live) {
    allocate_ = recorder.InternCall("cuMemAlloc");
    free_ = recorder.InternCall("cuMemFree");
    for (uint16_t& library : libraries_) {
      const std::string name = "/usr/lib/libjob" + std::to_string(&library - libraries_) + ".so";
      library = recorder.InternLibrary(name.c_str(), 0x1000, "");
    }
  }

  void Make(uint64_t events) {
    std::vector<uint64_t> addresses;
    addresses.reserve(live_);
    uint64_t made = 0;
    for (; made < events && addresses.size() < live_; ++made) {
      addresses.push_back(kFirstAddress + addresses.size() * kSpacing);
      Allocate(addresses.back());
    }
    // Blocks change places, so that the order of addresses is soon forgotten.
    uint64_t spare = kFirstAddress + live_ * kSpacing;
    for (; made + 2 <= events; made += 2) {
      uint64_t& address = addresses[random_.Next() % addresses.size()];
      recorder.Record({.address = address,
                       .device = 0,
                       .call = free_,
                       .library = libraries_[0],
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
                     .call = allocate_,
                     .library = libraries_[bits >> 60 & 1],
                     .kind = EventKind::kAllocate,
                     .memory = MemoryKind::kDevice});
  }

  uint64_t live_;
  Random random_;
  uint16_t allocate_ = 0;
  uint16_t free_ = 0;
  uint16_t libraries_[2] = {};
};

int Main(int count, char** values) {
  if (count < 4) {
    std::fputs("make_trace DIRECTORY EVENTS LIVE [compressed]\n", stderr);
    return 2;
  }
  const bool compressed = count > 4 && std::strcmp(values[4], "compressed") == 0;
  RecorderConfig config = {values[1], "events", Slot};
  config.background = config.compress = compressed;
  if (recorder.Open(config) != RecorderError::kOk) {
    std::perror(values[1]);
    return 1;
  }
  recorder.Describe("process.command", "make_trace");
  recorder.Describe("device.0.name", "no device");
  Maker(std::max<uint64_t>(1, std::strtoull(values[3], nullptr, 10)))
      .Make(std::strtoull(values[2], nullptr, 10));
  recorder.Close();
  return 0;
}

}  // namespace
}  // namespace vramstow

int main(int count, char** values) { return vramstow::Main(count, values); }
