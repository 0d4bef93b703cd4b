// What a profiler learns of calls and of work (simulator_api.h says what and when).
//
// Idea: a call tells of itself at its begin and at its end. Work is wrapped while somebody listens:
// the wrapper notes when the work was queued and tells when it has ended. Without a profiler both
// cost one load.
//
// Ownership: notes belong to the wrapped work; names of kernels live as long as the process.
// Threads: Profiler() any; the others with the driver's lock held. Errors: none. Units: bytes,
// virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_PROFILER_H_
#define VRAMSTOW_SIMULATOR_DRIVER_PROFILER_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct CopyBox;
struct FillBox;
struct GraphExec;
struct GraphNode;
struct Launch;
struct Pool;

using WorkNote = vramstowSimulatorWork;

// What can be said of work before it is queued.
WorkNote DescribeLaunch(const Launch& launch);
WorkNote DescribeCopy(State& state, const CopyBox& box, bool asynchronous);
WorkNote DescribeFill(const FillBox& box, bool asynchronous);
// Of a node that is no kernel, copy or fill: kind 0.
WorkNote DescribeNode(State& state, const GraphNode& node);

// `work` for a stream, wrapped so that its end is told. Only while there is a profiler.
std::shared_ptr<Work> WrapWork(Call& call, const Stream& stream, std::shared_ptr<Work> work,
                               const WorkNote& note);

// The same, or `work` as it is; `describe` is asked only if somebody listens.
template <typename Describe>
std::shared_ptr<Work> Observed(Call& call, const Stream& stream, std::shared_ptr<Work> work,
                               Describe&& describe) {
  if (Profiler() == nullptr) [[likely]] {
    return work;
  }
  return WrapWork(call, stream, std::move(work), describe());
}

// The call in progress is about this pool, event.
void EmitPool(Call& call, const Pool& pool);
void EmitEvent(Call& call, const Event& event);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_PROFILER_H_
