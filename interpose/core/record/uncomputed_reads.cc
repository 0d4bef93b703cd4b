#include "interpose/core/record/uncomputed_reads.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/python_file.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"

namespace vramstow {
namespace {

constexpr size_t kMostFrames = 192;

}  // namespace

void UncomputedReads::Watch() {
  if (is_watched_.exchange(true, std::memory_order_relaxed)) return;
  python_.Find();
  if (python_.state() == PythonRuntime::State::kUnchecked) python_.Check();
  driver_.WatchUncomputedReads(OnFirst, this);
}

void UncomputedReads::OnFirst(const char* by, void* self) {
  auto* const reads = static_cast<UncomputedReads*>(self);
  reads->FindLine();
  reads->by_.store(by, std::memory_order_release);
  reads->Tell(by);
}

void UncomputedReads::Tell(const char* by) const {
  // One of many ranks says it.
  const char* rank = RankText();
  if (process_.options().quiet || (rank != nullptr && std::strcmp(rank, "0") != 0)) return;
  // A kernel's name may be long, and is no word to a reader.
  const bool is_word = std::strncmp(by, "_Z", 2) != 0;
  Log("%.60s, read %s%s, was not computed: memory is exact, this number is not.",
      is_word ? by : "the result of a kernel", line_[0] == '\0' ? "here" : "at ", line_);
}

void UncomputedReads::FindLine() {
  if (python_.state() != PythonRuntime::State::kUsable) return;
  StackFrame frames[kMostFrames];
  PythonSegment segments[kMostFrames];
  const size_t count = python_.Collect(frames, kMostFrames, segments, kMostFrames);
  const size_t end = count == 0 ? 0 : segments[count - 1].end;
  // The whole program may be a text: python -c.
  bool is_generated = false;
  for (size_t i = 0; i < end; ++i) {
    PythonCode code;
    python_.Describe(frames[i].place, &code);
    if (IsInstalledPython(code.file) || (is_generated && IsGeneratedPython(code.file))) continue;
    std::snprintf(line_, sizeof line_, "%s:%u %.100s", code.file,
                  python_.LineOf(frames[i].place, frames[i].instruction), code.name);
    is_generated = IsGeneratedPython(code.file);
    if (!is_generated) return;
  }
}

void UncomputedReads::Finish() {
  const char* by = by_.load(std::memory_order_acquire);
  if (by == nullptr) return;
  char count[24];
  std::snprintf(count, sizeof count, "%llu",
                static_cast<unsigned long long>(driver_.CountUncomputedReads()));
  trace_.Describe("simulated.uncomputed_reads", count);
  trace_.Describe("simulated.first_uncomputed", by);
  if (line_[0] != '\0') trace_.Describe("simulated.first_uncomputed_at", line_);
}

}  // namespace vramstow
