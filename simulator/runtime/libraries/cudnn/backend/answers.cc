// Computes attributes of backend descriptors that were not set: which engines fit a graph, and how
// much workspace an engine needs.
//
// Modelled: cudnn/workspace.h describes convolutions. A graph with a matrix product and a
// normalising reduction (attention) needs 256 bytes, as cuDNN 9.19 used on an H100 (docs/card.md);
// the memory in which the backward pass adds up 32-bit floats is allocated by its caller. All other
// graphs need none. The lean engine never needs any.
#include <algorithm>
#include <cstring>

#include "simulator/runtime/libraries/cudnn/backend/descriptor.h"
#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"
#include "simulator/runtime/libraries/cudnn/workspace.h"

namespace vramstow::simulator {
namespace {

constexpr int64_t kFastEngine = 0;
constexpr int64_t kLeanEngine = 1;
constexpr size_t kAttentionBytes = 256;

// The attributes that name a convolution's operands, for its forward pass and each backward pass.
struct ConvolutionOperands {
  cudnnBackendDescriptorType_t operation;
  ConvolutionPass pass;
  cudnnBackendAttributeName_t x;
  cudnnBackendAttributeName_t w;
  cudnnBackendAttributeName_t y;
};

constexpr ConvolutionOperands kConvolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, ConvolutionPass::kForward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, ConvolutionPass::kBackwardData,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     ConvolutionPass::kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

std::vector<int64_t> ExtentsOf(const ContentsPointer& tensor) {
  return tensor != nullptr ? tensor->Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS) : std::vector<int64_t>{};
}

cudnnDataType_t TypeOf(const ContentsPointer& tensor) {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const Value* value = tensor != nullptr ? tensor->Find(CUDNN_ATTR_TENSOR_DATA_TYPE) : nullptr;
  if (value != nullptr && value->bytes.size() >= sizeof(type)) {
    memcpy(&type, value->bytes.data(), sizeof(type));
  }
  return type;
}

bool ChannelsLast(const ContentsPointer& tensor) {
  const std::vector<int64_t> strides =
      tensor != nullptr ? tensor->Numbers(CUDNN_ATTR_TENSOR_STRIDES) : std::vector<int64_t>{};
  const std::vector<int64_t> dimensions =
      tensor != nullptr ? tensor->Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS) : std::vector<int64_t>{};
  return strides.size() >= 3 && strides[1] == 1 && dimensions[1] > 1;
}

size_t OperationWorkspace(const Contents& operation) {
  for (const ConvolutionOperands& operands : kConvolutions) {
    if (operation.type == operands.operation) {
      const ContentsPointer x = operation.Reference(operands.x);
      const ContentsPointer w = operation.Reference(operands.w);
      const ContentsPointer y = operation.Reference(operands.y);
      return ConvolutionWorkspace(
          operands.pass,
          ShapeOf(TypeOf(x), ChannelsLast(x), ExtentsOf(x), ExtentsOf(w), ExtentsOf(y)),
          CurrentCard());
    }
  }
  return 0;
}

// Attention has two matrix products in its forward pass and five in its backward pass.
size_t AttentionWorkspace(const Value& operations) {
  const auto products =
      std::ranges::count_if(operations.descriptors, [](const ContentsPointer& operation) {
        return operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
      });
  return products >= 2 ? kAttentionBytes : 0;
}

std::shared_ptr<Value> Numbers(std::vector<int64_t> numbers) {
  auto value = std::make_shared<Value>();
  value->type = CUDNN_TYPE_INT64;
  value->count = static_cast<int64_t>(numbers.size());
  value->bytes.resize(numbers.size() * sizeof(int64_t));
  memcpy(value->bytes.data(), numbers.data(), value->bytes.size());
  return value;
}

std::shared_ptr<Value> Nothing(cudnnBackendAttributeType_t type) {
  auto value = std::make_shared<Value>();
  value->type = type;
  return value;
}

ContentsPointer MakeConfiguration(const ContentsPointer& graph, int64_t engine_index) {
  auto engine = std::make_shared<Contents>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->SetReference(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  engine->SetNumber(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, engine_index);
  engine->finalized = true;
  auto configuration = std::make_shared<Contents>();
  configuration->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  configuration->SetReference(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  configuration->finalized = true;
  return configuration;
}

// Returns the engine configurations for a graph, best first. The fallback mode returns only the
// lean engine.
std::shared_ptr<Value> Configurations(const Contents& heuristics) {
  const ContentsPointer graph = heuristics.Reference(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  const Value* wanted = heuristics.Find(CUDNN_ATTR_ENGINEHEUR_MODE);
  if (wanted != nullptr && wanted->bytes.size() >= sizeof(mode)) {
    memcpy(&mode, wanted->bytes.data(), sizeof(mode));
  }
  auto value = Nothing(CUDNN_TYPE_BACKEND_DESCRIPTOR);
  if (mode != CUDNN_HEUR_MODE_FALLBACK) {
    value->descriptors.push_back(MakeConfiguration(graph, kFastEngine));
  }
  value->descriptors.push_back(MakeConfiguration(graph, kLeanEngine));
  value->count = static_cast<int64_t>(value->descriptors.size());
  return value;
}

size_t ConfigurationWorkspace(const ContentsPointer& configuration) {
  const ContentsPointer engine =
      configuration != nullptr ? configuration->Reference(CUDNN_ATTR_ENGINECFG_ENGINE) : nullptr;
  const ContentsPointer graph =
      engine != nullptr ? engine->Reference(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) : nullptr;
  return graph != nullptr
             ? GraphWorkspace(*graph, engine->Number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kLeanEngine))
             : 0;
}

}  // namespace

size_t GraphWorkspace(const Contents& graph, int64_t engine) {
  const Value* operations = graph.Find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (operations == nullptr || engine == kLeanEngine) {
    return 0;
  }
  size_t bytes = AttentionWorkspace(*operations);
  for (const ContentsPointer& operation : operations->descriptors) {
    bytes += OperationWorkspace(*operation);
  }
  return bytes;
}

std::shared_ptr<const Value> Answer(const ContentsPointer& contents,
                                    cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return Configurations(*contents);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return Numbers({static_cast<int64_t>(
          ConfigurationWorkspace(contents->Reference(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)))});
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
      return Numbers({static_cast<int64_t>(ConfigurationWorkspace(contents))});
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      return Numbers({0});
    // These lists are empty: there are no knobs, no notes and no intermediate results.
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return Nothing(CUDNN_TYPE_NUMERICAL_NOTE);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return Nothing(CUDNN_TYPE_BEHAVIOR_NOTE);
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
    case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
    case CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO:
      return Nothing(CUDNN_TYPE_BACKEND_DESCRIPTOR);
    case CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS:
    case CUDNN_ATTR_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS:
      return Nothing(CUDNN_TYPE_INT64);
    default:
      return nullptr;
  }
}

}  // namespace vramstow::simulator
