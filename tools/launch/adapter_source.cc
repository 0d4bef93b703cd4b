#include "tools/launch/adapter_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/launch/file_text.h"
#include "tools/launch/fingerprint.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

// A library that was compiled for another copy of the same release fits if these headers are equal.
constexpr const char* kDecidingHeaders[] = {"c10/cuda/CUDACachingAllocator.h",
                                            "c10/core/CachingDeviceAllocator.h",
                                            "c10/core/Allocator.h",
                                            "c10/core/StorageImpl.h",
                                            "c10/core/TensorImpl.h",
                                            "c10/macros/cmake_macros.h",
                                            "ATen/core/boxing/KernelFunction.h",
                                            "ATen/core/dispatch/Dispatcher.h",
                                            "ATen/core/ivalue.h",
                                            "torch/csrc/autograd/generated/Functions.h"};
// Files whose contents distinguish copies of PyTorch.
constexpr const char* kDecidingFiles[] = {
    "lib/libc10_cuda.so", "include/c10/cuda/CUDACachingAllocator.h",
    "include/c10/core/CachingDeviceAllocator.h", "include/c10/core/Allocator.h"};

// Returns all headers, and the .cc files in the folder of the kind. Returns none if not all folders
// can be read, because an adapter must not be made from a part of its source.
std::vector<fs::path> FindFiles(const std::string& sources, AdapterKind kind) {
  const char* folder = SourceFolderOf(kind);
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(sources, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    const bool is_unit = path.extension() == ".cc" && path.parent_path().filename() == folder;
    if (is_unit || path.extension() == ".h") files.push_back(path);
  }
  if (error) return {};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

AdapterSource::AdapterSource(const std::string& folder, AdapterKind kind)
    : folder_(folder), kind_(kind), files_(FindFiles(folder, kind)) {}

std::vector<fs::path> AdapterSource::Units() const {
  std::vector<fs::path> units;
  for (const fs::path& file : files_) {
    if (file.extension() == ".cc") units.push_back(file);
  }
  return units;
}

std::string AdapterSource::StemFor(const TorchInstallation& torch) const {
  Fingerprint all;
  for (const fs::path& file : files_) all.Add(TextOfFile(file));
  for (const char* part : kDecidingFiles) all.Add(TextOfFile(fs::path(torch.folder) / part));
  all.Add(absl::StrCat(torch.release, torch.cxx11_abi ? " 1 " : " 0 ", torch.folder));
  return absl::StrCat(NamePrefixOf(kind_), torch.release, "-", absl::Hex(all.value()), "-");
}

std::string AdapterSource::ShippedName(const TorchInstallation& torch) const {
  // The fingerprints cover the sources and PyTorch's headers, but neither the path nor the compiled
  // files of PyTorch.
  Fingerprint source;
  for (const fs::path& file : files_) source.Add(TextOfFile(file));
  Fingerprint headers;
  for (const char* header : kDecidingHeaders) {
    headers.Add(TextOfFile(fs::path(torch.folder) / "include" / header));
  }
  return absl::StrCat(NamePrefixOf(kind_), torch.release, "-abi", torch.cxx11_abi ? 1 : 0, "-",
                      absl::Hex(source.value(), absl::kZeroPad16), "-",
                      absl::Hex(headers.value(), absl::kZeroPad16), kAdapterSuffix);
}

}  // namespace vramstow
