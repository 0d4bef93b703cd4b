// A cause of an out-of-memory: a checkpoint that recomputes too much in one piece.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/layers.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr size_t kLeastRecomputed = 3;
constexpr uint64_t kMaxCheckpoints = 16;
constexpr uint64_t kLargeRecomputedPart = 4;  // 1/4 of the live bytes

// The results that the forward pass of this step made in checkpoints and freed.
struct FirstTime {
  uint64_t bytes = 0;
  std::string place;  // the program's line that calls the checkpoint, if any
};

FirstTime MadeTheFirstTime(const FailureMoment& moment) {
  FirstTime first;
  const uint64_t begin = moment.pass_begin();
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.event()) break;
    const SiteDetail& site = moment.site_of(life);
    if (!life.tensor || life.birth < begin || site.in_backward) continue;
    if (!RunsInCheckpoint(moment.detail(), site)) continue;
    first.bytes += life.size;
    if (!site.own.empty()) first.place = moment.detail().lines[site.own.back().text];
  }
  return first;
}

// Returns the number of pieces into which the recomputed work should be divided. Until a piece is
// recomputed as a whole, its input must be stored. The memory of one piece and of all stored inputs
// together is smallest if both need the same. More pieces are used if fewer would not save
// `lacking` bytes.
uint64_t PiecesOf(uint64_t all, uint64_t input, uint64_t lacking) {
  uint64_t pieces = 2;
  const auto has_more = [&] {
    return pieces * pieces * 4 * input <= all || all - all / pieces < lacking;
  };
  while (pieces < kMaxCheckpoints && has_more()) pieces *= 2;
  return pieces;
}

uint64_t MedianSize(std::vector<const Life*> lives) {
  const auto middle = lives.begin() + static_cast<ptrdiff_t>(lives.size() / 2);
  std::ranges::nth_element(lives, middle, {}, &Life::size);
  return (*middle)->size;
}

Found FindRecomputation(const FailureMoment& moment) {
  Cause cause;
  for (const Life* life : moment.live()) {
    if (IsRecomputed(moment, *life)) cause.held.push_back(life);
  }
  const uint64_t made = BytesOf(cause.held);
  if (cause.held.size() < kLeastRecomputed || made * kLargeRecomputedPart < moment.live_bytes()) {
    return std::nullopt;
  }
  // A checkpoint around one layer cannot be divided.
  if (CountLayers(moment.detail(), cause.held) < 2) return std::nullopt;
  // If one checkpoint contains the whole forward pass, the recomputation continues until all
  // results of the forward pass are live again.
  const FirstTime first = MadeTheFirstTime(moment);
  const uint64_t all = made * 2 >= first.bytes ? std::max(made, first.bytes) : made;
  const uint64_t input = MedianSize(cause.held);
  const uint64_t pieces = PiecesOf(all, input, moment.lacking());
  const uint64_t left = all / pieces + (pieces - 1) * input;
  cause.bytes = all - std::min(all, left);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.is_estimate = true;
  cause.change = InParts(moment.detail(), cause.held, pieces);
  cause.change.lives.front().bytes += (pieces - 1) * input;  // the inputs of the other pieces stay
  cause.change.spared_later = all - made;
  cause.title = "One checkpoint recomputes too much at once";
  cause.place = CommonPlace(moment.detail(), cause.held, false);
  if (cause.place.empty()) cause.place = first.place;
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence = AdviceText(made) +
                   " were recomputed in the backward pass, all for one checkpoint: " +
                   LargestPlaces(moment.detail(), cause.held) +
                   ". A checkpoint around everything saves nothing at that moment.";
  cause.cost = "The inputs of each piece are stored; no more is computed.";
  cause.action = "Put a checkpoint around each of " + std::to_string(pieces) +
                 " or more pieces (each few layers), instead of one around all: "
                 "torch.utils.checkpoint.checkpoint_sequential(layers, " +
                 std::to_string(pieces) + ", x).";
  // A hook of the checkpoint holds these blocks, so the program cannot release them.
  cause.held.clear();
  return cause;
}

}  // namespace

constinit const Rule kRecomputation = {
    .rank = Rank::kTrade,
    .meaning = "a checkpoint that recomputes too much at once",
    .help =
        "In the backward pass a checkpoint recomputes everything that it encloses, and all of that "
        "is live at once. Put checkpoints around each few layers.",
    .needs = {kNeedsBackwardPass, kNeedsRequestOfProgram},
    .cause = FindRecomputation,
};

}  // namespace vramstow
