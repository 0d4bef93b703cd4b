// Deadline limits the time that a task may take.
//
// Idea: work is limited by the processor time of its thread. With a limit by the wall clock, a
// census would find less when other processes use the processors. But the program waits during a
// census, so there is a second, longer limit by the wall clock.
//
// Ownership: none. Threads: only the thread that made a deadline uses it. Errors: none. Units:
// nanoseconds.
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
// Returns the processor time of the calling thread.
inline uint64_t WorkedNs() { return TimeNs(CLOCK_THREAD_CPUTIME_ID); }

class Deadline {
 public:
  static constexpr uint64_t kLongestPerWork = 8;

  explicit Deadline(uint64_t work_ns)
      : worked_ns_(WorkedNs() + work_ns), end_ns_(NowNs() + kLongestPerWork * work_ns) {}
  // Makes a deadline that is later than another one by this much work.
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
