// A cause of an out-of-memory: one operation that combines all pairs of its inputs, and the tensors
// made from its result.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/batch.h"
#include "tools/analysis/advice/large_result.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// A result counts as broadcast if it is at least this many times as large as its inputs. A
// conversion of numbers to another type enlarges a block less.
constexpr uint64_t kStretched = 8;

template <size_t count>
bool IsAmong(std::string_view name, const std::array<std::string_view, count>& names) {
  return std::ranges::find(names, name) != names.end();
}

// True for operations whose result is as large as their inputs, unless the inputs are broadcast.
bool IsElementwise(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "add",     "sub",  "rsub",        "mul",        "div",   "pow",        "where", "maximum",
      "minimum", "eq",   "ne",          "lt",         "le",    "gt",         "ge",    "bitwise_and",
      "atan2",   "fmod", "logical_and", "logical_or", "hypot", "bitwise_xor"};
  return IsAmong(name, kNames);
}

// True for a distance between all pairs, by the operator or by PyTorch's function that calls it.
bool IsDistance(const FailureMoment& moment, const SiteDetail& site) {
  const auto is_one = [](std::string_view name) {
    return name.find("cdist") != std::string_view::npos || name.ends_with("pdist") ||
           name.find("euclidean_dist") != std::string_view::npos;
  };
  return is_one(OperatorName(site)) || std::ranges::any_of(site.frames, [&](uint32_t frame) {
           return is_one(moment.detail().frames[frame]);
         });
}

// True for operations that concatenate or repeat their inputs. All tensors that were live may be
// parts of the result.
bool IsJoin(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "cat", "concat", "stack", "repeat", "repeat_interleave", "tile"};
  return IsAmong(name, kNames);
}

// True if the result is a square matrix [.., n, n] and no parameter.
bool IsSquare(const FailureMoment& moment, const Made& made) {
  constexpr uint64_t kLeast = 512;
  for (const Life* life : moment.live()) {
    if (life->birth != made.birth) continue;
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role == "parameter") return false;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value() || words->shape.size() < 2) return false;
    const uint64_t last = words->shape.back();
    return last >= kLeast && last == words->shape[words->shape.size() - 2];
  }
  return false;
}

// True for operations that create a matrix which is filled afterwards.
bool IsConstructor(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"zeros", "ones", "full",
                                                             "empty", "eye",  "zeros_symint"};
  return IsAmong(name, kNames);
}

// True for a square matrix whose side is as long as another tensor has rows: it has a number for
// each pair of rows.
bool IsMatrixOfPairs(const FailureMoment& moment, const Made& made) {
  uint64_t side = 0;
  std::set<uint64_t> rows;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role == "parameter") continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value() || words->shape.empty()) continue;
    const bool is_made = life->birth == made.birth;
    if (is_made && words->shape.size() == 2 && words->shape[0] == words->shape[1]) {
      side = words->shape[0];
    } else if (!is_made) {
      rows.insert(words->shape.front());
    }
  }
  return side != 0 && rows.contains(side);
}

