#include "interpose/core/pools/offloaders.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <new>

#include "allocator/core/host_memory.h"
#include "base/units.h"
#include "interpose/core/pools/host_answer.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/this_thread.h"
#include "tracer/host_memory_usage.h"

namespace vramstow {
namespace {

// Returns the number of mappings that the system allows a process to have. If that number cannot be
// read, returns Linux's default.
uint64_t MostMappings() {
  constexpr uint64_t kUsual = 65530;
  const int file = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (file < 0) return kUsual;
  char text[32];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  uint64_t most = 0;
  if (length <= 0 || std::from_chars(text, text + length, most).ec != std::errc()) return kUsual;
  return most;
}

}  // namespace

bool Offloaders::wanted() { return wanted_.Get(process_.options(), WantsOffload); }

bool Offloaders::automatic() const {
  OffloadSetting setting;
  return ParseOffload(process_.options().offload, &setting) && setting.automatic;
}

Offloader* Offloaders::Make() {
  if (!wanted()) return nullptr;
  const int number = count_.load(std::memory_order_relaxed);
  if (number == kMax) return nullptr;
  void* memory = AllocateHostMemory(sizeof(Offloader));
  if (memory == nullptr) return nullptr;
  auto* offloader = new (memory) Offloader;
  offloaders_[number].store(offloader, std::memory_order_relaxed);
  count_.store(number + 1, std::memory_order_release);
  return offloader;
}

void Offloaders::Open(Offloader* offloader, Pool* pool) {
  OffloadSetting setting;
  ParseOffload(process_.options().offload, &setting);
  OffloadConfig config;
  config.host_bytes = setting.host_bytes;
  if (config.host_bytes == 0) config.host_bytes = ReadHostMemory().free / 2;
  ParseDuration(process_.options().decay, &config.decay_ns);
  // Page-locked memory takes long to create, and turns may be minutes apart.
  constexpr uint64_t kSharedDecays = 10;
  if (WantsShare(process_.options())) config.decay_ns *= kSharedDecays;
  config.policy = MakeOffloadPolicy(setting.policy);
  config.records_touches = setting.touches;
  // With --share alone, memory is only paused, which needs no mapping.
  config.tries_host = setting.on;
  // Half of the allowed mappings are reserved for the program itself.
  config.host_mappings = MostMappings() / 2;
  config.host_free_bytes = [] { return ReadHostMemory().free; };
  if (offloader->Open(pool->pages(), &gate_, config) || !setting.on) return;
  if (logged_.exchange(true, std::memory_order_relaxed)) return;
  LogRefusal(offloader->host_refusal(), pool->pages()->device().ordinal);
}

void Offloaders::LogRefusal(DriverResult refusal, int device) {
  const HostMapping mapping = HostMappingOf(driver_, device);
  if (mapping.place == HostPlace::kUnknown) {
    Log("--offload moves no memory by itself: it was not tested whether the device can map host "
        "memory. vramstow run tests this before it starts a program. vramstow_pause and "
        "vramstow_resume work.");
  } else if (mapping.place == HostPlace::kNone) {
    Log("--offload moves no memory by itself: the device cannot map host memory (%.*s; vramstow "
        "doctor tests it again). vramstow_pause and vramstow_resume work.",
        static_cast<int>(mapping.reason.size()), mapping.reason.data());
  } else {
    Log("--offload moves no memory by itself: the device cannot map host memory (error %d; see "
        "vramstow doctor). vramstow_pause and vramstow_resume work.",
        refusal);
  }
}

Offloaders::GateTicket::GateTicket(Offloaders* offloaders)
    : gate_(offloaders->wanted() ? &offloaders->gate_ : nullptr) {
  if (gate_ == nullptr) return;
  uint32_t& lane = ThisThread()->lane;
  if (lane == 0) lane = offloaders->lanes_.fetch_add(1, std::memory_order_relaxed) + 1;
  lane_ = lane;
  TurnGate& turns = offloaders->turns_;
  for (;;) {
    if (turns.is_closed()) [[unlikely]]
      turns.Wait();
    gate_->Enter(lane_);
    if (!turns.is_closed()) break;
    gate_->Leave(lane_);
  }
  turns.Count();
}

void Offloaders::StopBringingBack() {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    offloaders_[i].load(std::memory_order_relaxed)->StopBringingBack();
  }
}

bool Offloaders::RefuseGraphs() const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (offloaders_[i].load(std::memory_order_relaxed)->refuses_graphs()) return true;
  }
  return false;
}

bool Offloaders::CountSubmission() {
  bool watched = false;
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Offloader* offloader = offloaders_[i].load(std::memory_order_relaxed);
    if (!offloader->tracks_touches()) continue;
    offloader->Tick();
    watched = true;
  }
  return watched;
}

bool Offloaders::AnyWantsToAdvance() const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (offloaders_[i].load(std::memory_order_relaxed)->wants_to_advance()) return true;
  }
  return false;
}

bool Offloaders::AnyTracksTouches() const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (offloaders_[i].load(std::memory_order_relaxed)->tracks_touches()) return true;
  }
  return false;
}

void Offloaders::AbandonAfterFork() {
  gate_.Reset();
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
