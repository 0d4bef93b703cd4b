#include "tools/analysis/advice/large_result.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"

namespace vramstow {
namespace {

bool Joins(const FailureMoment& moment, const Made& made) {
  return moment.requested() * kFollows >= made.size;
}

}  // namespace

std::optional<Made> FirstLarge(const FailureMoment& moment) {
  const SiteDetail& request = moment.request_site();
  const uint64_t begin = moment.pass_begin();
  const auto may_be = [](const SiteDetail& site) {
    return !site.in_backward && !site.in_optimizer && site.phase != Phase::kInit;
  };
  uint64_t largest = may_be(request) ? moment.requested() : 0;
  for (const Life* life : moment.live()) {
    if (life->birth >= begin && life->tensor && may_be(moment.site_of(*life))) {
      largest = std::max(largest, life->size);
    }
  }
  // A block that was freed before the next large block was allocated is not an input of that next
  // block.
  const Life* first = nullptr;
  uint64_t until = 0;
  auto life = std::ranges::lower_bound(moment.detail().lives, begin, {}, &Life::birth);
  for (; life != moment.detail().lives.end() && life->birth < moment.event(); ++life) {
    if (!life->tensor || life->pending || !may_be(moment.site_of(*life))) continue;
    if (life->size * 2 < largest) continue;
    if (life->birth > until) first = &*life;
    until = std::max(until, life->death);
  }
  if (first != nullptr && until >= moment.event()) {
    return Made{first->site, first->size, first->birth};
  }
  if (!may_be(request) || largest == 0) return std::nullopt;
  return Made{moment.failure().site_number, moment.requested(), moment.event()};
}

Before WhatWasThere(const FailureMoment& moment, const Made& made) {
  Before before;
  const uint64_t begin = moment.pass_begin();
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= made.birth) break;
    // A block that was freed just before the result was allocated may have been its input.
    if (!life.tensor || life.pending || !life.LivesAt(made.birth)) continue;
    before.largest = std::max(before.largest, life.size);
    before.all += life.size;
    if (life.birth >= begin) before.largest_of_pass = std::max(before.largest_of_pass, life.size);
  }
  return before;
}

std::vector<const Life*> FamilyOf(const FailureMoment& moment, const Made& made) {
  std::vector<const Life*> family;
  for (const Life* life : moment.live()) {
    if (life->birth < made.birth || !life->tensor) continue;
    if (life->size * kFollows >= made.size) family.push_back(life);
  }
  return family;
}

uint64_t WithRequest(const FailureMoment& moment, const Made& made,
                     const std::vector<const Life*>& family) {
  return BytesOf(family) + (Joins(moment, made) ? moment.requested() : 0);
}

Change InPieces(const FailureMoment& moment, const Made& made,
                const std::vector<const Life*>& family, uint64_t parts) {
  Change change = InParts(moment.detail(), family, parts);
  if (Joins(moment, made)) change.requested = moment.requested() / parts;
  return change;
}

std::string LineOf(const FailureMoment& moment, const Made& made) {
  return PlaceOf(moment.detail(), made.site);
}

bool IsProduct(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {"mm",      "bmm",   "matmul", "einsum",
                                                             "baddbmm", "outer", "ger"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace vramstow
