// One operation whose result is far larger than what goes into it, and what is made of that result.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/testimony.h"

namespace vramstow {
namespace {

constexpr uint64_t kPieces = 8;
constexpr uint64_t kStretched = 8;  // more than any conversion of numbers makes of a block
constexpr uint64_t kFollows = 4;    // what is at least this part of the result is made of it

template <size_t count>
bool IsOneOf(std::string_view name, const std::array<std::string_view, count>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Their result is as large as their inputs, unless those are stretched over one another.
bool IsElementwise(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "add",     "sub",  "rsub",        "mul",        "div",   "pow",        "where", "maximum",
      "minimum", "eq",   "ne",          "lt",         "le",    "gt",         "ge",    "bitwise_and",
      "atan2",   "fmod", "logical_and", "logical_or", "hypot", "bitwise_xor"};
  return IsOneOf(name, kNames);
}

bool IsProduct(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {"mm",      "bmm",   "matmul", "einsum",
                                                             "baddbmm", "outer", "ger"};
  return IsOneOf(name, kNames);
}

// By the operator, or by the function of PyTorch's that calls it.
bool IsDistance(const Scene& scene, const SiteDetail& site) {
  const auto is_one = [](std::string_view name) {
    return name.find("cdist") != std::string_view::npos || name.ends_with("pdist") ||
           name.find("euclidean_dist") != std::string_view::npos;
  };
  return is_one(OperatorName(site)) || std::ranges::any_of(site.frames, [&](uint32_t frame) {
           return is_one(scene.detail().frames[frame]);
         });
}

// What repeats its inputs: all of them that were there may have gone into it.
bool IsJoin(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "cat", "concat", "stack", "repeat", "repeat_interleave", "tile"};
  return IsOneOf(name, kNames);
}

// Steps of a loss, which each make a copy of the logits.
bool IsStepOfLoss(std::string_view name) {
  for (const char* part : {"softmax", "logsumexp", "scatter", "one_hot", "nll_loss", "_to_copy"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// Steps of a loss over classes: what comes out of them is one.
bool EndsInLoss(std::string_view name) {
  for (const char* part : {"softmax", "logsumexp", "nll_loss"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// Something that was made, or was to be made.
struct Made {
  uint32_t site = 0;
  uint64_t size = 0;
  uint64_t birth = 0;
};

// The first one in this pass that is about as large as the largest: the others may be made of it.
std::optional<Made> FirstLarge(const Scene& scene) {
  const SiteDetail& request = scene.request_site();
  const uint64_t begin = scene.pass_begin();
  const auto may_be = [](const SiteDetail& site) {
    return !site.in_backward && !site.in_optimizer && site.phase != Phase::kInit;
  };
  uint64_t largest = may_be(request) ? scene.requested() : 0;
  for (const Life* life : scene.live()) {
    if (life->birth >= begin && life->tensor && may_be(scene.site_of(*life))) {
      largest = std::max(largest, life->size);
    }
  }
  auto life = std::ranges::lower_bound(scene.detail().lives, begin, {}, &Life::birth);
  for (; life != scene.detail().lives.end() && life->birth < scene.event(); ++life) {
    if (!life->tensor || life->pending || !may_be(scene.site_of(*life))) continue;
    if (life->size * 2 >= largest) return Made{life->site, life->size, life->birth};
  }
  if (!may_be(request) || largest == 0) return std::nullopt;
  return Made{scene.failure().site_number, scene.requested(), scene.event()};
}

// Tensors that were there when it was made.
struct Before {
  uint64_t largest = 0;
  uint64_t largest_of_pass = 0;
  uint64_t all = 0;
};

Before WhatWasThere(const Scene& scene, const Made& made) {
  Before before;
  const uint64_t begin = scene.pass_begin();
  for (const Life& life : scene.detail().lives) {
    if (life.birth >= made.birth) break;
    // What was freed a moment before may have gone into it.
    if (!life.tensor || life.pending || !life.LivesAt(made.birth)) continue;
    before.largest = std::max(before.largest, life.size);
    before.all += life.size;
    if (life.birth >= begin) before.largest_of_pass = std::max(before.largest_of_pass, life.size);
  }
  return before;
}

// [.., n, n] of a program's own product.
bool IsSquare(const Scene& scene, const Made& made) {
  constexpr uint64_t kLeast = 512;
  for (const Life* life : scene.live()) {
    if (life->birth != made.birth) continue;
    const HeldBlock* block = scene.holders().Of(*life);
    if (block == nullptr || block->role == "parameter") return false;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value() || words->shape.size() < 2) return false;
    const uint64_t last = words->shape.back();
    return last >= kLeast && last == words->shape[words->shape.size() - 2];
  }
  return false;
}

bool MakesPairs(const Scene& scene, const Made& made, const Before& before) {
  const SiteDetail& site = scene.detail().sites[made.site];
  const std::string_view name = OperatorName(site);
  if (before.all == 0) return false;
  const bool is_product = IsProduct(name) && site.is_own_call;
  const bool is_distance = IsDistance(scene, site);
  if (IsElementwise(name) || is_distance || is_product) {
    if (before.largest * kStretched <= made.size) return true;
  }
  if (is_product) return IsSquare(scene, made);
  // A module may make what a vocabulary has room for; a distance is always one of pairs.
  if (is_distance || IsElementwise(name)) {
    return before.largest_of_pass > 0 && before.largest_of_pass * kStretched <= made.size;
  }
  return IsJoin(name) && before.all * 4 <= made.size;
}

// What is there of it, and what was made of it.
std::vector<const Life*> FamilyOf(const Scene& scene, const Made& made) {
  std::vector<const Life*> family;
  for (const Life* life : scene.live()) {
    if (life->birth < made.birth || !life->tensor) continue;
    if (life->size * kFollows >= made.size) family.push_back(life);
  }
  return family;
}

bool Joins(const Scene& scene, const Made& made) {
  return scene.requested() * kFollows >= made.size;
}

uint64_t WithRequest(const Scene& scene, const Made& made, const std::vector<const Life*>& family) {
  return BytesOf(family) + (Joins(scene, made) ? scene.requested() : 0);
}

// The result, and what is made of it, each as one of so many parts.
Change InPieces(const Scene& scene, const Made& made, const std::vector<const Life*>& family,
                uint64_t parts) {
  Change change = InParts(scene.detail(), family, parts);
  if (Joins(scene, made)) change.requested = scene.requested() / parts;
  return change;
}

std::string LineOf(const Scene& scene, const Made& made) {
  return PlaceOf(scene.detail(), made.site);
}

}  // namespace

Found Broadcast(const Scene& scene) {
  const std::optional<Made> made = FirstLarge(scene);
  if (!made.has_value()) return std::nullopt;
  const Before before = WhatWasThere(scene, *made);
  if (!MakesPairs(scene, *made, before) || AttentionScores(scene).has_value()) return std::nullopt;
  const std::vector<const Life*> family = FamilyOf(scene, *made);
  const uint64_t bytes = WithRequest(scene, *made, family);
  Cause cause;
  cause.id = "broadcast";
  cause.title = "One operation makes all pairs of its inputs";
  const uint64_t left = std::max<uint64_t>(1, std::min(bytes / kPieces, before.largest));
  cause.bytes = bytes - left;
  cause.change = InPieces(scene, *made, family, bytes / left);
  cause.held = family;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  const SiteDetail& site = scene.detail().sites[made->site];
  const std::string name(OperatorName(site));
  cause.place = LineOf(scene, *made);
  const bool is_request = made->birth == scene.event();
  cause.evidence = name + (is_request ? " asked for " : " made ") + AdviceText(made->size);
  if (before.largest * kStretched <= made->size) {
    cause.evidence += ", and no tensor that was there has more than " + AdviceText(before.largest);
  }
  cause.evidence += ": each of one input meets each of the other, as (n, 1) and (n) become (n, n).";
  if (family.size() > 1 || (!is_request && bytes > made->size)) {
    cause.evidence += " With what is made of it that is " + AdviceText(bytes) + ": " +
                      LargestPlaces(scene.detail(), family.empty() ? scene.live() : family) + ".";
  }
  cause.cost = "None, if it was not meant; else a loop over pieces.";
  cause.action =
      "Compare the shapes at this line. If all pairs are wanted: piece by piece (split() one of "
      "the inputs, and reduce each piece at once), or fewer of them.";
  return cause;
}

// Several that one operator made on one line: each of another result, in a loop over layers.
bool RepeatsItself(const std::vector<const Life*>& family) {
  constexpr size_t kLeast = 3;
  std::map<uint32_t, size_t> by_site;
  return std::ranges::any_of(family,
                             [&](const Life* life) { return ++by_site[life->site] >= kLeast; });
}

// Whole numbers are set to zero, and the next thing that the function does is to convert them: so
// one_hot(...).float() does it.
bool MayBeOneHot(const Scene& scene, const Made& made) {
  const SiteDetail& site = scene.detail().sites[made.site];
  if (OperatorName(site).find("zeros") == std::string_view::npos || site.own.empty()) return false;
  const auto converts = [&](const SiteDetail& next, uint64_t size) {
    return OperatorName(next) == "_to_copy" && size < made.size && !next.own.empty() &&
           next.own.back().function == site.own.back().function;
  };
  auto life = std::ranges::upper_bound(scene.detail().lives, made.birth, {}, &Life::birth);
  for (; life != scene.detail().lives.end() && life->birth < scene.event(); ++life) {
    if (!life->tensor || life->pending || life->size * 8 < made.size) continue;
    return converts(scene.site_of(*life), life->size);
  }
  return converts(scene.request_site(), scene.requested());
}

// A result over a large vocabulary, and what a loss makes of it.
Found CopiesOfOne(const Scene& scene) {
  const std::optional<Made> made = FirstLarge(scene);
  if (!made.has_value()) return std::nullopt;
  const Before before = WhatWasThere(scene, *made);
  if (before.largest_of_pass == 0 || before.largest_of_pass * 4 > made->size) return std::nullopt;
  const std::string_view name = OperatorName(scene.detail().sites[made->site]);
  if (name.find("conv") != std::string_view::npos) return std::nullopt;
  const std::vector<const Life*> family = FamilyOf(scene, *made);
  const uint64_t bytes = WithRequest(scene, *made, family);
  std::vector<const Life*> steps;
  if (RepeatsItself(family)) return std::nullopt;
  bool has_loss = IsStepOfLoss(OperatorName(scene.request_site()));
  const bool is_one_hot = MayBeOneHot(scene, *made);
  bool ends_in_loss = EndsInLoss(OperatorName(scene.request_site()));
  for (const Life* life : family) {
    const std::string_view follower = OperatorName(scene.site_of(*life));
    has_loss |= IsStepOfLoss(follower);
    ends_in_loss |= EndsInLoss(follower);
    if (life->birth == made->birth) continue;
    if (IsProduct(follower) || follower == "addmm" || follower == "linear") return std::nullopt;
    steps.push_back(life);
  }
  // One-hot vectors are whole numbers of 64 bits first, and then half as large.
  const uint64_t least = is_one_hot ? made->size + made->size / 2 : made->size * 2;
  if (!has_loss || bytes < least) return std::nullopt;
  Cause cause;
  cause.id = "large_request";
  cause.bytes = bytes - bytes / kPieces;
  cause.change = InPieces(scene, *made, family, kPieces);
  cause.held = family;
  cause.is_estimate = true;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.title =
      "Several copies of one large result are there at once: " + AdviceText(made->size) + " each";
  const bool asks = scene.requested() * kFollows >= made->size && !scene.request_site().in_backward;
  cause.place = asks            ? PlaceOfRequest(scene)
                : steps.empty() ? LineOf(scene, *made)
                                : PlaceInProgram(scene, steps);
  cause.evidence = std::string(name) + " made " + AdviceText(made->size) + " at " +
                   LineOf(scene, *made) + ", " +
                   std::to_string(made->size / before.largest_of_pass) +
                   " times what went into it; with what is made of it that is " +
                   AdviceText(bytes) + ": " + LargestPlaces(scene.detail(), family) + ".";
  cause.cost = "A loop over pieces.";
  const std::string pieces = std::to_string(kPieces) + " pieces";
  if (!ends_in_loss) {
    cause.action = "Do it in " + pieces + " (split() the input), and in place where it can be.";
    if (is_one_hot) {
      cause.place = LineOf(scene, *made);
      cause.action =
          "If these are one-hot vectors, do without them: take rows by their numbers (gather(), "
          "index_select()), and add to "
          "them by their numbers (index_add_(), scatter_add_()). Else in " +
          pieces + ".";
    }
    return cause;
  }
  cause.action =
      "Compute the loss of " + pieces +
      " (split() what goes into the last layer, backward() for each piece), or use one "
      "operator that makes no copies (nn.functional.cross_entropy, with label_smoothing).";
  return cause;
}

}  // namespace vramstow
