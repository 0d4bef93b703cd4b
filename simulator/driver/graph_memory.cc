// Implements the memory that graphs allocate: the graph nodes that allocate or free, and the memory
// that a device retains for graphs.
#include <string.h>

#include <algorithm>
#include <utility>

#include "simulator/driver/context.h"
#include "simulator/driver/graph.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

// Two sums of a device: the bytes that graphs use, and the bytes that graphs use or that are
// retained for graphs.
struct GraphMemory {
  uint64_t used = 0;
  uint64_t reserved = 0;
};

// High-water marks per device; guarded by the driver's lock.
GraphMemory& HighOf(int device) {
  static auto* high = new std::map<int, GraphMemory>;
  return (*high)[device];
}

GraphMemory HeldForGraphs(int device) {
  std::set<const GraphPages*> counted;
  const auto count = [&](const std::shared_ptr<GraphPages>& pages) {
    if (pages->device == device && pages->charged) counted.insert(pages.get());
  };
  for (const void* handle : Graphs().executables.all()) {
    for (const auto& pages : Graphs().executables.Find(handle)->pages) count(pages);
  }
  for (const auto& [address, pages] : Graphs().live) count(pages);
  GraphMemory held;
  for (const GraphPages* pages : counted) held.used += pages->bytes;
  held.reserved = held.used + Graphs().kept[device];
  GraphMemory& high = HighOf(device);
  high = {std::max(high.used, held.used), std::max(high.reserved, held.reserved)};
  return held;
}

class HeldPages : public Work {
 public:
  explicit HeldPages(std::vector<std::shared_ptr<GraphPages>> pages) : pages_(std::move(pages)) {}
  void Run(uint64_t /*time_ns*/) override { pages_.clear(); }

 private:
  std::vector<std::shared_ptr<GraphPages>> pages_;
};

bool ReadNewNode(CUgraph handle, const CUgraphNode* handles, size_t count, Graph** graph,
                 std::vector<GraphNode*>* dependencies) {
  *graph = Graphs().graphs.Find(handle);
  if (*graph == nullptr || (count > 0 && handles == nullptr)) return false;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = Graphs().nodes.Find(handles[i]);
    if (node == nullptr || node->graph != *graph) return false;
    dependencies->push_back(node);
  }
  return true;
}

template <typename Body>
CUresult WithDevice(const char* name, CUdevice device, Body&& body) {
  return Serve(name, Needs::kInit, [&](Call& call) -> CUresult {
    if (device < 0 || device >= call.machine().devices()) return CUDA_ERROR_INVALID_DEVICE;
    return body(call);
  });
}

}  // namespace

namespace vramstow::simulator {

std::shared_ptr<Work> KeepPages(std::vector<std::shared_ptr<GraphPages>> pages) {
  return std::make_shared<HeldPages>(std::move(pages));
}

}  // namespace vramstow::simulator

extern "C" {

CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* handles,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* given) {
  return Serve("cuGraphAddMemAllocNode", Needs::kContext, [&](Call& call) {
    Graph* graph = nullptr;
    std::vector<GraphNode*> dependencies;
    if (out == nullptr || given == nullptr || given->bytesize == 0 ||
        !ReadNewNode(handle, handles, count, &graph, &dependencies)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUmemLocation& location = given->poolProps.location;
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE || location.id < 0 ||
        location.id >= call.machine().devices()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    AllocateNode node;
    node.pages = AllocateGraphPages(&call.state(), location.id, given->bytesize, call.context());
    if (node.pages == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    given->dptr = node.pages->address;
    node.given = *given;
    *out = ToHandle(AddNode(&call.state(), graph, call.context(), std::move(node), dependencies));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return Serve("cuGraphMemAllocNodeGetParams", Needs::kInit, [&](Call&) {
    const GraphNode* node = Graphs().nodes.Find(handle);
    if (node == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto* allocation = std::get_if<AllocateNode>(&node->parameters);
    if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = allocation->given;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* handles,
                               size_t count, CUdeviceptr address) {
  return Serve("cuGraphAddMemFreeNode", Needs::kContext, [&](Call& call) {
    Graph* graph = nullptr;
    std::vector<GraphNode*> dependencies;
    const Block* block = call.machine().memory.FindExact(address);
    // A graph can free only memory that a graph allocated.
    if (out == nullptr || block == nullptr || block->kind != BlockKind::kPool ||
        block->pool != nullptr || !ReadNewNode(handle, handles, count, &graph, &dependencies)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *out = ToHandle(AddNode(&call.state(), graph, call.context(), FreeNode{address}, dependencies));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* out) {
  return Serve("cuGraphMemFreeNodeGetParams", Needs::kInit, [&](Call&) {
    const GraphNode* node = Graphs().nodes.Find(handle);
    if (node == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto* free = std::get_if<FreeNode>(&node->parameters);
    if (free == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = free->address;
    return CUDA_SUCCESS;
  });
}

// Frees the memory that is retained for graphs and that no graph uses. An executable graph holds
// its memory until it is destroyed.
CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return WithDevice("cuDeviceGraphMemTrim", device, [&](Call& call) {
    TrimGraphMemory(&call.state(), device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return WithDevice("cuDeviceGetGraphMemAttribute", device, [&](Call&) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const GraphMemory held = HeldForGraphs(device);
    uint64_t bytes = 0;
    switch (attribute) {
      case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        bytes = held.used;
        break;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        bytes = held.reserved;
        break;
      case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        bytes = HighOf(device).used;
        break;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        bytes = HighOf(device).reserved;
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &bytes, sizeof(bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return WithDevice("cuDeviceSetGraphMemAttribute", device, [&](Call&) {
    uint64_t wish = 1;
    if (value != nullptr) memcpy(&wish, value, sizeof(wish));
    // As documented, only the high-water marks can be set, and only to 0.
    if (wish != 0 || (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
                      attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    GraphMemory& high = HighOf(device);
    (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ? high.used : high.reserved) = 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
