#include "simulator/driver/capture.h"

#include <algorithm>

#include "simulator/driver/context.h"
#include "simulator/driver/graph.h"

namespace vramstow::simulator {
namespace {

// True if `capture` forbids potentially unsafe calls to this thread.
bool Forbids(const Capture& capture, const ThreadState& thread) {
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == thread.id) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void Invalidate(Capture* capture) { capture->valid = false; }

void Append(Call& call, Stream* stream, NodeParameters parameters) {
  GraphNode* node = AddNode(&call.state(), stream->capture->graph, stream->context,
                            std::move(parameters), stream->capture_fronts);
  stream->capture_fronts = {node};
}

void AddFronts(std::vector<GraphNode*>* fronts, const std::vector<GraphNode*>& more) {
  for (GraphNode* node : more) {
    if (std::find(fronts->begin(), fronts->end(), node) == fronts->end()) fronts->push_back(node);
  }
}

CUresult RefuseInvalid(const Stream& stream) {
  return stream.capture->valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUDA_MEMCPY3D ShapeOf(const CopyBox& box) {
  CUDA_MEMCPY3D shape = {};
  shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  shape.srcDevice = box.from.address;
  shape.dstDevice = box.to.address;
  shape.srcPitch = box.from.pitch;
  shape.dstPitch = box.to.pitch;
  shape.WidthInBytes = box.width;
  shape.Height = box.height;
  shape.Depth = box.depth;
  return shape;
}

}  // namespace

CUresult RefuseUnsafe(Call& call) {
  bool forbidden = false;
  for (const auto& capture : call.state().captures) {
    if (!Forbids(*capture, call.thread())) continue;
    Invalidate(capture.get());
    forbidden = true;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult RefuseImplicit(Call& call, Stream* stream, bool invalidate) {
  if (!stream->legacy) return CUDA_SUCCESS;
  bool forbidden = false;
  for (const auto& capture : call.state().captures) {
    for (const Stream* other : capture->streams) {
      if (other->context != stream->context || !other->Blocking()) continue;
      if (invalidate) Invalidate(capture.get());
      forbidden = true;
    }
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult RefuseCapturing(Call& call, Stream* stream) {
  if (stream->capture == nullptr) {
    const CUresult implicit = RefuseImplicit(call, stream);
    return implicit != CUDA_SUCCESS ? implicit : RefuseUnsafe(call);
  }
  Invalidate(stream->capture.get());
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult RefuseWhileCapturing(Call& call, Context* context) {
  return InvalidateCapturesOf(call, context) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult RefuseCapturedEvent(Call& call, Event* event) {
  if (event->capture == nullptr) return RefuseUnsafe(call);
  Invalidate(event->capture.get());
  return CUDA_ERROR_CAPTURED_EVENT;
}

bool InvalidateCapturesOf(Call& call, Context* context) {
  bool any = false;
  for (const auto& capture : call.state().captures) {
    for (const Stream* stream : capture->streams) {
      if (stream->context != context) continue;
      Invalidate(capture.get());
      any = true;
    }
  }
  return any;
}

bool IsCaptured(const State& state, const Graph* graph) {
  return std::any_of(state.captures.begin(), state.captures.end(),
                     [graph](const auto& capture) { return capture->graph == graph; });
}

void InvalidateCapture(Stream* stream) {
  if (stream->capture == nullptr) return;
  Invalidate(stream->capture.get());
  stream->capture->streams.erase(stream);
  if (stream->capture->origin == stream) {
    State& state = HeldState();
    if (stream->capture->owns_graph) DestroyGraph(stream->capture->graph);
    std::erase(state.captures, stream->capture);
    for (Stream* other : stream->capture->streams) {
      other->capture.reset();
      other->capture_fronts.clear();
    }
  }
}

CUresult CaptureCopy(Call& call, Stream* stream, const CopyBox& box) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused == CUDA_SUCCESS) Append(call, stream, CopyNode{box, ShapeOf(box)});
  return refused;
}

CUresult CaptureFill(Call& call, Stream* stream, const FillBox& box) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused == CUDA_SUCCESS) Append(call, stream, FillNode{box});
  return refused;
}

CUresult CaptureLaunch(Call& call, Stream* stream, const Launch& launch) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused == CUDA_SUCCESS) {
    Append(call, stream, MakeKernelNode(&call.state(), stream->context, launch));
  }
  return refused;
}

CUresult CaptureValues(Call& call, Stream* stream, ValuesNode values) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused == CUDA_SUCCESS) Append(call, stream, std::move(values));
  return refused;
}

