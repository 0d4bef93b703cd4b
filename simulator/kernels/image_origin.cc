#include "simulator/kernels/image_origin.h"

#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <string>

namespace vramstow::simulator {
namespace {

// The release of PyTorch that simulator/kernels/named was written for and tested with.
constexpr std::string_view kRelease = "2.15.";

}  // namespace

bool IsKnownRelease(std::string_view text) {
  constexpr std::string_view kVariable = "__version__ = '";
  const size_t variable = text.find(kVariable);
  if (variable != std::string_view::npos) text.remove_prefix(variable + kVariable.size());
  return text.substr(0, kRelease.size()) == kRelease;
}

bool HasKnownKernels(const void* image) {
  Dl_info library = {};
  if (dladdr(image, &library) == 0 || library.dli_fname == nullptr) return true;
  std::string folder = library.dli_fname;
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  constexpr std::string_view kLibraries = "torch/lib/";  // in the wheel and in LibTorch
  if (folder.size() < kLibraries.size() ||
      folder.compare(folder.size() - kLibraries.size(), kLibraries.size(), kLibraries) != 0) {
    return true;
  }
  for (const char* name : {"../version.py", "../build-version"}) {
    std::ifstream file(folder + name);
    if (!file) continue;
    return IsKnownRelease(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return true;
}

}  // namespace vramstow::simulator
