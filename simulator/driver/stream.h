// Streams: what a handle means, and submitting work to one.
//
// Ownership: contexts own streams; work belongs to its queue. Threads: the driver's lock. Errors:
// null for a handle that means no stream. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_STREAM_H_
#define VRAMSTOW_SIMULATOR_DRIVER_STREAM_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

// What cards report; a lower number is a higher priority.
inline constexpr int kPriorityLeast = 0;
inline constexpr int kPriorityGreatest = -5;

// The stream that a handle means to the calling thread, whose current context is given; nothing is
// made. Null: there is none.
Stream* FindExistingStream(State* state, Context* context, CUstream handle);

// Appends work to a stream that is not capturing. With the implicit order of the legacy stream: it
// waits for all blocking streams of its context, and they wait for it.
Mark Submit(Call& call, Stream* stream, std::shared_ptr<Work> work);

// Records an event in a stream that is not capturing.
Mark RecordNow(Call& call, Event* event, Stream* stream);

// The end of a stream that the application made: pending work still runs.
void EndStream(State* state, Stream* stream);

CUresult SynchronizeContext(Call& call, Context* context);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_STREAM_H_
