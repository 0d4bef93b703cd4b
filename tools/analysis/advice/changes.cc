#include "tools/analysis/advice/changes.h"

#include <algorithm>

namespace vramstow {
namespace {

uint32_t LifeNumber(const Detail& detail, const Life* life) {
  return static_cast<uint32_t>(life - detail.lives.data());
}

uint64_t AskedFor(const Life& life) { return life.requested != 0 ? life.requested : life.size; }

LifeChange FreedAt(const Detail& detail, const Life* life, uint64_t event) {
  return {.life = LifeNumber(detail, life), .bytes = AskedFor(*life), .end = event};
}

}  // namespace

Change Without(const Detail& detail, const std::vector<const Life*>& lives) {
  Change change;
  for (const Life* life : lives) change.lives.push_back({.life = LifeNumber(detail, life)});
  return change;
}

Change FreedBefore(const Detail& detail, const std::vector<const Life*>& lives, uint64_t event) {
  Change change;
  for (const Life* life : lives) change.lives.push_back(FreedAt(detail, life, event));
  return change;
}

Change FreedWithPass(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  Change change;
  for (const Life* life : lives) {
    const int64_t pass = moment.PassOf(*life);
    if (pass < 0) continue;
    const uint64_t end = moment.passes().all()[static_cast<size_t>(pass)].end;
    change.lives.push_back(FreedAt(moment.detail(), life, end));
  }
  return change;
}

Change FreedWithTurn(const FailureMoment& moment, const std::vector<const Life*>& lives,
                     const std::vector<uint64_t>& turns) {
  Change change;
  for (const Life* life : lives) {
    const auto next = std::ranges::upper_bound(turns, life->birth);
    if (next != turns.end()) change.lives.push_back(FreedAt(moment.detail(), life, *next));
  }
  return change;
}

Change Resized(const Detail& detail, const std::vector<const Life*>& lives, uint64_t bytes) {
  Change change;
  for (const Life* life : lives) {
    change.lives.push_back({.life = LifeNumber(detail, life), .bytes = bytes});
  }
  return change;
}

Change InParts(const Detail& detail, const std::vector<const Life*>& lives, uint64_t parts) {
  Change change;
  for (const Life* life : lives) {
    change.lives.push_back(
        {.life = LifeNumber(detail, life), .bytes = (AskedFor(*life) + parts - 1) / parts});
  }
  return change;
}

}  // namespace vramstow
