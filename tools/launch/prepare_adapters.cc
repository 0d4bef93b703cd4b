#include "tools/launch/prepare_adapters.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "include/vramstow/framework.h"
#include "tools/analysis/progress.h"
#include "tools/launch/adapter.h"
#include "tools/launch/linked_torch.h"

namespace vramstow {
namespace {

// Pairs of lines: the folder of a PyTorch, and its adapter; without one where it was said why not.
constexpr char kAdapters[] = VRAMSTOW_TORCH_ADAPTER_VARIABLE;
constexpr char kTry[] = "VRAMSTOW_ADAPTER_TRY";
constexpr char kObservers[] = VRAMSTOW_TORCH_OBSERVER_VARIABLE;
constexpr char kCensuses[] = VRAMSTOW_TORCH_CENSUS_VARIABLE;

std::string ValueOf(const Environment& environment, std::string_view name) {
  const char* value = environment.Get(name);
  return value == nullptr ? "" : value;
}

void AddPair(const std::string& torch_folder, const std::string& adapter, std::string* pairs) {
  absl::StrAppend(pairs, pairs->empty() ? "" : "\n", torch_folder, "\n", adapter);
}

absl::StatusOr<std::string> BuildFor(const std::string& torch_folder, const std::string& sources,
                                     const std::string& wanted_folder, bool try_newer) {
  const auto torch = FindTorch(torch_folder);
  if (!torch.ok()) return torch.status();
  const Adapters allocators(sources, {AdapterKind::kAllocator, try_newer});
  const std::string shipped = allocators.FindShipped(*torch);
  if (!shipped.empty()) return shipped;
  const auto folder = AdapterFolder::Make(wanted_folder);
  if (!folder.ok()) return folder.status();
  Progress::OfProcess().Begin(absl::StrCat("compiling the adapter for PyTorch ", torch->release));
  const auto adapter = allocators.Build(*torch, *folder);
  if (!adapter.ok()) return adapter.status();
  return adapter->path;
}

// Those that are ready, but for the one that is known already.
void AddReady(const Installation& installation, const Environment& environment, AdapterKind kind,
              const std::string& known, std::string* pairs) {
  const auto folder = AdapterFolder::Existing(ValueOf(environment, "VRAMSTOW_ADAPTER_DIR"));
  if (folder.empty()) return;
  const Adapters adapters(installation.adapter_sources,
                          {kind, WantsNewerTried(environment.Get(kTry))});
  for (const ReadyAdapter& ready : adapters.ListReady(folder)) {
    if (ready.torch_folder != known) AddPair(ready.torch_folder, ready.path, pairs);
  }
}

// What an outer run found out comes first.
void SetReady(const Installation& installation, AdapterKind kind, const char* variable,
              Environment* environment) {
  std::string pairs = ValueOf(*environment, variable);
  AddReady(installation, *environment, kind, "", &pairs);
  if (!pairs.empty()) environment->Set(variable, pairs);
}

}  // namespace

void PrepareObservers(const Installation& installation, Environment* environment) {
  SetReady(installation, AdapterKind::kObserver, kObservers, environment);
}

void PrepareCensuses(const Installation& installation, Environment* environment) {
  SetReady(installation, AdapterKind::kCensus, kCensuses, environment);
}

std::string PrepareAdapters(const Installation& installation, const std::string& command,
                            Environment* environment) {
  const std::string wanted_folder = ValueOf(*environment, "VRAMSTOW_ADAPTER_DIR");
  const std::string linked = FindLinkedTorch(command, ValueOf(*environment, "PATH"),
                                             ValueOf(*environment, "LD_LIBRARY_PATH"));
  // What an outer run found out comes first.
  std::string pairs = ValueOf(*environment, kAdapters);
  std::string why;
  if (!linked.empty()) {
    const auto adapter = BuildFor(linked, installation.adapter_sources, wanted_folder,
                                  WantsNewerTried(environment->Get(kTry)));
    if (!adapter.ok()) why = std::string(adapter.status().message());
    AddPair(linked, adapter.ok() ? *adapter : "", &pairs);
  }
  AddReady(installation, *environment, AdapterKind::kAllocator, linked, &pairs);
  if (!pairs.empty()) environment->Set(kAdapters, pairs);
  if (!why.empty() && why.back() == '.') why.pop_back();
  return why;
}

}  // namespace vramstow
