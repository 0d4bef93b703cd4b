// UncomputedReads reports, in a simulated run, values that the program reads although they were not
// computed, and sizes that follow from such values. It counts both and finds the first Python line
// of each.
//
// Idea: the simulated driver calls back at the first of these reads, and at the first such size.
// The Python frames of the calling thread are examined at once, and one line on stderr reports the
// read at that moment, because a user would otherwise believe a loss of 0.0000. The totals are
// written to the trace at the end. A thread of PyTorch's autograd executes no line of the program,
// so the line of a library is named there. PyTorch uses masks to print tensors; the sizes of these
// masks are not counted.
//
// Ownership: static. Threads: one thread calls Watch and Finish; any thread may make the first
// read. It then holds the simulator's lock, so neither the driver nor the dynamic linker is called,
// and only that one write may block. Errors: without Python, or with an unsupported one, no line is
// named; a real driver reports no such reads. No heap. Units: reads.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_UNCOMPUTED_READS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_UNCOMPUTED_READS_H_

#include <atomic>

#include "interpose/core/runtime/core.h"
#include "tracer/capture/python_runtime.h"

namespace vramstow {

class UncomputedReads {
 public:
  constexpr UncomputedReads(const Process& process, const Driver& driver, Trace& trace)
      : process_(process), driver_(driver), trace_(trace) {}
  UncomputedReads(const UncomputedReads&) = delete;
  UncomputedReads& operator=(const UncomputedReads&) = delete;

  // Begins to watch. Called after cuInit; if any thread runs Python, by such a thread.
  void Watch();
  // Writes the totals; called before the trace is closed.
  void Finish();

 private:
  // Describes the first read of a value that was not computed, or the first size that follows from
  // one.
  struct First {
    std::atomic<const char*> by{nullptr};  // set last, after the line
    char line[1200] = {};                  // "FILE:NUMBER FUNCTION", or empty
  };

  static int OnValue(const char* by, void* self);
  static int OnSize(const char* by, void* self);
  bool FindLine(First* first) const;
  bool PrintsMessages() const;
  void LogUncomputedValue(const char* by) const;
  void LogUncomputedSize(const char* by) const;
  const char* Place(const First& first) const;
  const char* Remedy(const char* by) const;
  void Describe(const First& first, uint64_t count, const char* const (&facts)[3]);

  const Process& process_;
  const Driver& driver_;
  Trace& trace_;
  PythonRuntime python_;
  std::atomic<bool> is_watched_{false};
  First value_;
  First size_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_UNCOMPUTED_READS_H_
