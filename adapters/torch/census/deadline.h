// Deadline: until when something may work.
//
// Idea: work is limited by the time that its thread has a processor. By the clock on the wall a
// census would find less where other processes want the processors, too. But someone waits for it,
// so that this clock has a limit as well, which is longer.
//
// Ownership: none. Threads: asked by the one that made it. Errors: none. Units: nanoseconds.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_DEADLINE_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_DEADLINE_H_

#include <ctime>

#include <cstdint>

namespace vramstow::torch_census {

inline uint64_t TimeNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t NowNs() { return TimeNs(CLOCK_MONOTONIC); }
// How long the calling thread has had a processor.
inline uint64_t WorkedNs() { return TimeNs(CLOCK_THREAD_CPUTIME_ID); }

class Deadline {
 public:
  static constexpr uint64_t kLongestPerWork = 8;

  explicit Deadline(uint64_t work_ns)
      : worked_ns_(WorkedNs() + work_ns), end_ns_(NowNs() + kLongestPerWork * work_ns) {}
  // Later than another one.
  Deadline(const Deadline& other, uint64_t work_ns)
      : worked_ns_(other.worked_ns_ + work_ns),
        end_ns_(other.end_ns_ + kLongestPerWork * work_ns) {}

  bool is_over() const { return WorkedNs() > worked_ns_ || NowNs() > end_ns_; }

 private:
  uint64_t worked_ns_;
  uint64_t end_ns_;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_DEADLINE_H_
