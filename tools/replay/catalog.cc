#include "tools/replay/catalog.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/units.h"
#include "tools/formats/text_helpers.h"
#include "tools/replay/async_pool.h"
#include "tools/replay/bfc.h"
#include "tools/replay/pool_model.h"
#include "tools/replay/rmm_arena.h"
#include "tools/replay/rmm_pool.h"
#include "tools/replay/torch_allocator.h"

namespace vramstow {
namespace {

struct Entry {
  std::string_view name;
  ModelKind kind;
  std::string_view what;
};

constexpr Entry kEntries[] = {
    {"native", ModelKind::kTorch, "PyTorch's allocator; settings as in PYTORCH_CUDA_ALLOC_CONF"},
    {"expandable", ModelKind::kTorch, "PyTorch's allocator with expandable segments"},
    {"async", ModelKind::kAsync, "cudaMallocAsync's pool"},
    {"rmm-pool", ModelKind::kRmmPool, "RMM's pool; initial_mib:N is its initial size"},
    {"rmm-arena", ModelKind::kRmmArena, "RMM's arena"},
    {"bfc", ModelKind::kBfc, "best fit with coalescing, as in TensorFlow and JAX"},
    {"vramstow", ModelKind::kPool, "vramstow's own pool (its real code)"},
    {"offload", ModelKind::kOffload,
     "vramstow's pool with --offload=auto: offload:coldest, offload:size, offload:next-use,\n      "
     "        offload:foreseen; all four if none is named. Needs --memory and touches"},
};

std::string Names() {
  std::string names;
  for (const Entry& entry : kEntries) {
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  return names;
}

const Entry* Find(std::string_view name) {
  const auto* found = std::ranges::find(kEntries, name, &Entry::name);
  return found == std::end(kEntries) ? nullptr : found;
}

ModelSpec Start(const Entry& entry) {
  ModelSpec spec;
  spec.name = std::string(entry.name);
  spec.kind = entry.kind;
  spec.torch.expandable_segments = entry.name == "expandable";
  return spec;
}

absl::Status AddSetting(std::string_view setting, ModelSpec* spec) {
  if (spec->kind == ModelKind::kTorch) {
    auto settings = ParseTorchSettings(setting, spec->torch);
    if (!settings.ok()) return settings.status();
    spec->torch = *std::move(settings);
    return absl::OkStatus();
  }
  if (spec->kind == ModelKind::kOffload) {
    OffloadChoice choice = OffloadChoice::kColdest;
    const bool known = ParseOffloadChoice(setting, &choice);
    spec->offload = known ? OffloadModelChoice(choice) : std::nullopt;
    if (known || setting == kForeseen) return absl::OkStatus();
  }
  constexpr std::string_view kInitial = "initial_mib:";
  if (spec->kind == ModelKind::kRmmPool && setting.starts_with(kInitial)) {
    const auto mebibytes = ParseNumber<uint64_t>(setting.substr(kInitial.size()));
    if (mebibytes && *mebibytes < (uint64_t{1} << 32)) {
      spec->initial_bytes = *mebibytes * kMiB;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      Concat("the model ", spec->name, " has no setting ", Quoted(setting), "."));
}

std::vector<ModelSpec> OffloadModels() {
  std::vector<ModelSpec> specs;
  for (int i = 0; i <= kOffloadChoices; ++i) {
    ModelSpec spec;
    spec.kind = ModelKind::kOffload;
    spec.offload = std::nullopt;
    if (i < kOffloadChoices) spec.offload = static_cast<OffloadChoice>(i);
    spec.name = Concat("offload:", spec.offload ? OffloadChoiceName(*spec.offload) : kForeseen);
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

absl::StatusOr<std::vector<ModelSpec>> ParseModels(std::string_view text) {
  std::string list(text);  // PyTorch ignores white space, too
  std::erase_if(list, absl::ascii_isspace);
  std::vector<ModelSpec> specs;
  for (std::string_view part : SplitSettings(list)) {
    const std::string_view written = part;
    const size_t colon = part.find(':');
    if (part == "all") {
      for (ModelSpec& spec : AllModels()) specs.push_back(std::move(spec));
      continue;
    }
    if (part == "offload") {
      for (ModelSpec& spec : OffloadModels()) specs.push_back(std::move(spec));
      continue;
    }
    if (const Entry* entry = Find(part.substr(0, colon)); entry != nullptr) {
      specs.push_back(Start(*entry));
      specs.back().name = std::string(written);
      if (colon == std::string_view::npos) continue;
      part = part.substr(colon + 1);
    } else if (specs.empty() || colon == std::string_view::npos) {
      return absl::InvalidArgumentError(
          Concat("there is no model ", Quoted(part), "; there are all, ", Names(), "."));
    } else {
      specs.back().name += Concat(",", written);
    }
    if (const absl::Status status = AddSetting(part, &specs.back()); !status.ok()) return status;
  }
  if (specs.empty()) {
    return absl::InvalidArgumentError(Concat("no model is named; there are ", Names(), "."));
  }
  for (const ModelSpec& spec : specs) {
    if (spec.kind != ModelKind::kTorch) continue;
    if (const absl::Status status = CheckTorchSettings(spec.torch); !status.ok()) return status;
  }
  return specs;
}

std::vector<ModelSpec> AllModels() {
  std::vector<ModelSpec> specs;
  for (const Entry& entry : kEntries) {
    if (entry.kind != ModelKind::kOffload) specs.push_back(Start(entry));
  }
  return specs;
}

std::vector<ModelSpec> SearchedModels() {
  constexpr std::string_view kTried[] = {
      "native",
      "native:max_split_size_mb:32",
      "native:max_split_size_mb:64",
      "native:max_split_size_mb:128",
      "native:max_split_size_mb:256",
      "native:max_split_size_mb:512",
      "native:roundup_power2_divisions:2",
      "native:roundup_power2_divisions:4",
      "native:roundup_power2_divisions:8",
      "native:roundup_power2_divisions:16",
      "native:max_split_size_mb:128,roundup_power2_divisions:8",
      "native:max_split_size_mb:512,roundup_power2_divisions:16",
      "native:large_segment_size_mb:64",
      "expandable",
      "expandable:large_segment_size_mb:12",
      "expandable:roundup_power2_divisions:8",
  };
  std::vector<ModelSpec> specs;
  for (const std::string_view tried : kTried) {
    auto parsed = ParseModels(tried);
    if (parsed.ok()) specs.push_back(std::move(parsed->front()));
  }
  return specs;
}

std::unique_ptr<AllocatorModel> MakeModel(const ModelSpec& spec, ModelDevice* device,
                                          uint64_t device_bytes) {
  switch (spec.kind) {
    case ModelKind::kTorch:
      return std::make_unique<TorchAllocator>(device, spec.torch, device_bytes);
    case ModelKind::kAsync:
      return std::make_unique<AsyncPoolModel>(device);
    case ModelKind::kRmmPool:
      return std::make_unique<RmmPoolModel>(device, spec.initial_bytes);
    case ModelKind::kRmmArena:
      return std::make_unique<RmmArenaModel>(device);
    case ModelKind::kBfc:
      return std::make_unique<BfcModel>(device);
    case ModelKind::kPool:
      return std::make_unique<PoolModel>(device, device_bytes);
    case ModelKind::kOffload:
      return std::make_unique<OffloadModel>(device, device_bytes, spec.offload);
  }
  return nullptr;
}

std::string DescribeModels() {
  std::string text;
  for (const Entry& entry : kEntries) {
    text += Concat("  ", entry.name, std::string(12 - entry.name.size(), ' '), entry.what, "\n");
  }
  return text;
}

}  // namespace vramstow
