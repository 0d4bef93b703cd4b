// One operation that wants too much.
#include <algorithm>
#include <array>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"

namespace vramstow {
namespace {

constexpr uint64_t kPieces = 8;

template <size_t count>
bool IsOneOf(std::string_view name, const std::array<std::string_view, count>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool MakesScores(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "bmm", "baddbmm", "matmul", "mul", "div",     "add",           "masked_fill",
      "mm",  "where",   "einsum", "sub", "dropout", "native_dropout"};
  return IsOneOf(name, kNames);
}

bool IsSoftmax(std::string_view name) {
  return name.find("softmax") != std::string_view::npos &&
         name.find("log_softmax") == std::string_view::npos;
}

uint64_t FunctionOf(const SiteDetail& site) {
  return site.own.empty() ? 0 : site.own.back().function;
}

// Of one function, and of a size that its softmax has had.
class ScoreSites {
 public:
  explicit ScoreSites(const Scene& scene) {
    absl::flat_hash_map<uint64_t, absl::flat_hash_set<uint64_t>> sizes;  // by function
    for (const Life& life : scene.detail().lives) {
      if (life.birth > scene.event()) break;
      const SiteDetail& site = scene.site_of(life);
      if (IsSoftmax(OperatorName(site))) sizes[FunctionOf(site)].insert(life.size);
    }
    for (const Life& life : scene.detail().lives) {
      if (life.birth > scene.event()) break;
      const SiteDetail& site = scene.site_of(life);
      const auto of_function = sizes.find(FunctionOf(site));
      if (of_function == sizes.end() || !of_function->second.contains(life.size)) continue;
      const std::string_view name = OperatorName(site);
      if (IsSoftmax(name) || MakesScores(name)) {
        sites_.insert(life.site);
        has_product_ |= name == "bmm" || name == "baddbmm";
      }
    }
  }
  bool any() const { return has_product_; }
  bool Has(uint32_t site) const { return sites_.contains(site); }

