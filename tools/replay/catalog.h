// Catalog: the models by name.
//
// A list of models is written "native,expandable,native:max_split_size_mb:64,bfc": after a name and
// a colon come that model's settings. PyTorch's are written as in PYTORCH_ALLOC_CONF.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: kInvalidArgument, one
// sentence that names what is there. Units: bytes.
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

absl::StatusOr<std::vector<ModelSpec>> ParseModels(std::string_view list);

// What `all` stands for: those that need nothing but requests.
std::vector<ModelSpec> AllModels();

// Settings of PyTorch's allocator that --search tries.
std::vector<ModelSpec> SearchedModels();

// `device_bytes`: what the device has, where the model depends on it.
std::unique_ptr<AllocatorModel> MakeModel(const ModelSpec& spec, ModelDevice* device,
                                          uint64_t device_bytes);

// One line for each model: its name and what it is.
std::string DescribeModels();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_CATALOG_H_
