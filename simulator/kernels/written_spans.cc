#include "simulator/kernels/written_spans.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/rounding.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kSteps = 1ull << 24;  // the limit for all corner blocks of one launch
constexpr size_t kKeptLaunches = 4096;
constexpr uint64_t kCopyBytes = 4096;
constexpr size_t kCopiesMax = 4096;

// The memory of one result of a launch: a range of bytes after an address. The address is stored at
// offset `at` of the launch's parameters.
struct Span {
  size_t at = 0;
  uint64_t first = 0;
  uint64_t end = 0;
};

// A word of the parameters that is an address of device memory.
struct FoundPointer {
  uint64_t address = 0;
  size_t at = 0;
};

// Returns all pointers, sorted by address. Parameters may be structures, so each word is tested.
std::vector<FoundPointer> PointersOf(const State& state, const ptx::GridLaunch& launch) {
  std::vector<FoundPointer> pointers;
  for (size_t at = 0; at + sizeof(uint64_t) <= launch.parameters.size(); at += sizeof(uint64_t)) {
    FoundPointer pointer = {0, at};
    memcpy(&pointer.address, launch.parameters.data() + at, sizeof(pointer.address));
    if (state.machine->contents.IsDevice(pointer.address)) pointers.push_back(pointer);
  }
  std::sort(pointers.begin(), pointers.end(),
            [](const FoundPointer& left, const FoundPointer& right) {
              return left.address < right.address;
            });
  return pointers;
}

// Returns a key that is equal for launches which differ only in their addresses.
std::string KeyOf(const ptx::GridLaunch& launch, const std::vector<FoundPointer>& pointers) {
  std::vector<char> parameters = launch.parameters;
  for (const FoundPointer& pointer : pointers) {
    memset(parameters.data() + pointer.at, 0, sizeof(pointer.address));
  }
  std::string key(launch.entry->name);
  key.append(reinterpret_cast<const char*>(&launch.entry), sizeof(launch.entry));
  key.append(reinterpret_cast<const char*>(launch.grid), sizeof(launch.grid));
  key.append(reinterpret_cast<const char*>(launch.block), sizeof(launch.block));
  key.append(parameters.begin(), parameters.end());
  return key;
}

// Assigns each written range to the nearest pointer below it.
std::vector<Span> SpansOf(const std::vector<std::pair<uint64_t, uint64_t>>& written,
                          const std::vector<FoundPointer>& pointers) {
  std::map<size_t, Span> spans;  // the key is `at`
  for (const auto& [first, end] : written) {
    const auto above = std::upper_bound(
        pointers.begin(), pointers.end(), first,
        [](uint64_t address, const FoundPointer& pointer) { return address < pointer.address; });
    if (above == pointers.begin()) continue;
    const FoundPointer& base = *(above - 1);
    const Span part = {base.at, first - base.address, end - base.address};
    Span& span = spans.try_emplace(base.at, part).first->second;
    span.first = std::min(span.first, part.first);
    span.end = std::max(span.end, part.end);
  }
  std::vector<Span> found;
  for (const auto& [at, span] : spans) found.push_back(span);
  return found;
}

// The results (ranges of bytes after an address) of earlier launches, by key. Guarded by the
// driver's lock.
std::map<std::string, std::vector<Span>>* KeptSpans() {
  static auto* const kept = new std::map<std::string, std::vector<Span>>;
  return kept;
}

}  // namespace

ptx::Memory::Window CopiedMemory::Find(uint64_t address, uint64_t bytes, bool /*write*/) {
  const Window window = GridMemory::Find(address, bytes, false);
  if (window.host == nullptr) return {};
  const uint64_t first = std::max(window.address, address / kCopyBytes * kCopyBytes);
  const uint64_t end =
      std::min(window.address + window.bytes, RoundUp(address + bytes, kCopyBytes));
  auto copy = copies_.find(first);
  if (copy == copies_.end()) {
    if (copies_.size() == kCopiesMax) {
      Refuse();
      return {};
    }
    const char* host = window.host + (first - window.address);
    copy = copies_.emplace(first, std::vector<char>(host, host + (end - first))).first;
  }
  // An earlier window may have been smaller; then the pages are not the same memory.
  if (copy->second.size() < address + bytes - first) return {};
  return {first, copy->second.size(), copy->second.data()};
}

void AddWrittenSpans(const State& state, const ptx::GridLaunch& launch, GridMemory* memory) {
  const std::vector<FoundPointer> pointers = PointersOf(state, launch);
  auto* const kept = KeptSpans();
  if (kept->size() >= kKeptLaunches) kept->clear();
  const auto [found, is_new] = kept->try_emplace(KeyOf(launch, pointers));
  if (is_new) {
    ptx::GridLaunch limited = launch;
    limited.steps = kSteps;
    ptx::RunCorners(limited, memory);
    found->second = SpansOf(memory->written(), pointers);
  }
  for (const Span& span : found->second) {
    uint64_t address = 0;
    memcpy(&address, launch.parameters.data() + span.at, sizeof(address));
    memory->AddWritten(address + span.first, span.end - span.first);
  }
}

}  // namespace vramstow::simulator
