#include "tools/launch/torch_installation.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tools/launch/file_text.h"

namespace vramstow {

namespace fs = std::filesystem;

namespace {

// Returns "2.15.0" for a file with PACKAGE_VERSION "2.15.0+cu132"; empty if it has none.
std::string ReleaseIn(const std::string& version) {
  constexpr std::string_view kBefore = "PACKAGE_VERSION \"";
  const size_t at = version.find(kBefore);
  if (at == std::string::npos) return "";
  const size_t begin = at + kBefore.size();
  const size_t end = version.find_first_not_of("0123456789.", begin);
  return version.substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace

absl::StatusOr<TorchInstallation> FindTorch(const std::string& folder) {
  std::error_code error;
  TorchInstallation torch;
  torch.folder = fs::canonical(folder, error);
  if (error || !fs::exists(fs::path(torch.folder) / "lib/libc10_cuda.so", error)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no PyTorch with CUDA in ", folder,
        " (lib/libc10_cuda.so): name the folder torch of its package, or of LibTorch."));
  }
  const fs::path about = fs::path(torch.folder) / "share/cmake/Torch";
  const std::string version = TextOfFile(about / "TorchConfigVersion.cmake");
  torch.release = ReleaseIn(version);
  if (torch.release.empty()) {
    return absl::NotFoundError(
        absl::StrCat("cannot determine the release of the PyTorch in ", torch.folder, "."));
  }
  const std::string config = TextOfFile(about / "TorchConfig.cmake");
  torch.cxx11_abi = config.find("_GLIBCXX_USE_CXX11_ABI=0") == std::string::npos;
  torch.include_folders = {torch.folder + "/include"};
  const fs::path packages = fs::path(torch.folder).parent_path();
  const char* home = std::getenv("CUDA_HOME");
  for (const fs::path& candidate :
       {packages / "nvidia/cu13/include", packages / "nvidia/cuda_runtime/include",
        packages / "triton/backends/nvidia/include",
        fs::path(home == nullptr ? "" : home) / "include", fs::path("/usr/local/cuda/include")}) {
    // A folder that this user may not search has no headers for the compiler either.
    if (fs::exists(candidate / "cuda_runtime_api.h", error)) {
      torch.include_folders.push_back(candidate);
    }
  }
  return torch;
}

}  // namespace vramstow
