// LibraryFailure: decides whether the failed request came from a library other than the framework.
// Such a library cannot use the framework's cache, and reports an error of its own.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_LIBRARY_FAILURE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_LIBRARY_FAILURE_H_

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/analysis/facts/failure_facts.h"

namespace vramstow {

// True for a library of NVIDIA's that allocates workspaces from the driver.
inline bool IsMathLibrary(std::string_view library) {
  constexpr std::array<std::string_view, 8> kNames = {"libcublas", "libcudnn",    "libcusolver",
                                                      "libcufft",  "libcusparse", "libcurand",
                                                      "libnccl",   "libcutensor"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return library.starts_with(name); });
}

// True for a library that is a part of PyTorch.
inline bool IsFrameworkLibrary(std::string_view library) {
  return library.starts_with("libtorch") || library.starts_with("libc10");
}

inline bool IsLibraryFailure(const OutOfMemoryFacts& failure) {
  return failure.has_pool && failure.call.starts_with("cuMem") && !failure.library.empty() &&
         !IsFrameworkLibrary(failure.library);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_LIBRARY_FAILURE_H_