CUresult CaptureHostFunction(Call& call, Stream* stream, CUhostFn function, void* user) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused == CUDA_SUCCESS) Append(call, stream, HostNode{function, user});
  return refused;
}

CUresult CaptureAllocate(Call& call, Stream* stream, int device, uint64_t bytes,
                         uint64_t* address) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused != CUDA_SUCCESS) return refused;
  AllocateNode node;
  node.pages = AllocateGraphPages(&call.state(), device, bytes, stream->context);
  if (node.pages == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  node.given.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  node.given.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  node.given.bytesize = bytes;
  *address = node.given.dptr = node.pages->address;
  Append(call, stream, std::move(node));
  return CUDA_SUCCESS;
}

CUresult CaptureFree(Call& call, Stream* stream, uint64_t address) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused == CUDA_SUCCESS) Append(call, stream, FreeNode{address});
  return refused;
}

CUresult CaptureEventRecord(Call& call, Event* event, Stream* stream, unsigned flags) {
  const CUresult refused = RefuseInvalid(*stream);
  if (refused != CUDA_SUCCESS) return refused;
  if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    Append(call, stream, EventNode{event->shared_from_this(), true});
    return CUDA_SUCCESS;
  }
  event->capture = stream->capture;
  event->capture_fronts = stream->capture_fronts;
  return CUDA_SUCCESS;
}

CUresult CaptureEventWait(Call& call, Event* event, Stream* stream, unsigned flags) {
  if (stream->capture != nullptr) {
    const CUresult refused = RefuseInvalid(*stream);
    if (refused != CUDA_SUCCESS) return refused;
    if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
      Append(call, stream, EventNode{event->shared_from_this(), false});
      return CUDA_SUCCESS;
    }
    if (event->capture == nullptr) {
      Invalidate(stream->capture.get());
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (event->capture != stream->capture) {
      Invalidate(stream->capture.get());
      Invalidate(event->capture.get());
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    AddFronts(&stream->capture_fronts, event->capture_fronts);
    return CUDA_SUCCESS;
  }
  if (event->capture->ended) return CUDA_ERROR_CAPTURED_EVENT;
  if (!event->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->legacy) {
    Invalidate(event->capture.get());
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  stream->capture = event->capture;  // the stream joins the capture
  stream->capture->streams.insert(stream);
  stream->capture_fronts = event->capture_fronts;
  return CUDA_SUCCESS;
}

GraphNode* FindLastNode(const Stream& stream) {
  for (auto node = stream.capture_fronts.rbegin(); node != stream.capture_fronts.rend(); ++node) {
    const CUgraphNodeType type = (*node)->Type();
    if (type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
        type == CU_GRAPH_NODE_TYPE_MEMSET) {
      return *node;
    }
  }
  return nullptr;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

CUresult BeginCapture(const char* name, CUstream handle, CUstreamCaptureMode mode, Graph* into,
                      const std::vector<GraphNode*>& fronts) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->graph = into != nullptr ? into : NewGraph(&call.state());
    capture->owns_graph = into == nullptr;
    capture->id = ++call.state().next_id;
    capture->thread = call.thread().id;
    capture->mode = mode;
    capture->origin = stream;
    capture->streams.insert(stream);
    stream->capture = capture;
    stream->capture_fronts = fronts;
    call.state().captures.push_back(std::move(capture));
    return CUDA_SUCCESS;
  });
}

// True if the last nodes of the origin stream depend on the last nodes of every other stream of the
// capture.
bool IsJoined(const Capture& capture) {
  std::set<const GraphNode*> reached;
  std::vector<const GraphNode*> open(capture.origin->capture_fronts.begin(),
                                     capture.origin->capture_fronts.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  for (const Stream* stream : capture.streams) {
    for (const GraphNode* node : stream->capture_fronts) {
      if (!reached.contains(node)) return false;
    }
  }
  return true;
}

CUresult EndCapture(Call& call, Stream* stream, CUgraph* graph) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) {
    capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult result = CUDA_SUCCESS;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != call.thread().id) {
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;  // the capture ends nevertheless
  } else if (!capture->valid) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!IsJoined(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  for (Stream* member : capture->streams) {
    member->capture.reset();
    member->capture_fronts.clear();
  }
  capture->ended = true;
  std::erase(call.state().captures, capture);
  if (result != CUDA_SUCCESS && capture->owns_graph) DestroyGraph(capture->graph);
  if (graph != nullptr) *graph = result == CUDA_SUCCESS ? ToHandle(capture->graph) : nullptr;
  return result;
}

