// Checks what each kind of backend descriptor needs before it can be finalized.
#include <algorithm>
#include <initializer_list>

#include "simulator/runtime/libraries/cudnn/backend/descriptor.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {
namespace {

// The number of engines that the stand-in has for any graph: engine 0 is fast and uses the modelled
// workspace, engine 1 is lean and uses none.
constexpr int64_t kEngines = 2;

struct Requirement {
  cudnnBackendDescriptorType_t type;
  std::initializer_list<cudnnBackendAttributeName_t> attributes;
};

// The attributes that a type requires. Types that are not listed require none.
constexpr Requirement kRequirements[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
     {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
      CUDNN_ATTR_TENSOR_UNIQUE_ID}},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
     {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
      CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_ATTR_CONVOLUTION_DILATIONS,
      CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
      CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
      CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_ATTR_OPERATION_MATMUL_CDESC}},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR}},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, {CUDNN_ATTR_POINTWISE_MODE}},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
      CUDNN_ATTR_OPERATION_REDUCTION_YDESC}},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, {CUDNN_ATTR_OPERATIONGRAPH_OPS}},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
     {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ATTR_ENGINEHEUR_MODE}},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR,
     {CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_ATTR_ENGINE_GLOBAL_INDEX}},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {CUDNN_ATTR_ENGINECFG_ENGINE}},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG}},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
     {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS}},
};

cudnnStatus_t CheckTensor(const Contents& tensor) {
  const std::vector<int64_t> dimensions = tensor.Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> strides = tensor.Numbers(CUDNN_ATTR_TENSOR_STRIDES);
  if (dimensions.empty() || dimensions.size() != strides.size()) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a tensor needs as many strides as dimensions");
  }
  if (std::any_of(dimensions.begin(), dimensions.end(), [](int64_t d) { return d <= 0; })) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a tensor's dimensions must be positive");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CheckPack(const Contents& pack) {
  const Value* ids = pack.Find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const Value* pointers = pack.Find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  return ids->count == pointers->count
             ? CUDNN_STATUS_SUCCESS
             : Fail(CUDNN_STATUS_BAD_PARAM, "a variant pack needs one pointer for each unique id");
}

}  // namespace

cudnnStatus_t Finalize(Contents* contents) {
  for (const Requirement& requirement : kRequirements) {
    if (requirement.type != contents->type) {
      continue;
    }
    for (cudnnBackendAttributeName_t name : requirement.attributes) {
      const Value* value = contents->Find(name);
      if (value == nullptr || value->count == 0) {
        return Fail(CUDNN_STATUS_BAD_PARAM, "an attribute that the descriptor needs was not set");
      }
    }
  }
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (contents->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      status = CheckTensor(*contents);
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      status = CheckPack(*contents);
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: {
      const int64_t index = contents->Number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
      if (index < 0 || index >= kEngines) {
        status = Fail(CUDNN_STATUS_BAD_PARAM, "there is no engine of that index");
      }
      break;
    }
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      contents->SetNumber(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, kEngines);
      break;
    default:
      break;
  }
  if (status == CUDNN_STATUS_SUCCESS) {
    contents->finalized = true;
  }
  return status;
}

}  // namespace vramstow::simulator
