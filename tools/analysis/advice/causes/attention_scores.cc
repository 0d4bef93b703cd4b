// A cause of an out-of-memory: attention scores, whose size is the square of the sequence length.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

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

// The call sites that belong to the function that computes attention, and whose blocks are as large
// as the result of its softmax.
class ScoreSites {
 public:
  explicit ScoreSites(const FailureMoment& moment) {
    absl::flat_hash_map<uint64_t, absl::flat_hash_set<uint64_t>> sizes;  // the key is the function
    for (const Life& life : moment.detail().lives) {
      if (life.birth > moment.event()) break;
      const SiteDetail& site = moment.site_of(life);
      if (IsSoftmax(OperatorName(site))) sizes[FunctionOf(site)].insert(life.size);
    }
    for (const Life& life : moment.detail().lives) {
      if (life.birth > moment.event()) break;
      const SiteDetail& site = moment.site_of(life);
      const auto of_function = sizes.find(FunctionOf(site));
      if (of_function == sizes.end() || !of_function->second.contains(life.size)) continue;
      const std::string_view name = OperatorName(site);
      if (IsSoftmax(name) || MakesScores(name)) {
        sites_.insert(life.site);
        if (name != "bmm" && name != "baddbmm") continue;
        has_product_ = true;
        if (!site.own.empty()) lines_.insert(site.own.back().text);
      }
    }
  }
  bool any() const { return has_product_; }
  bool Has(uint32_t site) const { return sites_.contains(site); }
  // A request that failed may have another path through C++ than the earlier requests of the same
  // line, which were served.
  bool IsMadeBy(const SiteDetail& request) const {
    return !request.own.empty() && lines_.contains(request.own.back().text) &&
           MakesScores(OperatorName(request));
  }

 private:
  absl::flat_hash_set<uint32_t> sites_;
  absl::flat_hash_set<uint32_t> lines_;  // lines that compute matrix products
  bool has_product_ = false;             // the softmax of a product was found
};

// True if transformers' own code allocated the blocks. Its models get their attention
// implementation when they are loaded.
bool AreOfTransformers(const Detail& detail, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    return absl::StrContains(detail.frames[frame], "/transformers/models/") ||
           absl::StrContains(detail.frames[frame], "eager_attention_forward");
  });
}

std::string ActionFor(const FailureMoment& moment, const SiteDetail& score) {
  if (AreOfTransformers(moment.detail(), score)) {
    return "Load the model with attn_implementation=\"sdpa\" (or \"flash_attention_2\"), which "
           "never stores all scores at once, and without output_attentions=True.";
  }
  return "Use torch.nn.functional.scaled_dot_product_attention, which never stores all scores at "
         "once.";
}

Found FindAttentionScores(const FailureMoment& moment) {
  const ScoreSites scores(moment);
  if (!scores.any()) return std::nullopt;
  std::vector<const Life*> held;
  for (const Life* life : moment.live()) {
    if (scores.Has(life->site)) held.push_back(life);
  }
  Cause cause;
  cause.bytes = BytesOf(held);
  cause.held = held;
  const bool asks =
      scores.Has(moment.failure().site_number) || scores.IsMadeBy(moment.request_site());
  const bool is_one =
      asks || std::ranges::any_of(held, [&](const Life* life) {
        return life->requested == moment.requested() &&
               FunctionOf(moment.site_of(*life)) == FunctionOf(moment.request_site());
      });
  if (is_one) cause.bytes += moment.requested();
  if (!moment.IsLarge(cause.bytes) || (held.empty() && !asks)) return std::nullopt;
  cause.change = Without(moment.detail(), held);
  if (is_one) cause.change.requested = 0;
  cause.title = "Attention stores its scores, whose size is length times length";
  cause.place = asks ? PlaceOfRequest(moment) : CommonPlace(moment.detail(), held);
  cause.evidence = AdviceText(cause.bytes) +
                   " are products and their softmax, of size length times length for each head" +
                   (held.empty() ? "." : ": " + LargestPlaces(moment.detail(), held) + ".");
  cause.cost = "None; it is also faster.";
  cause.action =
      ActionFor(moment, held.empty() ? moment.request_site() : moment.site_of(*held.front()));
  return cause;
}

}  // namespace

constinit const Rule kAttentionScores = {
    .rank = Rank::kTrade,
    .meaning = "scores of attention, length times length",
    .help =
        "A function computes a matrix product and its softmax itself, and stores both, each of "
        "size length times length for each head. Use "
        "torch.nn.functional.scaled_dot_product_attention, "
        "which never stores all scores at once.",
    .needs = {kNeedsCallStacks},
    .cause = FindAttentionScores,
};

}  // namespace vramstow
