// Memory that no tensor can have.
#include <algorithm>
#include <array>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/testimony.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

// NVIDIA's, and PyTorch's own: their workspaces are theirs.
bool IsOfPyTorch(const std::string& library) {
  static constexpr std::array<const char*, 11> kNames = {
      "libcublas", "libcudnn", "libcusolver", "libcufft", "libcusparse", "libcurand",
      "libnccl",   "libtorch", "libc10",      "libnvrtc", "libcutensor"};
  return std::ranges::any_of(kNames, [&](const char* name) { return library.starts_with(name); });
}

// What an operation makes number by number is as large as its largest input, unless its numbers are
// wider.
bool WorksNumberByNumber(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"add", "sub",  "mul",
                                                             "div", "rsub", "pow"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// The first one in this pass that is exactly twice as large as the largest one before it.
const Life* FirstTwiceAsWide(const Scene& scene) {
  const Life* before = nullptr;  // the largest one
  for (const Life& life : scene.detail().lives) {
    if (life.birth >= scene.event()) break;
    if (!life.tensor || life.pending || scene.PassOf(life) < scene.pass()) continue;
    const SiteDetail& site = scene.site_of(life);
    if (site.in_backward || site.in_optimizer) break;
    if (before != nullptr && before->size * 2 == life.size && before->LivesAt(life.birth) &&
        WorksNumberByNumber(OperatorName(site)) && life.LivesAt(scene.event()) &&
        scene.IsLarge(life.size)) {
      return &life;
    }
    if (before == nullptr || life.size > before->size) before = &life;
  }
  return nullptr;
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
  cause.change = Without(scene.detail(), others);
  cause.title = "Memory was taken past PyTorch";
  cause.place = PlaceInProgram(scene, others);
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
  cause.change.shares_pool = true;
  cause.title = "Each captured graph has memory of its own";
  cause.bytes = free;
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(scene);
  const OutOfMemoryFacts& failure = scene.failure();
  const bool has_piece =
      !failure.pool_movable_bytes.has_value() && failure.free_bytes < failure.requested_bytes;
  const char* pieces = has_piece ? "some in pieces that are large enough" : "in whole chunks";
  cause.evidence = AdviceText(free) + " of the pool were free, " + pieces +
                   ", and did not serve a request for " + AdviceText(scene.requested()) +
                   ": what a graph has used while it was captured stays its own.";
  cause.cost = "Graphs that share a pool must not run at the same time.";
  cause.action =
      "Give all captures one pool (torch.cuda.graph(..., pool=torch.cuda.graph_pool_handle())), "
      "and capture the largest shape first.";
  return cause;
}

Found WideNumbers(const Scene& scene) {
  const bool by_kernel = std::ranges::any_of(scene.detail().sites, [](const SiteDetail& site) {
    return site.is_float64 && site.allocations > 0;
  });
  std::vector<const Life*> wide;
  const Life* first = FirstTwiceAsWide(scene);
  for (const Life* life : scene.live()) {
    if (!life->tensor || life->size < (1 << 16)) continue;
    const HeldBlock* block = scene.holders().Of(*life);
    const auto words = block == nullptr ? std::nullopt : ParseTensor(block->about);
    // What the census has seen is sure. Of the rest the kernels tell, or the size.
    const bool is_wide = words.has_value() ? words->type == "float64" || words->type == "complex128"
                         : by_kernel       ? true
                                           : first != nullptr && life->birth >= first->birth &&
                                           life->size % first->size == 0;
    if (is_wide) wide.push_back(life);
  }
  Cause cause;
  if (wide.empty()) return std::nullopt;
  // What is made of them is as wide.
  const bool asks_wide = by_kernel || scene.requested() % wide.back()->size == 0;
  cause.bytes = (BytesOf(wide) + (asks_wide ? scene.requested() : 0)) / 2;
  cause.held = wide;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "float64";
  cause.change = InParts(scene.detail(), wide, 2);
  if (asks_wide) cause.change.requested = scene.requested() / 2;
  cause.title = "Numbers have 64 bits";
  cause.is_estimate = true;
  cause.place = PlaceOf(scene.detail(), wide.front()->site);
  cause.evidence = by_kernel || first == nullptr
                       ? "These tensors (" + AdviceText(BytesOf(wide)) +
                             ") are float64: twice what float32 needs."
                       : std::string(OperatorName(scene.site_of(*first))) + " made " +
                             AdviceText(first->size) +
                             " of an input half as large: its numbers are twice as wide. One of "
                             "its inputs is float64, as arrays of NumPy are.";
  cause.cost = "Rounding, as everywhere else in machine learning.";
  cause.action = "model.float(), and dtype=torch.float32 where arrays of NumPy become tensors.";
  return cause;
}

}  // namespace vramstow
