#include "simulator/driver/host_budget.h"

#include <stdio.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kLookEvery = 64ull << 20;
constexpr uint64_t kMaxForResults = 4ull << 30;

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

uint64_t HostBudget::Limit() {
  if (limit_ == 0) limit_ = Available() / 2;
  return limit_;
}

// Returns four fifths of the limit at which all computing stops.
uint64_t HostBudget::ForSizes() { return Limit() / 5 * 4; }

uint64_t HostBudget::ForResults() { return std::min(Limit() / 5 * 2, kMaxForResults); }

bool HostBudget::Allows(const State& state, std::span<const Contents::Piece> writes,
                        uint64_t bytes) {
  since_looked_ += bytes;
  if (!is_short_ && since_looked_ < kLookEvery) return true;
  since_looked_ = 0;
  const uint64_t limit = Limit();
  const uint64_t held = state.machine->space().HeldBytes();
  is_short_ = held > limit / 8 * 7;
  const uint64_t most = bytes <= Contents::kLarge ? limit + limit / 4 : limit;
  if (state.machine->contents.HasRoom(writes, most)) return true;
  is_short_ = true;
  if (std::exchange(has_warned_, true)) return false;
  fprintf(stderr,
          "vramstow: the simulated memory holds %s, and may hold %s, half of what this machine had "
          "free: results that need more are left out. Say contents=discard or emulation=off if "
          "nothing needs them.\n",
          FormatBytes(held).text, FormatBytes(limit).text);
  return false;
}

}  // namespace vramstow::simulator
