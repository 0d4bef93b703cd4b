// Progress: what the program is working at, and how far it is, for people who wait.
//
// Idea: whoever works for long says so; whoever has a terminal looks at it from a thread of its own
// (tools/terminal/progress_bar.h). Nobody has to look, and nothing depends on what is said here.
//
// Ownership: one for the whole process. Threads: any. Errors: none. Units: parts of one step, 0 to
// 1; steps are counted from 0.
#ifndef VRAMSTOW_TOOLS_BASE_PROGRESS_H_
#define VRAMSTOW_TOOLS_BASE_PROGRESS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace vramstow {

class Progress {
 public:
  struct View {
    std::string what;    // empty: nothing that takes long
    double part = -1.0;  // of all steps; negative: not known
  };

  static Progress& OfProcess();

  // Begins a piece of work, "reading run.stow", step `step` of `steps` (0: nobody knows how many).
  void Begin(std::string what, uint64_t step = 0, uint64_t steps = 1);
  // So much of the step is done; negative: not known.
  void Reach(double part) { part_.store(part, std::memory_order_relaxed); }
  View Look() const;

 private:
  mutable std::mutex mutex_;  // guards the next three
  std::string what_;
  uint64_t step_ = 0;
  uint64_t steps_ = 0;
  std::atomic<double> part_ = -1.0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_PROGRESS_H_