 private:
  absl::flat_hash_set<uint32_t> sites_;
  bool has_product_ = false;  // softmax of a product
};

bool MakesTableGradient(const Scene& scene, const SiteDetail& site) {
  return site.in_backward && std::ranges::any_of(site.frames, [&](uint32_t number) {
           const std::string& frame = scene.detail().frames[number];
           return frame.starts_with("EmbeddingBackward") ||
                  frame.find("embedding_dense_backward") != std::string::npos;
         });
}

// It has no pieces: all of the matrix goes into each number of its result.
bool IsDecomposition(const Scene& scene, const SiteDetail& site) {
  const auto is_one = [](std::string_view name) {
    return name.find("linalg_svd") != std::string_view::npos ||
           name.find("linalg_qr") != std::string_view::npos;
  };
  return is_one(OperatorName(site)) || std::ranges::any_of(site.frames, [&](uint32_t frame) {
           return is_one(scene.detail().frames[frame]);
         });
}

}  // namespace

Found AttentionScores(const Scene& scene) {
  const ScoreSites scores(scene);
  if (!scores.any()) return std::nullopt;
  std::vector<const Life*> held;
  for (const Life* life : scene.live()) {
    if (scores.Has(life->site)) held.push_back(life);
  }
  Cause cause;
  cause.bytes = BytesOf(held);
  cause.held = held;
  const bool asks = scores.Has(scene.failure().site_number);
  // A request that fails may come another way through C++ than those that are served.
  const bool is_one = asks || std::ranges::any_of(held, [&](const Life* life) {
                        return life->requested == scene.requested() &&
                               FunctionOf(scene.site_of(*life)) == FunctionOf(scene.request_site());
                      });
  if (is_one) cause.bytes += scene.requested();
  if (!scene.IsLarge(cause.bytes) || held.empty()) return std::nullopt;
  cause.id = "attention_scores";
  cause.change = Without(scene.detail(), held);
  if (is_one) cause.change.requested = 0;
  cause.title = "Attention keeps its scores: length times length";
  cause.place = asks ? PlaceOfRequest(scene) : CommonPlace(scene.detail(), held);
  cause.evidence = AdviceText(cause.bytes) +
                   " are products and their softmax, as large as length times length for each "
                   "head: " +
                   LargestPlaces(scene.detail(), held) + ".";
  cause.cost = "None; it is faster, too.";
  cause.action =
      "torch.nn.functional.scaled_dot_product_attention, which never has the scores whole.";
  return cause;
}

Found LargeRequest(const Scene& scene) {
  const SiteDetail& site = scene.request_site();
  const uint64_t requested = scene.requested();
  if (site.in_optimizer || requested * 4 < scene.room()) return std::nullopt;
  // What the same line has made on the way belongs to it.
  uint64_t largest = 0;
  uint64_t on_the_way = 0;
  std::vector<const Life*> made;
  for (const Life* life : scene.live()) {
    if (!life->tensor) continue;
    const std::vector<CodeLine>& own = scene.site_of(*life).own;
    const bool is_same = !own.empty() && !site.own.empty() &&
                         own.back().text == site.own.back().text &&
                         scene.PassOf(*life) == scene.pass() && life->size * 4 > requested;
    (is_same ? on_the_way : largest) = std::max(is_same ? on_the_way : largest, life->size);
    if (is_same) made.push_back(life);
  }
  if (requested * 5 < largest * 7) return std::nullopt;
  const std::string name(OperatorName(site));
  // Of one-hot vectors that are converted CopiesOfOne knows more.
  const bool converts_zeros = std::ranges::any_of(made, [&](const Life* life) {
    return life->size > requested &&
           OperatorName(scene.site_of(*life)).find("zeros") != std::string_view::npos;
  });
  if (name == "_to_copy" && converts_zeros) return std::nullopt;
  Cause cause;
  cause.id = "large_request";
  cause.title = "One request is too large: " + AdviceText(requested);
  cause.bytes = requested + on_the_way - (requested + on_the_way) / kPieces;
  cause.change = InParts(scene.detail(), made, kPieces);
  cause.change.requested = requested / kPieces;
  cause.is_estimate = true;
  cause.place = PlaceOfRequest(scene);
  cause.evidence = name + " asked for " + AdviceText(requested) + " at once, of " +
                   AdviceText(scene.room()) + " that the job can have";
  if (on_the_way > 0) {
    cause.evidence += "; the same line had made " + AdviceText(on_the_way) + " on the way";
  }
  cause.evidence +=
      largest == 0 ? "." : "; of others the largest tensor has " + AdviceText(largest) + ".";
  cause.cost = "A loop over pieces.";
  if (IsDecomposition(scene, site)) {
    cause.cost = "None, if the rest of the basis is not needed.";
    cause.action =
        "Ask for the reduced form: torch.linalg.svd(..., full_matrices=False), "
        "torch.linalg.qr(..., mode=\"reduced\"); the full one makes a square of the longer side. "
        "Of few components torch.svd_lowrank().";
    return cause;
  }
  cause.action = "Do it in " + std::to_string(kPieces) +
                 " pieces (split() the input), so that only one of them is there at a time; of a "
                 "loss over a large vocabulary each piece's loss.";
  return cause;
}

// The gradient of an embedding has as many rows as its table.
Found TableGradient(const Scene& scene) {
  // What an optimizer makes for it has causes of its own.
  if (scene.request_site().in_optimizer) return std::nullopt;
  std::vector<const Life*> held;
  for (const Life* life : scene.live()) {
    if (life->tensor && MakesTableGradient(scene, scene.site_of(*life))) held.push_back(life);
  }
  const bool asks = MakesTableGradient(scene, scene.request_site());
  Cause cause;
  cause.bytes = BytesOf(held) + (asks ? scene.requested() : 0);
  if (cause.bytes * 4 < scene.room()) return std::nullopt;
  cause.id = "table_gradient";
  cause.change = Without(scene.detail(), held);
  if (asks) cause.change.requested = 0;
  cause.held = held;
  cause.is_estimate = true;
  cause.title = "The gradient of an embedding is as large as its table";
  cause.place = asks ? PlaceOfRequest(scene) : PlaceInProgram(scene, held);
  cause.evidence = "The backward pass of an embedding made " + AdviceText(cause.bytes) +
                   ": a row for each row of the table, though a batch reads few of them.";
  cause.cost = "Not every optimizer takes sparse gradients.";
  cause.action =
      "nn.Embedding(..., sparse=True), with an optimizer that takes it (SparseAdam, SGD, Adagrad); "
      "or keep the table on the host.";
  return cause;
}

}  // namespace vramstow
