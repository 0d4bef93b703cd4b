#include "adapters/torch/census/callers.h"

#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>
#include <unwind.h>

#include <string_view>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {
namespace {

constexpr int kMaxCallers = 256;

const void* LibraryOf(const void* address, std::string_view* path = nullptr) {
  Dl_info about{};
  if (dladdr(address, &about) == 0) return nullptr;
  if (path != nullptr && about.dli_fname != nullptr) *path = about.dli_fname;
  return about.dli_fbase;
}

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

struct Look {
  const void* python;
  const void* core;
  const void* census;
  std::string_view framework;  // the folder of the framework
  int frames = 0;
  bool is_over = false;
  bool has_other = false;

  bool Knows(const void* library, std::string_view path) const {
    if (library == core || library == census) return true;
    const std::string_view folder = FolderOf(path);
    const std::string_view name = path.substr(folder.size() + (folder.empty() ? 0 : 1));
    return path.starts_with(framework) || name.starts_with("libvramstow") ||
           (name.starts_with("torch-") && name.ends_with(".so"));
  }
};

_Unwind_Reason_Code Step(_Unwind_Context* context, void* argument) {
  auto* look = static_cast<Look*>(argument);
  const auto* address = reinterpret_cast<const char*>(_Unwind_GetIP(context));
  if (address == nullptr || ++look->frames > kMaxCallers) return _URC_END_OF_STACK;
  std::string_view path;
  const void* library = LibraryOf(address - 1, &path);
  look->is_over = library == look->python;
  look->has_other = !look->is_over && (library == nullptr || !look->Knows(library, path));
  return look->is_over || look->has_other ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

bool Callers::AreFrameworkOnly(const void* own) {
  std::string_view cuda;
  if (LibraryOf(reinterpret_cast<const void*>(&c10::cuda::device_count), &cuda) == nullptr) {
    return false;
  }
  Look look{LibraryOf(reinterpret_cast<const void*>(&Py_GetVersion)), LibraryOf(own),
            LibraryOf(reinterpret_cast<const void*>(&Step)), FolderOf(FolderOf(cuda))};
  if (look.python == nullptr || look.framework.empty()) return false;
  _Unwind_Backtrace(&Step, &look);
  return look.is_over && !look.has_other;
}

}  // namespace vramstow::torch_census
