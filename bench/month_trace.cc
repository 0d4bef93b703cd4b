// `month_trace DIRECTORY EVENTS LIVE RING_BYTES SECONDS` records the same events in two traces at
// the same time: all of them in DIRECTORY/whole.stow, and within RING_BYTES in
// DIRECTORY/bounded.stow.
//
// It is for bench/month.py. In each step one of LIVE slots, chosen at random, gets a block or loses
// it, for one of sixty call sites; each 10,000th step leaks a block. The run takes at least
// SECONDS. At the end the program prints how many KiB of host memory the bounded recorder has used.
//
// Memory levels are sampled at fixed times since a trace began, and the two traces begin and record
// one after the other. So nothing is recorded around these times. If the two traces begin too far
// apart for that, the program ends at once with status 3.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tracer/format/layout.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

constexpr uint64_t kFirstAddress = uint64_t{0x7f} << 32;
constexpr uint64_t kSpacing = uint64_t{1} << 21;
constexpr uint32_t kSites = 60;
constexpr uint64_t kBetweenLeaks = 10'000;

Recorder whole;
Recorder bounded;

void** SlotOfWhole() {
  thread_local void* slot = nullptr;
  return &slot;
}

void** SlotOfBounded() {
  thread_local void* slot = nullptr;
  return &slot;
}

// Returns a value of /proc/self/status in KiB: "VmHWM:", the highest resident memory, or "VmRSS:".
uint64_t StatusKib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

// Returns the time at which the trace began, by CLOCK_MONOTONIC.
uint64_t BeginOf(const Recorder& recorder) {
  FileHeader header = {};
  std::ifstream(recorder.path(), std::ios::binary)
      .read(reinterpret_cast<char*>(&header), sizeof header);
  return header.start_clock_ns;
}

// In a run of some minutes the memory is sampled at multiples of this time. In shorter runs it is
// sampled more often.
constexpr uint64_t kBetweenSamplesNs = uint64_t{1} << 31;
constexpr uint64_t kStillNs = 50'000'000;  // no recording this long before and after a sample

class Job {
 public:
  Job(uint64_t live, uint64_t begin_ns) : begin_ns_(begin_ns), is_live_(live) {
    for (uint32_t site = 0; site < kSites; ++site) {
      const std::string name = "request" + std::to_string(site);
      calls_.push_back(whole.InternCall(name));
      bounded.InternCall(name);
    }
  }

  void Run(uint64_t events, double seconds) {
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t step = 0; made_ < events; ++step) {
      Step(step);
      if (step % 512 != 0) continue;
      const double part = static_cast<double>(made_) / static_cast<double>(events);
      std::this_thread::sleep_until(begin +
                                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                        std::chrono::duration<double>(seconds * part)));
    }
  }

 private:
  uint64_t Next() {  // xorshift64* (Vigna 2016)
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }

  void KeepStillAroundSamples() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const uint64_t now_ns = static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
    const uint64_t past = (now_ns - begin_ns_ + kStillNs) % kBetweenSamplesNs;
    if (past < 2 * kStillNs) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kStillNs - past));
    }
  }

  void Step(uint64_t step) {
    KeepStillAroundSamples();
    const uint64_t random = Next();
    const uint64_t place = (random >> 32) % is_live_.size();
    const uint32_t site = static_cast<uint32_t>(random % (kSites - 1));
    const uint64_t address = kFirstAddress + place * kSpacing;
    Record(address, is_live_[place] ? 0 : 512 * (1 + (random >> 8) % 4000), site);
    is_live_[place] = !is_live_[place];
    if (step % kBetweenLeaks != 0) return;
    Record(kFirstAddress + (is_live_.size() + leaks_++) * kSpacing, uint64_t{1} << 20, kSites - 1);
  }

  // Records an allocation, or a free if the size is 0.
  void Record(uint64_t address, uint64_t size, uint32_t site) {
    const Event event = {.address = address,
                         .size = size,
                         .device = 0,
                         .call = calls_[site],
                         .kind = size == 0 ? EventKind::kFree : EventKind::kAllocate,
                         .memory = MemoryKind::kDevice,
                         .layer = Layer::kFramework};
    whole.Record(event);
    bounded.Record(event);
    ++made_;
  }

  uint64_t begin_ns_;
  std::vector<bool> is_live_;
  std::vector<uint16_t> calls_;
  uint64_t state_ = 0x9E3779B97F4A7C15u;
  uint64_t made_ = 0;
  uint64_t leaks_ = 0;
};

int Main(int count, char** values) {
  if (count != 6) {
    std::fputs("month_trace DIRECTORY EVENTS LIVE RING_BYTES SECONDS\n", stderr);
    return 2;
  }
  RecorderConfig config = {values[1], "whole", SlotOfWhole};
  config.background = config.compress = true;
  RecorderConfig of_bounded = config;
  of_bounded.stem = "bounded";
  of_bounded.thread_slot = SlotOfBounded;
  of_bounded.ring_bytes = std::strtoull(values[4], nullptr, 10);
  of_bounded.ring_may_grow = true;
  const uint64_t before = StatusKib("VmRSS:");
  if (whole.Open(config) != RecorderError::kOk) return 1;
  if (bounded.Open(of_bounded) != RecorderError::kOk) return 1;
  if (BeginOf(bounded) - BeginOf(whole) > kStillNs / 2) return 3;
  Job job(std::strtoull(values[3], nullptr, 10), BeginOf(whole));
  job.Run(std::strtoull(values[2], nullptr, 10), std::strtod(values[5], nullptr));
  std::printf("%llu\n", static_cast<unsigned long long>(StatusKib("VmHWM:") - before));
  whole.Close();
  bounded.Close();
  return 0;
}

}  // namespace
}  // namespace vramstow

int main(int count, char** values) { return vramstow::Main(count, values); }
