// Catalog: creates models by name.
//
// A list of models is written "native,expandable,native:max_split_size_mb:64,bfc": a colon and that
// model's settings may follow a name. PyTorch's settings are written as in PYTORCH_CUDA_ALLOC_CONF.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: kInvalidArgument with one sentence that names the available models. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_CATALOG_H_
#define VRAMSTOW_TOOLS_REPLAY_CATALOG_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/replay/device.h"
#include "tools/replay/model.h"
#include "tools/replay/offload_model.h"
#include "tools/replay/torch_settings.h"

namespace vramstow {

enum class ModelKind : uint8_t { kTorch, kAsync, kRmmPool, kRmmArena, kBfc, kPool, kOffload };

struct ModelSpec {
  std::string name;  // as it was written
  ModelKind kind = ModelKind::kTorch;
  TorchSettings torch;
  uint64_t initial_bytes = 0;  // of RMM's pool
  OffloadModelChoice offload = OffloadChoice::kColdest;
};

absl::StatusOr<std::vector<ModelSpec>> ParseModels(std::string_view text);

// Returns the models that the word "all" stands for. They need no other input than requests.
std::vector<ModelSpec> AllModels();

// Returns models of PyTorch's allocator with the settings that --search tries.
std::vector<ModelSpec> SearchedModels();

// Creates a model. `device_bytes` is the size of the device, for models that depend on it.
std::unique_ptr<AllocatorModel> MakeModel(const ModelSpec& spec, ModelDevice* device,
                                          uint64_t device_bytes);

// Returns one line for each model: its name and a description.
std::string DescribeModels();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_CATALOG_H_