// True for operations that copy their input once for each repetition. A reshape() or
// repeat_interleave() of an expanded view makes a clone that is much larger than any earlier
// tensor.
bool IsRepetition(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"repeat", "repeat_interleave", "tile",
                                                             "clone"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool MakesPairs(const FailureMoment& moment, const Made& made, const Before& before) {
  const SiteDetail& site = moment.detail().sites[made.site];
  const std::string_view name = OperatorName(site);
  if (before.all == 0) return false;
  const bool is_product = IsProduct(name) && site.is_own_call;
  const bool is_distance = IsDistance(moment, site);
  if (IsElementwise(name) || is_distance || is_product) {
    if (before.largest * kStretched <= made.size) return true;
  }
  // The product of two square matrices has the size of one of them. So it cannot be many times as
  // large as earlier tensors, and it is enough that it is larger than each of them.
  if (is_product) return before.largest < made.size && IsSquare(moment, made);
  if (name == "clone") return site.is_own_call && before.largest * kStretched <= made.size;
  if (IsConstructor(name)) {
    return site.is_own_call && before.largest * kStretched <= made.size &&
           IsMatrixOfPairs(moment, made);
  }
  // Other tensors of the process, like a vocabulary, may be larger, so the result is compared with
  // the tensors of this iteration.
  if (is_distance || IsElementwise(name)) {
    return before.largest_of_pass > 0 && before.largest_of_pass * kStretched <= made.size;
  }
  return IsJoin(name) && before.all * 4 <= made.size;
}

void DescribeRepetition(const std::string& name, Cause* cause) {
  cause->title = "A tensor is copied for each repetition";
  cause->evidence += ": " + name + " copies its input once for each repetition.";
  cause->cost = "None.";
  cause->action =
      "Use expand() instead of repeat(): it provides the same numbers without a copy, and "
      "operations broadcast. For keys and values that heads share, call "
      "scaled_dot_product_attention(..., enable_gqa=True), or group the queries.";
}

void DescribeMatrix(Cause* cause) {
  cause->title = "A dense matrix contains a number for each pair";
  cause->evidence += ": its two sides are as long as the data.";
  cause->cost = "None, if most of its numbers are 0; otherwise a loop over pieces.";
  cause->action =
      "Store only the pairs that exist: add along the edges (index_add(), scatter_add()), or use a "
      "sparse matrix (torch.sparse_coo_tensor()). Otherwise compute some rows at a time.";
}

bool IsInModule(const SiteDetail& site) { return !site.module.empty() || !site.classes.empty(); }

// True if most tensors that follow from the result were allocated in modules. Then the result is a
// batch, for example of many steps of one picture.
bool IsBatchOfModel(const FailureMoment& moment, const Made& made,
                    const std::vector<const Life*>& family) {
  if (IsInModule(moment.detail().sites[made.site])) return false;
  uint64_t by_modules = 0;
  for (const Life* life : family) {
    if (IsInModule(moment.site_of(*life))) by_modules += life->size;
  }
  return by_modules * 2 > BytesOf(family);
}

// True for functions like "boxes.py:327 _box_inter_union", which compares the boxes of a picture
// with all anchors.
bool ComparesBoxes(const FailureMoment& moment, const Made& made) {
  const SiteDetail& site = moment.detail().sites[made.site];
  return std::ranges::any_of(site.frames, [&](uint32_t number) {
    const std::string frame = absl::AsciiStrToLower(moment.detail().frames[number]);
    return absl::StrContains(frame, "iou") || absl::StrContains(frame, "box_inter");
  });
}

void DescribeBoxes(Cause* cause) {
  cause->title = "All boxes of an image are compared with all others";
  cause->cost = "A loop over pieces, for a few images.";
  cause->action =
      "Find the image with the most boxes. Sample or drop some of its boxes, cut it into tiles, "
      "compare some of the boxes at a time (split()), or match them on the host (.cpu()).";
}

void DescribeBatch(Cause* cause) {
  cause->title = "A line makes a large batch from a small input, and a model computes all of it";
  cause->cost = "A loop over pieces.";
  cause->action =
      "Give the model a part of this batch at a time, and add up the results (for attributions of "
      "Captum: internal_batch_size).";
}

// True for scores of all classes, and the logarithms that a loss computes from them.
bool IsOfLoss(const FailureMoment& moment, const std::vector<const Life*>& family) {
  const auto is_one = [&](const SiteDetail& site) {
    const std::string_view name = OperatorName(site);
    return name.find("log_softmax") != std::string_view::npos ||
           name.find("nll_loss") != std::string_view::npos ||
           name.find("cross_entropy") != std::string_view::npos;
  };
  return is_one(moment.request_site()) || std::ranges::any_of(family, [&](const Life* life) {
           return is_one(moment.site_of(*life));
         });
}

void DescribeLoss(Cause* cause) {
  cause->title = "A loss needs the scores of all classes for each position";
  cause->cost = "A loop over pieces; if only some classes are used, another loss.";
  cause->action =
      "Compute the scores and the loss of some positions at a time, each part under "
      "torch.utils.checkpoint, or compare with the right class and a few others only (sampled "
      "softmax).";
}

Found FindBroadcast(const FailureMoment& moment) {
  const std::optional<Made> made = FirstLarge(moment);
  if (!made.has_value()) return std::nullopt;
  const Before before = WhatWasThere(moment, *made);
  if (!MakesPairs(moment, *made, before) || IsFound(moment, {AdviceId::kAttentionScores}))
    return std::nullopt;
  const std::vector<const Life*> family = FamilyOf(moment, *made);
  const uint64_t bytes = WithRequest(moment, *made, family);
  Cause cause;
  cause.title = "One operation computes all pairs of its inputs";
  const uint64_t left = std::max<uint64_t>(1, std::min(bytes / kPieces, before.largest));
  cause.bytes = bytes - left;
  cause.change = InPieces(moment, *made, family, bytes / left);
  cause.held = family;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  const SiteDetail& site = moment.detail().sites[made->site];
  const std::string name(OperatorName(site));
  cause.place = LineOf(moment, *made);
  const bool is_request = made->birth == moment.event();
  cause.evidence = name + (is_request ? " asked for " : " made ") + AdviceText(made->size);
  if (before.largest * kStretched <= made->size) {
    cause.evidence += ", and no existing tensor has more than " + AdviceText(before.largest);
  }
  if (IsRepetition(name)) {
    DescribeRepetition(name, &cause);
    return cause;
  }
  if (IsConstructor(name)) {
    DescribeMatrix(&cause);
    return cause;
  }
  cause.evidence +=
      ": each number of one input is combined with each number of the other, as (n, 1) and (n) "
      "become (n, n).";
  if (family.size() > 1 || (!is_request && bytes > made->size)) {
    cause.evidence += " Together with the results that are computed from it, these are " +
                      AdviceText(bytes) + ": " +
                      LargestPlaces(moment.detail(), family.empty() ? moment.live() : family) + ".";
  }
  if (IsBatchOfModel(moment, *made, family)) {
    DescribeBatch(&cause);
    return cause;
  }
  if (ComparesBoxes(moment, *made)) {
    DescribeBoxes(&cause);
    return cause;
  }
  if (IsProduct(name) && IsOfLoss(moment, family)) {
    DescribeLoss(&cause);
    return cause;
  }
  cause.cost = "None, if it was not intended; otherwise a loop over pieces.";
  cause.action =
      "Compare the shapes at this line. If you need all pairs, compute them piece by piece "
      "(split() one of the inputs, and reduce each piece at once), or compute fewer of them.";
  if (name == "sub" || name == "pow") cause.action += " For distances call torch.cdist().";
  cause.action += IfPadded(moment, made->site, made->size);
  return cause;
}

}  // namespace

constinit const Rule kBroadcast = {
    .rank = Rank::kMistake,
    .meaning =
        "one operation that computes all pairs of its inputs, and the results that are computed "
        "from it",
    .help =
        "The result of an operation is at least eight times as large as any existing tensor: each "
        "number of one input is combined with each number of the other, as (n, 1) and (n) become "
        "(n, n). Often a shape is different from what was intended. If you need all pairs, work "
        "piece by piece and reduce each piece at once.",
    .needs = {kNeedsCallStacks},
    .cause = FindBroadcast,
};

}  // namespace vramstow
