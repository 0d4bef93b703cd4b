#include "tools/launch/adapter.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/launch/adapter_compiler.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

constexpr char kShippedFolder[] = "compiled-adapters";  // a folder beside the sources

}  // namespace

Adapters::Adapters(const std::string& sources, const AdapterRequest& request)
    : request_(request), source_(sources, request.kind) {}

std::string Adapters::FindShipped(const TorchInstallation& torch) const {
  const fs::path file =
      fs::path(source_.folder()).parent_path() / kShippedFolder / source_.ShippedName(torch);
  return access(file.c_str(), R_OK) == 0 ? file.string() : "";
}

absl::Status Adapters::CheckSource(const TorchInstallation& torch) const {
  const absl::Status release = CheckRelease(torch.release, request_);
  if (!release.ok() || !source_.empty()) return release;
  return absl::NotFoundError(absl::StrCat("the adapter's source was not found in ",
                                          source_.folder(), ": build or install vramstow again."));
}

absl::StatusOr<Adapter> Adapters::Find(const TorchInstallation& torch,
                                       const AdapterFolder& folder) const {
  const absl::Status possible = CheckSource(torch);
  if (!possible.ok()) return possible;
  if (const std::string shipped = FindShipped(torch); !shipped.empty()) {
    return Adapter{shipped, true, ""};
  }
  const std::string stem = source_.StemFor(torch);
  const auto compiler = AdapterCompiler::Find();
  if (!compiler.ok()) {
    // Without a compiler, an adapter that was compiled earlier for the same PyTorch and the same
    // source is used.
    for (const std::string& known : folder.List()) {
      if (fs::path(known).filename().string().starts_with(stem)) return Adapter{known, true, ""};
    }
    return compiler.status();
  }
  const std::string path = absl::StrCat(folder.path(), "/", stem, compiler->Mark(), kAdapterSuffix);
  return Adapter{path, access(path.c_str(), R_OK) == 0, compiler->path()};
}

absl::StatusOr<Adapter> Adapters::Build(const TorchInstallation& torch,
                                        const AdapterFolder& folder) const {
  auto adapter = Find(torch, folder);
  if (!adapter.ok()) return adapter;
  if (adapter->built) {
    folder.NoteTorch(adapter->path, torch);
    return adapter;
  }
  {
    const AdapterLock lock(adapter->path);
    if (access(adapter->path.c_str(), R_OK) != 0) {
      const absl::Status status = Compile(torch, *adapter);
      if (!status.ok()) return status;
    }
  }
  folder.NoteTorch(adapter->path, torch);
  adapter->built = true;
  return adapter;
}

absl::Status Adapters::Compile(const TorchInstallation& torch, const Adapter& adapter) const {
  return AdapterCompiler(adapter.compiler)
      .Compile(torch, source_, AdapterCompiler::Purpose::kThisCopy, adapter.path);
}

// Finds the adapter anew, because the folder may contain another release of PyTorch by now, or this
// vramstow may have another source of the adapter.
std::string Adapters::BuiltFor(const std::string& torch_folder, const AdapterFolder& folder) const {
  const auto torch = FindTorch(torch_folder);
  if (!torch.ok()) return "";
  const auto adapter = Find(*torch, folder);
  return adapter.ok() && adapter->built ? adapter->path : "";
}

std::vector<ReadyAdapter> Adapters::ListReady(const AdapterFolder& folder) const {
  std::vector<ReadyAdapter> ready;
  // Many adapters may be for the same PyTorch. Computing the name of its adapter reads all sources,
  // so the name is cached.
  std::map<std::string, std::string> path_of;
  for (const std::string& known : folder.List()) {
    const std::string torch_folder = AdapterFolder::TorchOf(known);
    if (torch_folder.empty()) continue;
    const auto [path, is_new] = path_of.try_emplace(torch_folder);
    if (is_new) path->second = BuiltFor(torch_folder, folder);
    if (path->second == known) ready.push_back({torch_folder, known});
  }
  for (const std::string& torch_folder : folder.TorchesWithExternalAllocator()) {
    const auto torch = FindTorch(torch_folder);
    const std::string shipped = torch.ok() ? FindShipped(*torch) : "";
    if (!shipped.empty()) ready.push_back({torch_folder, shipped});
  }
  return ready;
}

absl::StatusOr<Adapter> Adapters::BuildShipped(const TorchInstallation& torch,
                                               const std::string& folder) const {
  const absl::Status possible = CheckSource(torch);
  if (!possible.ok()) return possible;
  const auto compiler = AdapterCompiler::Find();
  if (!compiler.ok()) return compiler.status();
  Adapter adapter = {absl::StrCat(folder, "/", source_.ShippedName(torch)), true, compiler->path()};
  if (access(adapter.path.c_str(), R_OK) == 0) return adapter;
  const absl::Status status =
      compiler->Compile(torch, source_, AdapterCompiler::Purpose::kPackage, adapter.path);
  if (!status.ok()) return status;
  return adapter;
}

}  // namespace vramstow
