// Reports calls and work to a profiler (simulator_api.h says what is reported and when).
//
// Idea: a call is reported at its begin and at its end. While a profiler is attached, work is
// wrapped: the wrapper records when the work was queued and reports when it has ended. Without a
// profiler, each call and each piece of work only loads one pointer.
//
// Ownership: notes belong to the wrapped work; names of kernels live as long as the process.
// Threads: any for Profiler(); the other functions need the driver's lock. Errors: none. Units:
// bytes, virtual nanoseconds.
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

// Return the facts about work that are known before it is queued.
WorkNote DescribeLaunch(const Launch& launch);
WorkNote DescribeCopy(State& state, const CopyBox& box, bool asynchronous);
WorkNote DescribeFill(const FillBox& box, bool asynchronous);
// The kind is 0 for a node that is not a kernel, copy or fill.
WorkNote DescribeNode(State& state, const GraphNode& node);

// Wraps work for a stream so that the profiler is called when the work has ended. Must be called
// only while a profiler is attached.
std::shared_ptr<Work> WrapWork(Call& call, const Stream& stream, std::shared_ptr<Work> work,
                               const WorkNote& note);

// Wraps `work` if a profiler is attached, and else returns it unchanged without calling `describe`.
template <typename Describe>
std::shared_ptr<Work> Observed(Call& call, const Stream& stream, std::shared_ptr<Work> work,
                               Describe&& describe) {
  if (Profiler() == nullptr) [[likely]] {
    return work;
  }
  return WrapWork(call, stream, std::move(work), describe());
}

// Add the pool or the event to the record of the call in progress.
void EmitPool(Call& call, const Pool& pool);
void EmitEvent(Call& call, const Event& event);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_PROFILER_H_
