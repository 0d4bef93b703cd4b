// A cause of an out-of-memory: several copies of one large result.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/large_result.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// True for steps of a loss that each make a copy of the logits.
bool IsStepOfLoss(std::string_view name) {
  for (const char* part : {"softmax", "logsumexp", "scatter", "one_hot", "nll_loss", "_to_copy"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// True for steps that compute a loss over classes.
bool EndsInLoss(std::string_view name) {
  for (const char* part : {"softmax", "logsumexp", "nll_loss"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// True if one operator on one line made several of the blocks, as in a loop over layers. Then each
// block was made from a different result.
bool RepeatsItself(const std::vector<const Life*>& family) {
  constexpr size_t kLeast = 3;
  std::map<uint32_t, size_t> by_site;
  return std::ranges::any_of(family,
                             [&](const Life* life) { return ++by_site[life->site] >= kLeast; });
}

// True if one_hot(...).float() may have made the block: it fills 64-bit integers with zeros, and
// the function's next operation converts them.
bool MayBeOneHot(const FailureMoment& moment, const Made& made) {
  const SiteDetail& site = moment.detail().sites[made.site];
  if (OperatorName(site).find("zeros") == std::string_view::npos || site.own.empty()) return false;
  const auto converts = [&](const SiteDetail& next, uint64_t size) {
    return OperatorName(next) == "_to_copy" && size < made.size && !next.own.empty() &&
           next.own.back().function == site.own.back().function;
  };
  auto life = std::ranges::upper_bound(moment.detail().lives, made.birth, {}, &Life::birth);
  for (; life != moment.detail().lives.end() && life->birth < moment.event(); ++life) {
    if (!life->tensor || life->pending || life->size * 8 < made.size) continue;
    return converts(moment.site_of(*life), life->size);
  }
  return converts(moment.request_site(), moment.requested());
}

// True if cross_entropy() itself computes the loss, so that another operator would not make fewer
// copies.
bool IsOfCrossEntropy(const FailureMoment& moment, const std::vector<const Life*>& family) {
  const auto is_of = [&](const SiteDetail& site) {
    return Mentions(site.operation, "cross_entropy") ||
           std::ranges::any_of(site.frames, [&](uint32_t frame) {
             return Mentions(moment.detail().frames[frame], "cross_entropy");
           });
  };
  return is_of(moment.request_site()) || std::ranges::any_of(family, [&](const Life* life) {
           return is_of(moment.site_of(*life));
         });
}

// Returns "64.0 MiB each" or "from 32.0 MiB to 64.0 MiB each": the sizes of the copies that are
// live, and of the request if it is for one more.
std::string SizesOf(const FailureMoment& moment, const Made& made,
                    const std::vector<const Life*>& family) {
  constexpr uint64_t kMuch = 10;
  const bool joins = WithRequest(moment, made, family) > BytesOf(family);
  uint64_t least = joins ? moment.requested() : kStillLive;
  uint64_t most = joins ? moment.requested() : 0;
  for (const Life* life : family) {
    least = std::min(least, life->size);
    most = std::max(most, life->size);
  }
  const std::string each = AdviceText(most) + " each";
  return most - least <= most / kMuch ? each : "from " + AdviceText(least) + " to " + each;
}

// Returns the copies that variables of running functions hold, according to a census. An operator
// may have saved some of them, too.
std::vector<const Life*> OfVariables(const FailureMoment& moment,
                                     const std::vector<const Life*>& family) {
  std::vector<const Life*> copies;
  for (const Life* life : family) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_other = block != nullptr && block->role == "other" && !IsInGraph(*block);
    if (is_other && IsLocal(block->holder)) copies.push_back(life);
  }
  return copies;
}

// Says what to do about the copies that a loss makes.
void DescribeLoss(const FailureMoment& moment, const std::vector<const Life*>& family,
                  Cause* cause) {
  cause->action =
      "Compute the loss in " + std::to_string(kPieces) +
      " pieces (split() the input of the last layer, and call backward() for each piece)";
  cause->action += IsOfCrossEntropy(moment, family)
                       ? "."
                       : ", or use one operator that makes no copies (nn.functional.cross_entropy, "
                         "with label_smoothing).";
  const std::vector<const Life*> copies = OfVariables(moment, family);
  if (copies.empty() || !moment.request_site().in_backward) return;
  std::string names;
  for (const HolderFacts& owner : moment.holders().OfAll(copies)) {
    names += (names.empty() ? "" : ", ") + owner.holder;
  }
  cause->action += " Variables hold " + AdviceText(BytesOf(copies)) + " of it (" + names +
                   "): delete them before the backward pass (del), which frees what no operator "
                   "has saved for it.";
}

// Finds a result over a large vocabulary, and the copies that a loss makes of it.
Found FindCopiesOfOne(const FailureMoment& moment) {
  const std::optional<Made> made = FirstLarge(moment);
  if (!made.has_value()) return std::nullopt;
  const Before before = WhatWasThere(moment, *made);
  if (before.largest_of_pass == 0 || before.largest_of_pass * 4 > made->size) return std::nullopt;
  const std::string_view name = OperatorName(moment.detail().sites[made->site]);
  if (name.find("conv") != std::string_view::npos) return std::nullopt;
  const std::vector<const Life*> family = FamilyOf(moment, *made);
  const uint64_t bytes = WithRequest(moment, *made, family);
  std::vector<const Life*> steps;
  if (RepeatsItself(family)) return std::nullopt;
  bool has_loss = IsStepOfLoss(OperatorName(moment.request_site()));
  const bool is_one_hot = MayBeOneHot(moment, *made);
  bool ends_in_loss = EndsInLoss(OperatorName(moment.request_site()));
  for (const Life* life : family) {
    const std::string_view follower = OperatorName(moment.site_of(*life));
    has_loss |= IsStepOfLoss(follower);
    ends_in_loss |= EndsInLoss(follower);
    if (life->birth == made->birth) continue;
    if (IsProduct(follower) || follower == "addmm" || follower == "linear") return std::nullopt;
    steps.push_back(life);
  }
  // One-hot vectors are 64-bit integers first, and then half as large.
  const uint64_t least = is_one_hot ? made->size + made->size / 2 : made->size * 2;
  if (!has_loss || bytes < least) return std::nullopt;
  Cause cause;
  cause.bytes = bytes - bytes / kPieces;
  cause.change = InPieces(moment, *made, family, kPieces);
  cause.held = family;
  cause.is_estimate = true;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.title = "Several copies of one large result, " + SizesOf(moment, *made, family) +
                ", are live at once";
  const bool asks =
      moment.requested() * kFollows >= made->size && !moment.request_site().in_backward;
  cause.place = asks            ? PlaceOfRequest(moment)
                : steps.empty() ? LineOf(moment, *made)
                                : PlaceInProgram(moment, steps);
  cause.evidence = std::string(name) + " made " + AdviceText(made->size) + " at " +
                   LineOf(moment, *made) + ", " +
                   std::to_string(made->size / before.largest_of_pass) +
                   " times as large as its input; together with the results that are computed from "
                   "it, these are " +
                   AdviceText(bytes) + ": " + LargestPlaces(moment.detail(), family) + ".";
  cause.cost = "A loop over pieces.";
  const std::string pieces = std::to_string(kPieces) + " pieces";
  if (!ends_in_loss) {
    cause.action =
        "Work in " + pieces + " (split() the input), and in place where that is possible.";
    if (is_one_hot) {
      cause.place = LineOf(moment, *made);
      cause.action =
          "If these are one-hot vectors, avoid them: select rows by their indices (gather(), "
          "index_select()), and add to them by their indices (index_add_(), scatter_add_()). "
          "Otherwise work in " +
          pieces + ".";
    }
    return cause;
  }
  DescribeLoss(moment, family, &cause);
  return cause;
}

}  // namespace

constinit const Rule kCopiesOfOne = {
    .rank = Rank::kTrade,
    .meaning = "several copies of one large result",
    .help =
        "One result is at least four times as large as its input, and the steps of a loss "
        "(softmax, a conversion, one-hot vectors) make copies of it. Compute the loss in pieces, "
        "or with one operation that makes no copies.",
    .needs = {kNeedsCallStacks},
    .cause = FindCopiesOfOne,
};

}  // namespace vramstow
