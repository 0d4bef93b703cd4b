// A cause of an out-of-memory: memory that was allocated from the driver by other code than
// PyTorch.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// True for libraries of NVIDIA and of PyTorch itself, whose workspaces PyTorch needs.
bool IsOfPyTorch(const std::string& library) {
  static constexpr std::array<const char*, 11> kNames = {
      "libcublas", "libcudnn", "libcusolver", "libcufft", "libcusparse", "libcurand",
      "libnccl",   "libtorch", "libc10",      "libnvrtc", "libcutensor"};
  return std::ranges::any_of(kNames, [&](const char* name) { return library.starts_with(name); });
}

Found FindPastPytorch(const FailureMoment& moment) {
  std::vector<const Life*> others;
  std::string library;
  bool has_tensors = false;
  for (const Life* life : moment.live()) {
    has_tensors |= life->tensor;
    if (life->tensor || life->opened) continue;
    const std::vector<std::string>& libraries = moment.detail().libraries;
    const std::string name = life->library < libraries.size() ? libraries[life->library] : "";
    if (IsOfPyTorch(name) || moment.site_of(*life).phase == Phase::kWorkspace) continue;
    others.push_back(life);
    library = name;
  }
  Cause cause;
  cause.bytes = BytesOf(others);
  if (!has_tensors || !moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), others);
  cause.title = "Memory was allocated without PyTorch";
  cause.place = PlaceInProgram(moment, others);
  cause.evidence = AdviceText(cause.bytes) +
                   " are not PyTorch's: another library requested them from the driver" +
                   (library.empty() ? "" : " through " + library) + ", by " +
                   LargestPlaces(moment.detail(), others) +
                   ". torch.cuda.memory_allocated() does not count them.";
  cause.cost = "It depends on the purpose of the memory.";
  cause.action =
      "Allocate less there, free it before, or allocate it as a tensor, so that PyTorch can reuse "
      "it.";
  return cause;
}

}  // namespace

constinit const Rule kPastPytorch = {
    .rank = Rank::kMistake,
    .meaning = "memory that a library other than PyTorch requested from the driver",
    .help =
        "A library that belongs neither to PyTorch nor to NVIDIA requested memory from the driver, "
        "in a process that uses PyTorch. torch.cuda.memory_allocated() does not count it. Allocate "
        "less there, free it before, or allocate it as a tensor.",
    .needs = {kNeedsTensors},
    .cause = FindPastPytorch,
};

}  // namespace vramstow