struct CaptureInfo {
  CUstreamCaptureStatus* status;
  cuuint64_t* id;
  CUgraph* graph;
  const CUgraphNode** fronts;
  const CUgraphEdgeData** edges;
  size_t* front_count;
};

CUresult GetCaptureInfo(CUstream handle, const CaptureInfo& info) {
  return Serve("cuStreamGetCaptureInfo", Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (info.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult implicit = RefuseImplicit(call, stream, false);
    if (implicit != CUDA_SUCCESS) return implicit;
    const Capture* capture = stream->capture.get();
    if (capture == nullptr) {
      *info.status = CU_STREAM_CAPTURE_STATUS_NONE;
      return CUDA_SUCCESS;
    }
    *info.status =
        capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    if (!capture->valid) return CUDA_SUCCESS;
    if (info.id != nullptr) *info.id = capture->id;
    if (info.graph != nullptr) *info.graph = ToHandle(capture->graph);
    // As documented, this array is valid until the next call for the stream.
    if (info.fronts != nullptr) {
      *info.fronts = reinterpret_cast<const CUgraphNode*>(stream->capture_fronts.data());
    }
    if (info.edges != nullptr) *info.edges = nullptr;  // edges have no data
    if (info.front_count != nullptr) *info.front_count = stream->capture_fronts.size();
    return CUDA_SUCCESS;
  });
}

bool ReadNodes(const CUgraphNode* handles, size_t count, std::vector<GraphNode*>* nodes) {
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = Graphs().nodes.Find(handles[i]);
    if (node == nullptr) return false;
    nodes->push_back(node);
  }
  return true;
}

CUresult UpdateDependencies(CUstream handle, const CUgraphNode* nodes, size_t count,
                            unsigned flags) {
  return Serve("cuStreamUpdateCaptureDependencies", Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (!stream->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::vector<GraphNode*> fronts;
    if ((count > 0 && nodes == nullptr) || !ReadNodes(nodes, count, &fronts)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      stream->capture_fronts = fronts;
    } else if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) {
      AddFronts(&stream->capture_fronts, fronts);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return Serve("cuThreadExchangeStreamCaptureMode", Needs::kInit, [&](Call& call) {
    if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
        *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::swap(*mode, call.thread().capture_mode);
    return CUDA_SUCCESS;
  });
}

#undef cuStreamBeginCapture
CUresult cuStreamBeginCapture(CUstream stream) {
  return BeginCapture("cuStreamBeginCapture", stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return BeginCapture("cuStreamBeginCapture", stream, mode, nullptr, {});
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle, const CUgraphNode* nodes,
                                     const CUgraphEdgeData* edges, size_t count,
                                     CUstreamCaptureMode mode) {
  (void)edges;
  Graph* graph = nullptr;
  std::vector<GraphNode*> fronts;
  const CUresult result = Serve("cuStreamBeginCaptureToGraph", Needs::kContext, [&](Call&) {
    graph = Graphs().graphs.Find(handle);
    return graph == nullptr || !ReadNodes(nodes, count, &fronts) ? CUDA_ERROR_INVALID_VALUE
                                                                 : CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  return BeginCapture("cuStreamBeginCaptureToGraph", stream, mode, graph, fronts);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return Serve("cuStreamEndCapture", Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (graph != nullptr) *graph = nullptr;
    return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : EndCapture(call, stream, graph);
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return Serve("cuStreamIsCapturing", Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // The documentation says that this call is refused for the legacy stream while a blocking
    // stream captures. The capture stays valid.
    const CUresult implicit = RefuseImplicit(call, stream, false);
    if (implicit != CUDA_SUCCESS) return implicit;
    *status = stream->capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->valid   ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                         : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  });
}

#undef cuStreamGetCaptureInfo
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return GetCaptureInfo(stream, {status, id, nullptr, nullptr, nullptr, nullptr});
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** nodes, size_t* count) {
  return GetCaptureInfo(stream, {status, id, graph, nodes, nullptr, count});
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** nodes,
                                   const CUgraphEdgeData** edges, size_t* count) {
  return GetCaptureInfo(stream, {status, id, graph, nodes, edges, count});
}

#undef cuStreamUpdateCaptureDependencies
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, size_t count,
                                           unsigned int flags) {
  return UpdateDependencies(stream, nodes, count, flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* nodes,
                                              const CUgraphEdgeData* edges, size_t count,
                                              unsigned int flags) {
  (void)edges;
  return UpdateDependencies(stream, nodes, count, flags);
}

}  // extern "C"
