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

constexpr size_t kMaxFrames = 192;

// Returns the name that a message uses. A mangled kernel name is long and means nothing to the
// user, so it is replaced by "a kernel".
const char* Words(const char* by) { return std::strncmp(by, "_Z", 2) == 0 ? "a kernel" : by; }

}  // namespace

void UncomputedReads::Watch() {
  if (is_watched_.exchange(true, std::memory_order_relaxed)) return;
  python_.Find();
  if (python_.state() == PythonRuntime::State::kUnchecked) python_.Check();
  driver_.WatchUncomputedReads(OnValue, this);
  driver_.WatchUnknownSizes(OnSize, this);
}

int UncomputedReads::OnValue(const char* by, void* self) {
  auto* const reads = static_cast<UncomputedReads*>(self);
  reads->FindLine(&reads->value_);
  reads->value_.by.store(by, std::memory_order_release);
  if (reads->PrintsMessages()) reads->LogUncomputedValue(by);
  return 1;
}

int UncomputedReads::OnSize(const char* by, void* self) {
  auto* const reads = static_cast<UncomputedReads*>(self);
  if (!reads->FindLine(&reads->size_)) return 0;
  reads->size_.by.store(by, std::memory_order_release);
  if (reads->PrintsMessages()) reads->LogUncomputedSize(by);
  return 1;
}

// True if this process prints the message. Of the processes of a distributed job, only the one with
// rank 0 does.
bool UncomputedReads::PrintsMessages() const {
  const char* rank = RankText();
  return !process_.options().quiet && (rank == nullptr || std::strcmp(rank, "0") == 0);
}

// Returns the end of the message. It names the setting that simulates the value, if there is one.
const char* UncomputedReads::Remedy(const char* by) const {
  if (std::strncmp(by, "a copy", 6) == 0) return "; contents=keep in --simulate stores it.";
  if (std::strncmp(by, "an unknown instruction", 22) == 0) return ".";
  const bool is_all = std::strstr(process_.options().simulate, "values=all") != nullptr;
  return is_all ? "." : "; values=all in --simulate computes it.";
}

// Returns the source line, or the reason why it is not known.
const char* UncomputedReads::Place(const First& first) const {
  if (first.line[0] != '\0') return first.line;
  if (python_.state() == PythonRuntime::State::kRefused) {
    return "at a line of Python that cannot be read";
  }
  return "in a thread without Python";
}

void UncomputedReads::LogUncomputedValue(const char* by) const {
  Log("the program read a result of %.60s that was not computed: the value is not valid, and "
      "decisions that depend on it may differ from those on a real GPU (%s)%s",
      Words(by), Place(value_), Remedy(by));
}

void UncomputedReads::LogUncomputedSize(const char* by) const {
  Log("a size depends on a result of %.60s that was not computed: from here on, memory may differ "
      "from that on a real GPU (%s)%s",
      Words(by), Place(size_), Remedy(by));
}

// Finds the innermost line of the user's own code on the Python stack. If there is none, finds a
// line of a library other than PyTorch. Returns false if the value is only read to print a tensor.
bool UncomputedReads::FindLine(First* first) const {
  if (python_.state() != PythonRuntime::State::kUsable) return true;
  StackFrame frames[kMaxFrames];
  PythonSegment segments[kMaxFrames];
  const size_t count = python_.Collect(frames, kMaxFrames, segments, kMaxFrames);
  const size_t end = count == 0 ? 0 : segments[count - 1].end;
  bool prints = false;
  enum { kNothing, kOfPyTorch, kOfLibrary, kGenerated } best = kNothing;
  for (size_t i = 0; i < end; ++i) {
    PythonCode code;
    python_.Describe(frames[i].place, &code);
    auto kind = kGenerated;  // the program may be a text: python -c
    bool is_own = false;
    if (IsInstalledPython(code.file)) {
      kind = HasPathPart(code.file, "/torch/") ? kOfPyTorch : kOfLibrary;
    } else {
      is_own = !IsGeneratedPython(code.file);
    }
    prints = prints || HasPathPart(code.file, "/torch/_tensor_str.py");
    if (!is_own && kind <= best) continue;
    best = kind;
    std::snprintf(first->line, sizeof first->line, "%s:%u %.100s", code.file,
                  python_.LineOf(frames[i].place, frames[i].instruction), code.name);
    if (is_own) break;
  }
  return !prints;
}

void UncomputedReads::Describe(const First& first, uint64_t count, const char* const (&facts)[3]) {
  const char* by = first.by.load(std::memory_order_acquire);
  if (by == nullptr) return;
  char text[24];
  std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(count));
  trace_.Describe(facts[0], text);
  trace_.Describe(facts[1], by);
  if (first.line[0] != '\0') trace_.Describe(facts[2], first.line);
}

void UncomputedReads::Finish() {
  Describe(value_, driver_.CountUncomputedReads(),
           {"simulated.uncomputed_reads", "simulated.first_uncomputed",
            "simulated.first_uncomputed_at"});
  Describe(size_, driver_.CountUnknownSizes(),
           {"simulated.unknown_sizes", "simulated.first_unknown_size",
            "simulated.first_unknown_size_at"});
}

}  // namespace vramstow
