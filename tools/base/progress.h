// Progress stores what the program is doing and how much of it is done, for a user who waits.
//
// Idea: long work reports its progress here. If stderr is a terminal, another thread reads it
// (tools/terminal/progress_bar.h). Nothing else depends on it.
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
    std::string what;    // empty: no long work
    double part = -1.0;  // of all steps; negative: not known
  };

  static Progress& OfProcess();

  // Begins a piece of work, such as "reading run.stow", which is step `step` of `steps` (0 if the
  // number is not known).
  void Begin(std::string what, uint64_t step = 0, uint64_t steps = 1);
  // Sets the part of the step that is done; a negative value means that it is not known.
  void Reach(double part) { part_.store(part, std::memory_order_relaxed); }
  View Look() const;

 private:
  mutable std::mutex mutex_;  // guards the next three members
  std::string what_;
  uint64_t step_ = 0;
  uint64_t steps_ = 0;
  std::atomic<double> part_ = -1.0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_PROGRESS_H_
