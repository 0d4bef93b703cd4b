// Implements the six functions of the backend API, and its variant that uses memory of the caller.
#include <algorithm>
#include <cstring>
#include <new>

#include "simulator/runtime/libraries/cudnn/backend/descriptor.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {
namespace {

// The newest type that cuDNN 9.26 has: the backward pass of rotary embeddings.
constexpr int kLastDescriptorType = 50;

// Runs `body` and converts a failed allocation to a status, since no exception may reach a C
// caller.
template <typename Body>
cudnnStatus_t Guarded(const Body& body) {
  try {
    return body();
  } catch (...) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
}

// Reads the caller's elements into a value.
cudnnStatus_t Read(cudnnBackendAttributeType_t type, int64_t count, const void* elements,
                   Value* value) {
  value->type = type;
  value->count = count;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* bytes = static_cast<const char*>(elements);
    value->bytes.assign(bytes, bytes + count * BytesOf(type));
    return CUDNN_STATUS_SUCCESS;
  }
  const auto* descriptors = static_cast<const cudnnBackendDescriptor_t*>(elements);
  for (int64_t i = 0; i < count; ++i) {
    Descriptor* descriptor = AsDescriptor(descriptors[i]);
    if (descriptor == nullptr) {
      return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "an attribute names no descriptor");
    }
    if (!descriptor->contents->finalized) {
      return Fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                  "a descriptor must be finalized before another may refer to it");
    }
    value->descriptors.push_back(descriptor->contents);
  }
  return CUDNN_STATUS_SUCCESS;
}

// Copies a value's first `room` elements to the caller. If the elements are descriptors, the
// caller's descriptors share the contents.
cudnnStatus_t Write(const Value& value, int64_t room, void* elements) {
  const int64_t count = std::min(room, value.count);
  if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (count > 0) {
      memcpy(elements, value.bytes.data(), count * BytesOf(value.type));
    }
    return CUDNN_STATUS_SUCCESS;
  }
  auto* descriptors = static_cast<cudnnBackendDescriptor_t*>(elements);
  for (int64_t i = 0; i < count; ++i) {
    Descriptor* descriptor = AsDescriptor(descriptors[i]);
    if (descriptor == nullptr || descriptor->contents->type != value.descriptors[i]->type) {
      return Fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                  "the array to fill must hold created descriptors of the attribute's type");
    }
    // Finalized contents never change again, so sharing them is safe.
    descriptor->contents = std::const_pointer_cast<Contents>(value.descriptors[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

// Returns the data pointers of a variant pack, or an empty list if it has none.
std::vector<uint64_t> Pointers(const Contents& pack) {
  const Value* value = pack.Find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (value == nullptr) {
    return {};
  }
  std::vector<uint64_t> pointers(value->count);
  memcpy(pointers.data(), value->bytes.data(), value->bytes.size());
  return pointers;
}

cudnnStatus_t Execute(cudnnHandle_t handle, const Contents& plan, const Contents& pack) {
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return Fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                "an execution needs a plan and a variant pack");
  }
  if (!plan.finalized || !pack.finalized) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                "the plan and the variant pack must be finalized before an execution");
  }
  const ContentsPointer configuration = plan.Reference(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const ContentsPointer engine = configuration->Reference(CUDNN_ATTR_ENGINECFG_ENGINE);
  const ContentsPointer graph = engine->Reference(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const size_t workspace_bytes =
      GraphWorkspace(*graph, engine->Number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0));
  uint64_t workspace = 0;
  const Value* place = pack.Find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (place != nullptr && place->bytes.size() >= sizeof(workspace)) {
    memcpy(&workspace, place->bytes.data(), sizeof(workspace));
  }
  if (workspace_bytes > 0 && workspace == 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the plan needs a workspace");
  }
  // The argument words are the kind of the first operation, the workspace and its size, the number
  // of tensors, and as many of their addresses as fit.
  const Value* operations = graph->Find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  std::vector<uint64_t> words = {static_cast<uint64_t>(operations->descriptors[0]->type), workspace,
                                 workspace_bytes};
  const std::vector<uint64_t> pointers = Pointers(pack);
  words.push_back(pointers.size());
  words.insert(words.end(), pointers.begin(), pointers.end());
  return StatusOf(
      LaunchWork("cudnn_execution_plan", handle->stream, {}, words.data(), words.size()));
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
                                           cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the descriptor");
  }
  if (descriptorType < 0 || descriptorType > kLastDescriptorType) {
    return Fail(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in for cuDNN knows no such descriptor");
  }
  return Guarded([&] {
    auto contents = std::make_shared<Contents>();
    contents->type = descriptorType;
    *descriptor = new Descriptor{kDescriptorMagic, contents};
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  Descriptor* known = AsDescriptor(descriptor);
  if (known == nullptr) {
    return descriptor == nullptr ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
  }
  known->magic = 0;
  delete known;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor* known = AsDescriptor(descriptor);
  if (known == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (known->contents->finalized) {
    return CUDNN_STATUS_SUCCESS;
  }
  return Guarded([&] { return Finalize(known->contents.get()); });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType,
                                       int64_t elementCount, const void* arrayOfElements) {
  Descriptor* known = AsDescriptor(descriptor);
  if (known == nullptr || elementCount < 0 || (elementCount > 0 && arrayOfElements == nullptr)) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "an attribute was set without a value");
  }
  if (known->contents->finalized) {
    return Fail(CUDNN_STATUS_NOT_INITIALIZED, "a finalized descriptor cannot be changed");
  }
  if (BytesOf(attributeType) == 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "unknown type of an attribute");
  }
  return Guarded([&] {
    Value value;
    const cudnnStatus_t status = Read(attributeType, elementCount, arrayOfElements, &value);
    if (status == CUDNN_STATUS_SUCCESS) {
      known->contents->attributes[attributeName] = std::move(value);
    }
    return status;
  });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType,
                                       int64_t requestedElementCount, int64_t* elementCount,
                                       void* arrayOfElements) {
  Descriptor* known = AsDescriptor(descriptor);
  if (known == nullptr || requestedElementCount < 0) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (!known->contents->finalized) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "only finalized descriptors can be asked");
  }
  return Guarded([&] {
    std::shared_ptr<const Value> computed;
    const Value* value = known->contents->Find(attributeName);
    if (value == nullptr) {
      computed = Answer(known->contents, attributeName);
      value = computed.get();
    }
    if (value == nullptr) {
      return Fail(CUDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute");
    }
    if (value->type != attributeType) {
      return Fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
    }
    const bool only_count = arrayOfElements == nullptr || requestedElementCount == 0;
    if (elementCount != nullptr) {
      // For a list of descriptors callers expect the number of descriptors that were filled in.
      const bool list = value->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && !only_count;
      *elementCount = list ? std::min(requestedElementCount, value->count) : value->count;
    }
    if (only_count) {
      return CUDNN_STATUS_SUCCESS;
    }
    return Write(*value, requestedElementCount, arrayOfElements);
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                  cudnnBackendDescriptor_t variantPack) {
  Descriptor* plan = AsDescriptor(executionPlan);
  Descriptor* pack = AsDescriptor(variantPack);
  if (!IsHandle(handle) || plan == nullptr || pack == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                "an execution needs a handle, a plan and a variant pack");
  }
  return Guarded([&] { return Execute(handle, *plan->contents, *pack->contents); });
}
