// Implements stream capture: which work a stream records instead of executing it, and which calls a
// capture forbids.
//
// Rules (CUDA programming guide, "Prohibited and Unhandled Operations"; cuda.h): while a stream is
// captured it cannot be queried or synchronized. Captures in global mode forbid potentially unsafe
// calls in every thread, and captures in thread-local mode forbid them in the thread that began the
// capture. A thread in relaxed mode may make such calls anyway. A forbidden call invalidates the
// capture.
//
// Ownership: the recorded graph belongs to the capture until the capture ends. Threads: the caller
// holds the driver's lock. Errors: returns a CUresult; an invalid capture stays invalid until it is
// ended. Units: none.
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
  uint64_t thread = 0;  // the thread that began the capture
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  Stream* origin = nullptr;
  std::unordered_set<Stream*> streams;
  bool valid = true;
  bool owns_graph = true;  // false: captured into a graph of the application
  bool ended = false;
};

// Checks a potentially unsafe call (allocating, freeing, …) that this thread is about to make.
CUresult RefuseUnsafe(Call& call);

// Refuses work that is about to be submitted to `stream`, which is not capturing, if the work would
// make the legacy stream depend on a capture.
CUresult RefuseImplicit(Call& call, Stream* stream, bool invalidate = true);

// Refuses to query, synchronize or synchronously use `stream` if it captures.
CUresult RefuseCapturing(Call& call, Stream* stream);

// True if a stream captures into `graph`, which must not be destroyed before the capture ends.
bool IsCaptured(const State& state, const Graph* graph);

// Refuses to synchronize the whole context while one of its streams captures.
CUresult RefuseWhileCapturing(Call& call, Context* context);

// Refuses a query or wait of the host for `event` if a capture recorded it.
CUresult RefuseCapturedEvent(Call& call, Event* event);

// Invalidates the captures of `context`. Returns true if there was a capture in progress.
bool InvalidateCapturesOf(Call& call, Context* context);
// Takes a stream that ends out of its capture, if it has one. The capture becomes invalid, and it
// ends if the stream is the one that began it.
void InvalidateCapture(Stream* stream);

// Returns the stream's last node that does work on the device, or null if there is none.
GraphNode* FindLastNode(const Stream& stream);

// Record the work of a capturing stream as graph nodes.
CUresult CaptureCopy(Call& call, Stream* stream, const CopyBox& box);
CUresult CaptureFill(Call& call, Stream* stream, const FillBox& box);
CUresult CaptureLaunch(Call& call, Stream* stream, const Launch& launch);
CUresult CaptureValues(Call& call, Stream* stream, ValuesNode values);
CUresult CaptureHostFunction(Call& call, Stream* stream, CUhostFn function, void* user);
// Records an allocation as a graph node, and also returns its address. Nodes that depend on this
// node may use the address from now on.
CUresult CaptureAllocate(Call& call, Stream* stream, int device, uint64_t bytes, uint64_t* address);
CUresult CaptureFree(Call& call, Stream* stream, uint64_t address);
CUresult CaptureEventRecord(Call& call, Event* event, Stream* stream, unsigned flags);
CUresult CaptureEventWait(Call& call, Event* event, Stream* stream, unsigned flags);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CAPTURE_H_
