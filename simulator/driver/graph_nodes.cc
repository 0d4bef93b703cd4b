// Implements adding graph nodes by kind, and reading and changing their parameters.
#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/copy_shapes.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/profiler.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

struct NewNode {
  CUgraphNode* out;
  CUgraph graph;
  const CUgraphNode* dependencies;
  size_t count;
};

// Makes the parameters with `make(call, &parameters)` and adds a node with them.
template <typename Make>
CUresult Add(const char* name, const NewNode& place, Make&& make) {
  return Serve(name, Needs::kContext, [&](Call& call) -> CUresult {
    Graph* graph = Graphs().graphs.Find(place.graph);
    if (place.out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (place.count > 0 && place.dependencies == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*> dependencies;
    for (size_t i = 0; i < place.count; ++i) {
      GraphNode* node = Graphs().nodes.Find(place.dependencies[i]);
      if (node == nullptr || node->graph != graph) return CUDA_ERROR_INVALID_VALUE;
      dependencies.push_back(node);
    }
    NodeParameters parameters;
    const CUresult result = make(call, &parameters);
    if (result != CUDA_SUCCESS) return result;
    *place.out = ToHandle(
        AddNode(&call.state(), graph, call.context(), std::move(parameters), dependencies));
    return CUDA_SUCCESS;
  });
}

template <typename Parameters, typename Body>
CUresult With(const char* name, CUgraphNode handle, Body&& body) {
  return Serve(name, Needs::kInit, [&](Call& call) -> CUresult {
    GraphNode* node = Graphs().nodes.Find(handle);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto* parameters = std::get_if<Parameters>(&node->parameters);
    return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : body(call, node, parameters);
  });
}

// Changes the parameters of one node of an executable graph, and makes new work for the node.
template <typename Make>
CUresult SetExec(const char* name, CUgraphExec exec_handle, CUgraphNode handle, Make&& make) {
  return Serve(name, Needs::kContext, [&](Call& call) -> CUresult {
    GraphExec* executable = Graphs().executables.Find(exec_handle);
    const GraphNode* node = Graphs().nodes.Find(handle);
    if (executable == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    GraphNode changed;
    changed.context = node->context;
    const CUresult result = make(call, &changed.parameters);
    if (result != CUDA_SUCCESS) return result;
    for (ExecNode& candidate : executable->nodes) {
      if (candidate.original != node->original) continue;
      if (candidate.type != changed.Type()) return CUDA_ERROR_INVALID_VALUE;
      candidate.work = MakeNodeWork(&call.state(), changed);
      candidate.note = DescribeNode(call.state(), changed);
      candidate.note.graph_node = node->id;
      if (const auto* event = std::get_if<EventNode>(&changed.parameters)) {
        candidate.event = event->event;
      }
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

template <typename Given>
CUresult ReadKernel(Call& call, const Given* given, NodeParameters* parameters) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Launch launch;
  launch.function = FindFunctionHandle(given->func);
  if constexpr (requires { given->kern; }) {
    launch.by_kernel = given->func == nullptr;
    if (launch.by_kernel) launch.function = FindKernelHandle(given->kern);
  }
  if (launch.function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  launch.grid[0] = given->gridDimX;
  launch.grid[1] = given->gridDimY;
  launch.grid[2] = given->gridDimZ;
  launch.block[0] = given->blockDimX;
  launch.block[1] = given->blockDimY;
  launch.block[2] = given->blockDimZ;
  launch.shared_bytes = given->sharedMemBytes;
  launch.parameters = given->kernelParams;
  launch.extra = given->extra;
  const CUresult result = CheckLaunch(call, launch);
  if (result == CUDA_SUCCESS) {
    *parameters = MakeKernelNode(&call.state(), call.context(), launch);
  }
  return result;
}

template <typename Given>
void WriteKernel(const KernelNode& node, Given* given) {
  *given = {};
  given->func = reinterpret_cast<CUfunction>(node.launch.function);
  if constexpr (requires { given->kern; }) {
    if (node.launch.by_kernel) {
      given->func = nullptr;
      given->kern = reinterpret_cast<CUkernel>(&node.launch.function->kernel);
    }
  }
  given->gridDimX = node.launch.grid[0];
  given->gridDimY = node.launch.grid[1];
  given->gridDimZ = node.launch.grid[2];
  given->blockDimX = node.launch.block[0];
  given->blockDimY = node.launch.block[1];
  given->blockDimZ = node.launch.block[2];
  given->sharedMemBytes = node.launch.shared_bytes;
  given->kernelParams = node.caller_parameters;
}

CUresult ReadCopy(const CUDA_MEMCPY3D* given, NodeParameters* parameters) {
  CopyNode node;
  if (given == nullptr || !ReadShape(*given, &node.box)) return CUDA_ERROR_INVALID_VALUE;
  node.shape = *given;
  *parameters = node;
  return CUDA_SUCCESS;
}

CUresult ReadFill(const CUDA_MEMSET_NODE_PARAMS* given, NodeParameters* parameters) {
  if (given == nullptr || given->width == 0 || given->height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (given->elementSize != 1 && given->elementSize != 2 && given->elementSize != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FillNode node;
  node.box = {.address = given->dst,
              .pitch = given->pitch,
              .value = given->value,
              .element = static_cast<int>(given->elementSize),
              .width = given->width,
              .height = given->height};
  if (!node.box.HasOwnRows()) return CUDA_ERROR_INVALID_VALUE;
  *parameters = node;
  return CUDA_SUCCESS;
}

CUresult ReadHost(const CUDA_HOST_NODE_PARAMS* given, NodeParameters* parameters) {
  if (given == nullptr || given->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *parameters = HostNode{given->fn, given->userData};
  return CUDA_SUCCESS;
}

CUresult ReadBatch(Call& call, const Context& context, const CUDA_BATCH_MEM_OP_NODE_PARAMS* given,
                   NodeParameters* parameters) {
  if (given == nullptr || given->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ValuesNode node;
  const CUresult result = ReadOperations(call, context, given->paramArray, given->count, &node);
  if (result == CUDA_SUCCESS) *parameters = std::move(node);
  return result;
}

CUresult ReadEvent(Call& call, CUevent handle, bool record, NodeParameters* parameters) {
  Event* event = call.state().events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *parameters = EventNode{event->shared_from_this(), record};
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return Add("cuGraphAddEmptyNode", {out, graph, dependencies, count},
             [](Call&, NodeParameters* parameters) {
               *parameters = EmptyNode();
               return CUDA_SUCCESS;
             });
}

#undef cuGraphAddKernelNode
CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* given) {
  return Add(
      "cuGraphAddKernelNode", {out, graph, dependencies, count},
      [&](Call& call, NodeParameters* parameters) { return ReadKernel(call, given, parameters); });
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* given) {
  return Add(
      "cuGraphAddKernelNode", {out, graph, dependencies, count},
      [&](Call& call, NodeParameters* parameters) { return ReadKernel(call, given, parameters); });
}

#undef cuGraphKernelNodeGetParams
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return With<KernelNode>("cuGraphKernelNodeGetParams", node,
                          [&](Call&, GraphNode*, KernelNode* kernel) {
                            if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                            WriteKernel(*kernel, out);
                            return CUDA_SUCCESS;
                          });
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out) {
  return With<KernelNode>("cuGraphKernelNodeGetParams", node,
                          [&](Call&, GraphNode*, KernelNode* kernel) {
                            if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                            WriteKernel(*kernel, out);
                            return CUDA_SUCCESS;
                          });
}

#undef cuGraphKernelNodeSetParams
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* given) {
  return With<KernelNode>("cuGraphKernelNodeSetParams", handle,
                          [&](Call& call, GraphNode* node, KernelNode*) {
                            if (call.context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
                            return ReadKernel(call, given, &node->parameters);
                          });
}

#undef cuGraphExecKernelNodeSetParams
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* given) {
  return SetExec(
      "cuGraphExecKernelNodeSetParams", executable, node,
      [&](Call& call, NodeParameters* parameters) { return ReadKernel(call, given, parameters); });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue* value) {
  (void)attribute;
  return With<KernelNode>("cuGraphKernelNodeGetAttribute", node,
                          [&](Call&, GraphNode*, KernelNode*) {
                            if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
                            *value = {};
                            return CUDA_SUCCESS;
                          });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue* value) {
  (void)attribute;
  return With<KernelNode>("cuGraphKernelNodeSetAttribute", node,
                          [&](Call&, GraphNode*, KernelNode*) {
                            return value == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
                          });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* given, CUcontext context) {
  (void)context;
  return Add("cuGraphAddMemcpyNode", {out, graph, dependencies, count},
             [&](Call&, NodeParameters* parameters) { return ReadCopy(given, parameters); });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* out) {
  return With<CopyNode>("cuGraphMemcpyNodeGetParams", node,
                        [&](Call&, GraphNode*, const CopyNode* copy) {
                          if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                          *out = copy->shape;
                          return CUDA_SUCCESS;
                        });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D* given) {
  return With<CopyNode>(
      "cuGraphMemcpyNodeSetParams", handle,
      [&](Call&, GraphNode* node, CopyNode*) { return ReadCopy(given, &node->parameters); });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMCPY3D* given, CUcontext context) {
  (void)context;
  return SetExec("cuGraphExecMemcpyNodeSetParams", executable, node,
                 [&](Call&, NodeParameters* parameters) { return ReadCopy(given, parameters); });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* given,
                              CUcontext context) {
  (void)context;
  return Add("cuGraphAddMemsetNode", {out, graph, dependencies, count},
             [&](Call&, NodeParameters* parameters) { return ReadFill(given, parameters); });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
  return With<FillNode>("cuGraphMemsetNodeGetParams", node,
                        [&](Call&, GraphNode*, const FillNode* fill) {
                          if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                          out->dst = fill->box.address;
                          out->pitch = fill->box.pitch;
                          out->value = fill->box.value;
                          out->elementSize = static_cast<unsigned>(fill->box.element);
                          out->width = fill->box.width;
                          out->height = fill->box.height;
                          return CUDA_SUCCESS;
                        });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* given) {
  return With<FillNode>(
      "cuGraphMemsetNodeSetParams", handle,
      [&](Call&, GraphNode* node, FillNode*) { return ReadFill(given, &node->parameters); });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* given, CUcontext context) {
  (void)context;
  return SetExec("cuGraphExecMemsetNodeSetParams", executable, node,
                 [&](Call&, NodeParameters* parameters) { return ReadFill(given, parameters); });
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* given) {
  return Add("cuGraphAddBatchMemOpNode", {out, graph, dependencies, count},
             [&](Call& call, NodeParameters* parameters) {
               return ReadBatch(call, *call.context(), given, parameters);
             });
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  return With<ValuesNode>(
      "cuGraphBatchMemOpNodeGetParams", handle, [&](Call&, GraphNode* node, ValuesNode* batch) {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *out = {reinterpret_cast<CUcontext>(node->context),
                static_cast<unsigned>(batch->given.size()), batch->given.data(), 0};
        return CUDA_SUCCESS;
      });
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode handle,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS* given) {
  return With<ValuesNode>("cuGraphBatchMemOpNodeSetParams", handle,
                          [&](Call& call, GraphNode* node, ValuesNode*) {
                            return ReadBatch(call, *node->context, given, &node->parameters);
                          });
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* given) {
  return SetExec("cuGraphExecBatchMemOpNodeSetParams", executable, node,
                 [&](Call& call, NodeParameters* parameters) {
                   return ReadBatch(call, *call.context(), given, parameters);
                 });
}

CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* given) {
  return Add("cuGraphAddHostNode", {out, graph, dependencies, count},
             [&](Call&, NodeParameters* parameters) { return ReadHost(given, parameters); });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  return With<HostNode>("cuGraphHostNodeGetParams", node,
                        [&](Call&, GraphNode*, const HostNode* host) {
                          if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                          out->fn = host->function;
                          out->userData = host->user;
                          return CUDA_SUCCESS;
                        });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS* given) {
  return With<HostNode>("cuGraphHostNodeSetParams", handle, [&](Call&, GraphNode* node, HostNode*) {
    return ReadHost(given, &node->parameters);
  });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* given) {
  return SetExec("cuGraphExecHostNodeSetParams", executable, node,
                 [&](Call&, NodeParameters* parameters) { return ReadHost(given, parameters); });
}

// As documented, the child is cloned, so later changes to the original have no effect.
CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return Add("cuGraphAddChildGraphNode", {out, graph, dependencies, count},
             [&](Call& call, NodeParameters* parameters) {
               const Graph* source = Graphs().graphs.Find(child);
               if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
               State* state = &call.state();
               std::shared_ptr<Graph> clone(
                   NewGraph(state), [](Graph* graph_to_end) { DestroyGraph(graph_to_end); });
               CloneInto(state, *source, clone.get());
               *parameters = ChildNode{std::move(clone)};
               return CUDA_SUCCESS;
             });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  return With<ChildNode>("cuGraphChildGraphNodeGetGraph", node,
                         [&](Call&, GraphNode*, const ChildNode* child) {
                           if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
                           *out = ToHandle(child->graph.get());
                           return CUDA_SUCCESS;
                         });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return Add("cuGraphAddEventRecordNode", {out, graph, dependencies, count},
             [&](Call& call, NodeParameters* parameters) {
               return ReadEvent(call, event, true, parameters);
             });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return Add("cuGraphAddEventWaitNode", {out, graph, dependencies, count},
             [&](Call& call, NodeParameters* parameters) {
               return ReadEvent(call, event, false, parameters);
             });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return With<EventNode>("cuGraphEventRecordNodeGetEvent", node,
                         [&](Call&, GraphNode*, const EventNode* event) {
                           if (out == nullptr || !event->record) return CUDA_ERROR_INVALID_VALUE;
                           *out = reinterpret_cast<CUevent>(event->event.get());
                           return CUDA_SUCCESS;
                         });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return With<EventNode>("cuGraphEventWaitNodeGetEvent", node,
                         [&](Call&, GraphNode*, const EventNode* event) {
                           if (out == nullptr || event->record) return CUDA_ERROR_INVALID_VALUE;
                           *out = reinterpret_cast<CUevent>(event->event.get());
                           return CUDA_SUCCESS;
                         });
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec executable, CUgraphNode node,
                                            CUevent event) {
  return SetExec("cuGraphExecEventRecordNodeSetEvent", executable, node,
                 [&](Call& call, NodeParameters* parameters) {
                   return ReadEvent(call, event, true, parameters);
                 });
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec executable, CUgraphNode node, CUevent event) {
  return SetExec("cuGraphExecEventWaitNodeSetEvent", executable, node,
                 [&](Call& call, NodeParameters* parameters) {
                   return ReadEvent(call, event, false, parameters);
                 });
}

}  // extern "C"
