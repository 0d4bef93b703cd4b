// Scenarios: tests of the pool as text files that anyone can write.
//
// Idea: one command a line, `#` begins a comment. The runner has a fake device and a pool with all
// checks on. Sizes as in "2MiB", times as in "10ms", streams as numbers.
//
//   device [memory=1GiB] [granularity=2MiB] [no-context-events] [no-vmm] [maps-once]
//   pool [chunk=2MiB] [small=1MiB] [limit=64MiB] [decay=1s] [watermark=64MiB] [steal-after=1s]
//        [stitch-wait=1ms] [last-wait=1s] [slack=10] [shadows=off]
//   alloc NAME SIZE [stream=N] [pool=N] [framework] [fails]
//   free NAME [fails]                  use NAME stream=N
//   submit NAME stream=N               work that touches the block, unfinished until…
//   finish stream=N | finish all       pauses finish | pauses do nothing
//   trim [SIZE] [wait=1s]              maintain        advance TIME       limit SIZE
//   fail CALL N [forever]              fail nothing    foreign SIZE       note stream=N
//   hook frees NAME | hook allocates SIZE
//   capture begins | capture ends      destroy stream=N
//   expect WHAT VALUE      WHAT: reserved, allocated, requested, pending, live, misses, hits,
//                          released, hooks, waits, out-of-memory, peak-reserved, peak-allocated,
//                          moved, grown, free-memory, total-memory, report-requested,
//                          report-largest, report-free
//   expect calls CALL N    expect at-most calls CALL N
//   expect same A B        expect different A B       expect served NAME hit|fence|stitch|grow
//   expect unavailable     (the pool could not open)
//
// At the end the pool is checked and closed, and nothing may be left on the device.
//
// Ownership: the runner owns all. Threads: one. Errors: a list of sentences, empty if all is well.
#ifndef VRAMSTOW_TESTS_ALLOCATOR_SCENARIO_H_
#define VRAMSTOW_TESTS_ALLOCATOR_SCENARIO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vramstow {

class DriverLog;

// A driver call that fails while the scenario runs. Expectations are not checked then; the pool's
// invariants must hold.
struct Fault {
  std::string call;  // any call if empty
  uint64_t nth = 0;  // 0 for no fault
  bool forever = false;
};

struct ScenarioResult {
  std::vector<std::string> failures;
  uint64_t driver_calls = 0;
};

// Runs a scenario. If `log` is not null, every driver call and every block is written to it in
// order.
ScenarioResult RunScenario(const std::string& text, const Fault& fault, DriverLog* log = nullptr);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_ALLOCATOR_SCENARIO_H_
