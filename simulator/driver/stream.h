// Finds the stream of a handle, and submits work to streams.
//
// Ownership: contexts own streams; work belongs to its queue. Threads: the caller holds the
// driver's lock. Errors: returns null for a handle that is not a stream. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_STREAM_H_
#define VRAMSTOW_SIMULATOR_DRIVER_STREAM_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

// Priorities that GPUs report; a lower number is a higher priority.
inline constexpr int kPriorityLeast = 0;
inline constexpr int kPriorityGreatest = -5;

// Returns the stream that a handle means to the calling thread, whose current context is `context`.
// Returns null if that stream does not exist. Creates no stream.
Stream* FindExistingStream(State* state, Context* context, CUstream handle);

// Adds the marks that the next work of the stream waits for because of the legacy stream.
void AddImplicitWaits(const Stream& stream, std::vector<Mark>* waits);

// Appends work to a stream that is not capturing. Obeys the implicit order of the legacy stream:
// its work waits for all blocking streams of its context, and their work waits for the legacy
// stream. The work waits for `waits`, too.
Mark Submit(Call& call, Stream* stream, std::shared_ptr<Work> work, std::vector<Mark> waits = {});

// Records an event in a stream that is not capturing.
Mark RecordNow(Call& call, Event* event, Stream* stream);

// Ends a stream that the application created. Its pending work still runs, and its capture becomes
// invalid.
void EndStream(State* state, Stream* stream);

CUresult SynchronizeContext(Call& call, Context* context);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_STREAM_H_
