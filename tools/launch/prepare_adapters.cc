#include "tools/launch/prepare_adapters.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/base/progress.h"
#include "tools/launch/adapter.h"
#include "tools/launch/linked_torch.h"
#include "tools/launch/near_torch.h"

namespace vramstow {
namespace {

constexpr char kTry[] = "VRAMSTOW_ADAPTER_TRY";

std::string ValueOf(const Environment& environment, std::string_view name) {
  const char* value = environment.Get(name);
  return value == nullptr ? "" : value;
}

void AddPair(const std::string& torch_folder, const std::string& adapter, std::string* pairs) {
  absl::StrAppend(pairs, pairs->empty() ? "" : "\n", torch_folder, "\n", adapter);
}

absl::StatusOr<std::string> BuildFor(const std::string& torch_folder, const std::string& sources,
                                     const std::string& wanted_folder,
                                     const AdapterRequest& request) {
  const auto torch = FindTorch(torch_folder);
  if (!torch.ok()) return torch.status();
  const Adapters adapters(sources, request);
  const std::string shipped = adapters.FindShipped(*torch);
  if (!shipped.empty()) return shipped;
  const auto folder = AdapterFolder::Make(wanted_folder);
  if (!folder.ok()) return folder.status();
  const char* what = request.kind == AdapterKind::kValues ? "what computes" : "the adapter";
  Progress::OfProcess().Begin(absl::StrCat("compiling ", what, " for PyTorch ", torch->release));
  const auto adapter = adapters.Build(*torch, *folder);
  if (!adapter.ok()) return adapter.status();
  return adapter->path;
}

// Adds compiled adapters for installations other than `known`: those shipped for a PyTorch that the
// command may import, and those compiled or requested on this machine.
void AddReady(const Installation& installation, const std::string& command,
              const Environment& environment, AdapterKind kind, const std::string& known,
              std::string* pairs) {
  const Adapters adapters(installation.adapter_sources,
                          {kind, WantsNewerTried(environment.Get(kTry))});
  std::vector<ReadyAdapter> ready;
  for (const std::string& near :
       FindTorchOnSearchPath(installation.program, command, ValueOf(environment, "PATH"))) {
    const auto torch = FindTorch(near);
    const std::string shipped = torch.ok() ? adapters.FindShipped(*torch) : "";
    if (!shipped.empty()) ready.push_back({torch->folder, shipped});
  }
  const auto folder = AdapterFolder::Existing(ValueOf(environment, "VRAMSTOW_ADAPTER_DIR"));
  if (!folder.empty()) {
    std::ranges::move(adapters.ListReady(folder), std::back_inserter(ready));
  }
  std::vector<std::string> added = {known};
  for (const ReadyAdapter& one : ready) {
    if (std::ranges::find(added, one.torch_folder) != added.end()) continue;
    added.push_back(one.torch_folder);
    AddPair(one.torch_folder, one.path, pairs);
  }
}

// Adapters that an enclosing vramstow run has found come first.
void SetReady(const Installation& installation, const std::string& command, AdapterKind kind,
              Environment* environment) {
  const char* variable = VariableOf(kind);
  std::string pairs = ValueOf(*environment, variable);
  AddReady(installation, command, *environment, kind, "", &pairs);
  if (!pairs.empty()) environment->Set(variable, pairs);
}

// Returns why there is no adapter for the PyTorch that the command is linked to. Returns an empty
// text if there is an adapter, or if the command is linked to no PyTorch.
std::string Prepare(const Installation& installation, const std::string& command, AdapterKind kind,
                    Environment* environment) {
  const char* variable = VariableOf(kind);
  const std::string wanted_folder = ValueOf(*environment, "VRAMSTOW_ADAPTER_DIR");
  const std::string linked = FindLinkedTorch(command, ValueOf(*environment, "PATH"),
                                             ValueOf(*environment, "LD_LIBRARY_PATH"));
  // Adapters that an enclosing vramstow run has found come first.
  std::string pairs = ValueOf(*environment, variable);
  std::string why;
  if (!linked.empty()) {
    const auto adapter = BuildFor(linked, installation.adapter_sources, wanted_folder,
                                  {kind, WantsNewerTried(environment->Get(kTry))});
    if (!adapter.ok()) why = std::string(adapter.status().message());
    AddPair(linked, adapter.ok() ? *adapter : "", &pairs);
  }
  AddReady(installation, command, *environment, kind, linked, &pairs);
  if (!pairs.empty()) environment->Set(variable, pairs);
  if (!why.empty() && why.back() == '.') why.pop_back();
  return why;
}

}  // namespace

void PrepareObservers(const Installation& installation, const std::string& command,
                      Environment* environment) {
  SetReady(installation, command, AdapterKind::kObserver, environment);
}

void PrepareCensuses(const Installation& installation, const std::string& command,
                     Environment* environment) {
  SetReady(installation, command, AdapterKind::kCensus, environment);
}

std::string PrepareValues(const Installation& installation, const std::string& command,
                          Environment* environment) {
  return Prepare(installation, command, AdapterKind::kValues, environment);
}

std::string PrepareAdapters(const Installation& installation, const std::string& command,
                            Environment* environment) {
  return Prepare(installation, command, AdapterKind::kAllocator, environment);
}

}  // namespace vramstow
