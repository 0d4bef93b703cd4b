#include "simulator/driver/host_budget.h"

#include <stdio.h>

#include <algorithm>

#include "base/units.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kLookEvery = 64ull << 20;
constexpr uint64_t kMostForResults = 4ull << 30;

uint64_t Available() {
  constexpr uint64_t kFallback = 16ull << 30;
  FILE* file = fopen("/proc/meminfo", "re");
  if (file == nullptr) return kFallback;
  unsigned long long kib = 0;
  char line[128];
  while (kib == 0 && fgets(line, sizeof(line), file) != nullptr) {
    if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1) kib = 0;
  }
  fclose(file);
  return kib == 0 ? kFallback : kib << 10;
}

}  // namespace

HostBudget& HostBudget::Global() {
  static auto* budget = new HostBudget;
  return *budget;
}

// Well below what ends all computing.
uint64_t HostBudget::ForResults() {
  if (limit_ == 0) limit_ = Available() / 4;
  return std::min(limit_ / 5 * 4, kMostForResults);
}

bool HostBudget::Allows(const State& state, uint64_t bytes) {
  if (spent_) return false;
  since_looked_ += bytes;
  if (since_looked_ < kLookEvery) return true;
  since_looked_ = 0;
  if (limit_ == 0) limit_ = Available() / 4;
  const uint64_t written = state.machine->space().HeldBytes();
  if (written + bytes <= limit_) return true;
  spent_ = true;
  fprintf(stderr,
          "vramstow: the simulated memory holds %s, a quarter of what this machine had free: "
          "kernels have no effect from here on. Say contents=discard or emulation=off if nothing "
          "needs their results.\n",
          FormatBytes(written).text);
  return false;
}

}  // namespace vramstow::simulator
