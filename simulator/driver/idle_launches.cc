#include "simulator/driver/idle_launches.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/demangle.h"

namespace vramstow::simulator {
namespace {

// Returns the demangled name, or the name itself if it is not a mangled C++ name.
std::string ReadableName(const std::string& kernel) {
  return kernel.starts_with("_Z") ? Demangled(kernel.c_str()) : kernel;
}

// Counts of launches without effect, by kernel and reason. Guarded by the driver's lock; never
// destroyed.
using IdleCounts = std::map<std::pair<std::string, const char*>, uint64_t>;
IdleCounts& GlobalIdleCounts() {
  static auto* counts = new IdleCounts;
  return *counts;
}

void ListIdleKernels() {
  DriverGlobals& globals = Globals();
  // In a forked child the lock may be held for ever, by a thread that the child does not have.
  if (globals.forked) return;
  const MutexLock lock(&globals.mutex);
  std::vector<std::pair<uint64_t, std::string>> lines;
  for (const auto& [key, count] : GlobalIdleCounts()) {
    lines.emplace_back(count, ReadableName(key.first) + key.second);
  }
  for (const auto& [by, count] : globals.state().machine->contents.uncomputed().reads()) {
    lines.emplace_back(count, "the host read what was left out by " + ReadableName(by));
  }
  std::sort(lines.begin(), lines.end(), std::greater<>());
  fprintf(stderr, "vramstow: %zu kernels without effect\n", GlobalIdleCounts().size());
  for (const auto& [count, line] : lines) {
    fprintf(stderr, "vramstow: %8llu x %s\n", static_cast<unsigned long long>(count), line.c_str());
  }
}

}  // namespace

const char* LastingName(const std::string& name) {
  static auto* names = new std::set<std::string>;
  return names->insert(name).first->c_str();
}

void NoteIdleLaunch(const State& state, const std::string& kernel, const char* reason) {
  if (!state.machine->spec().list_kernels) return;
  static const bool listed = atexit(ListIdleKernels) == 0;
  if (listed) ++GlobalIdleCounts()[{kernel, reason}];
}

}  // namespace vramstow::simulator
