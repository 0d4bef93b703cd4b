// UncomputedReads: what the program reads in a rehearsal though nobody computed it, and what it
// makes as large as such a value says: how often, and the first time in which line of Python.
//
// Idea: the simulated driver calls back at the first of these reads, and at the first such size.
// The Python frames of the calling thread are looked at there and then, and one line on stderr says
// it at that moment, because a loss of 0.0000 is believed otherwise; the trace is told of all at
// the end. A thread of autograd's has no line of the program's: then a library's is named. PyTorch
// prints a tensor by masks, whose sizes do not count.
//
// Ownership: static. Threads: Watch and Finish are called by one; the first read is any thread's,
// with the simulator's lock held, under which neither the driver nor the dynamic linker is asked
// and nothing is waited for but that one write. Errors: without Python, or with one that is not
// known, no line is named; a real driver has none of this. No heap. Units: reads.
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

  // After cuInit, by a thread that runs Python if any does.
  void Watch();
  // Before the trace is closed.
  void Finish();

 private:
  // The first time of one kind.
  struct First {
    std::atomic<const char*> by{nullptr};  // set last: then the line is known, too
    char line[1200] = {};                  // "FILE:NUMBER FUNCTION", or empty
  };

  static int OnValue(const char* by, void* self);
  static int OnSize(const char* by, void* self);
  bool FindLine(First* first) const;
  bool IsTold() const;
  void TellOfValue(const char* by) const;
  void TellOfSize(const char* by) const;
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
