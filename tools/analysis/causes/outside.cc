// Memory that no tensor can have.
#include <algorithm>
#include <array>
#include <string>

#include "tools/analysis/advice_words.h"
#include "tools/analysis/causes/cause.h"
#include "tools/analysis/causes/places.h"
#include "tools/analysis/library_name.h"

namespace vramstow {
namespace {

// NVIDIA's, and PyTorch's own: their workspaces are theirs.
bool IsOfPyTorch(const std::string& library) {
  static constexpr std::array<const char*, 11> kNames = {
      "libcublas", "libcudnn", "libcusolver", "libcufft", "libcusparse", "libcurand",
      "libnccl",   "libtorch", "libc10",      "libnvrtc", "libcutensor"};
  return std::ranges::any_of(kNames, [&](const char* name) { return library.starts_with(name); });
}

}  // namespace

Found PastPyTorch(const Scene& scene) {
  std::vector<const Life*> others;
  std::string library;
  bool has_tensors = false;
  for (const Life* life : scene.live()) {
    has_tensors |= life->tensor;
    if (life->tensor || life->opened) continue;
    const std::vector<std::string>& libraries = scene.detail().libraries;
    const std::string name = life->library < libraries.size() ? libraries[life->library] : "";
    if (IsOfPyTorch(name) || scene.site_of(*life).phase == Phase::kWorkspace) continue;
    others.push_back(life);
    library = name;
  }
  Cause cause;
  cause.bytes = BytesOf(others);
  if (!has_tensors || !scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "past_pytorch";
  cause.title = "Memory was taken past PyTorch";
  cause.place = CommonPlaceOrFirst(scene.detail(), others);
  cause.evidence = AdviceText(cause.bytes) + " are not PyTorch's: they were asked of the driver" +
                   (library.empty() ? "" : " through " + library) + ", by " +
                   LargestPlaces(scene.detail(), others) +
                   ". torch.cuda.memory_allocated() does not count them.";
  cause.cost = "Depends on what they are for.";
  cause.action =
      "Take less there, free it before, or allocate it as a tensor, so that PyTorch can "
      "use it again.";
  return cause;
}

Found GraphPools(const Scene& scene) {
  const uint64_t free = scene.failure().pool_free_bytes;
  if (!scene.is_bound() || !scene.IsLarge(free)) return std::nullopt;
  Cause cause;
  cause.id = "graph_pools";
  cause.title = "Each captured graph has memory of its own";
  cause.bytes = free;
  cause.is_estimate = true;
  cause.place = PlaceOf(scene.detail(), scene.failure().site_number);
  cause.evidence = AdviceText(free) +
                   " of the pool were free, in whole chunks, and did not serve a request for " +
                   AdviceText(scene.requested()) +
                   ": what a graph has used while it was captured stays its own.";
  cause.cost = "Graphs that share a pool must not run at the same time.";
  cause.action =
      "Give all captures one pool (torch.cuda.graph(..., pool=torch.cuda.graph_pool_handle())), "
      "and capture the largest shape first.";
  return cause;
}

Found WideNumbers(const Scene& scene) {
  std::vector<const Life*> wide;
  for (const SiteDetail& site : scene.detail().sites) {
    if (!site.is_float64 || site.allocations == 0) continue;
    for (const Life* life : scene.live()) {
      if (life->tensor && life->size >= (1 << 16)) wide.push_back(life);
    }
    break;
  }
  Cause cause;
  cause.bytes = BytesOf(wide) / 2;
  cause.held = wide;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "float64";
  cause.title = "Numbers have 64 bits";
  cause.is_estimate = true;
  cause.place = PlaceOf(scene.detail(), wide.front()->site);
  cause.evidence = "Kernels for double run on these tensors (" + AdviceText(BytesOf(wide)) +
                   "): twice what float32 needs.";
  cause.cost = "Rounding, as everywhere else in machine learning.";
  cause.action = "model.float(), and dtype=torch.float32 where arrays of NumPy become tensors.";
  return cause;
}

}  // namespace vramstow
