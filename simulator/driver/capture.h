// Stream capture: what a stream records instead of doing, and which calls a capture forbids.
//
// Rules (CUDA programming guide, "Prohibited and Unhandled Operations"; cuda.h): while a stream is
// captured it cannot be asked or waited for; calls that are potentially unsafe are forbidden by
// captures in global mode in any thread and in thread-local mode in this one, unless this thread is
// relaxed; a forbidden call invalidates the capture.
//
// Ownership: the graph that is recorded belongs to the capture until it ends. Threads: the driver's
// lock. Errors: CUresult; a capture that is invalid stays so until it is ended. Units: none.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CAPTURE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CAPTURE_H_

#include "simulator/driver/call.h"
#include "simulator/driver/copy.h"
#include "simulator/driver/fill.h"

namespace vramstow::simulator {

struct Graph;
struct Launch;
struct ValuesNode;

// One capture in progress.
struct Capture {
  Graph* graph = nullptr;
  uint64_t id = 0;
  uint64_t thread = 0;  // that began it
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  Stream* origin = nullptr;
  std::unordered_set<Stream*> streams;
  bool valid = true;
  bool owns_graph = true;  // false: captured into a graph of the application
  bool ended = false;
};

// A potentially unsafe call (allocating, freeing, …) is about to be made by this thread.
CUresult RefuseUnsafe(Call& call);

// Work is about to be put into `stream`, which is not capturing: the legacy stream must not come to
// depend on a capture.
CUresult RefuseImplicit(Call& call, Stream* stream, bool invalidate = true);

// `stream` is about to be asked or waited for, or used synchronously.
CUresult RefuseCapturing(Call& call, Stream* stream);

// A stream captures into `graph`, which must not end before the capture does.
bool IsCaptured(const State& state, const Graph* graph);

// The whole context is about to be waited for.
CUresult RefuseWhileCapturing(Call& call, Context* context);

// `event` is about to be asked or waited for by the host.
CUresult RefuseCapturedEvent(Call& call, Event* event);

// Makes captures of `context` invalid. True: there was one.
bool InvalidateCapturesOf(Call& call, Context* context);
void InvalidateCapture(Stream* stream, CUresult why);

// The stream's last node that does something on the device; null: there is none.
GraphNode* FindLastNode(const Stream& stream);

// What a capturing stream records.
CUresult CaptureCopy(Call& call, Stream* stream, const CopyBox& box);
CUresult CaptureFill(Call& call, Stream* stream, const FillBox& box);
CUresult CaptureLaunch(Call& call, Stream* stream, const Launch& launch);
CUresult CaptureValues(Call& call, Stream* stream, ValuesNode values);
CUresult CaptureHostFunction(Call& call, Stream* stream, CUhostFn function, void* user);
// Also gives the address, which is good from now on for nodes that depend on this one.
CUresult CaptureAllocate(Call& call, Stream* stream, int device, uint64_t bytes, uint64_t* address);
CUresult CaptureFree(Call& call, Stream* stream, uint64_t address);
CUresult CaptureEventRecord(Call& call, Event* event, Stream* stream, unsigned flags);
CUresult CaptureEventWait(Call& call, Event* event, Stream* stream, unsigned flags);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CAPTURE_H_
