#include "tools/analysis/fidelity/align.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace vramstow {
namespace {

// A range of the left sequence and a range of the right sequence, which are compared with each
// other.
struct Box {
  size_t left = 0;
  size_t left_end = 0;
  size_t right = 0;
  size_t right_end = 0;

  size_t left_size() const { return left_end - left; }
  size_t right_size() const { return right_end - right; }
};

// The number of elements to skip on each side after a difference.
struct Skip {
  size_t left = 0;
  size_t right = 0;
};

// Returns the nearest position after a difference where both sequences agree for a while, or up to
// the end of one of them. If there is no such position nearby, skips one element on each side.
Skip NextAgreement(std::span<const uint64_t> left, std::span<const uint64_t> right) {
  constexpr size_t kFar = 96;
  constexpr size_t kWhile = 4;
  const auto agree = [&](size_t i, size_t j) {
    const size_t most = std::min({kWhile, left.size() - i, right.size() - j});
    return most > 0 && std::ranges::equal(left.subspan(i, most), right.subspan(j, most));
  };
  for (size_t sum = 1; sum <= kFar; ++sum) {
    for (size_t i = 0; i <= sum; ++i) {
      if (i < left.size() && sum - i < right.size() && agree(i, sum - i)) return {i, sum - i};
    }
  }
  return {1, 1};
}

// Calls add(left, right) for each pair of a greedy alignment.
template <typename Add>
void AlignGreedily(std::span<const uint64_t> left, std::span<const uint64_t> right, Add add) {
  size_t i = 0;
  size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (left[i] == right[j]) {
      add(i++, j++);
      continue;
    }
    const Skip skip = NextAgreement(left.subspan(i), right.subspan(j));
    i += skip.left;
    j += skip.right;
  }
}

class Aligner {
 public:
  Aligner(std::span<const uint64_t> left, std::span<const uint64_t> right, uint64_t most_steps)
      : left_(left), right_(right), steps_left_(most_steps) {
    // Diagonals run from -(n + m) to n + m.
    const size_t diagonals = 2 * (left.size() + right.size()) + 3;
    forward_.resize(diagonals);
    backward_.resize(diagonals);
  }

  Alignment Run() {
    // A stack of pairs of ranges to compare. The next pair is the last one of the stack, so that
    // runs are found in order.
    std::vector<Box> open = {{0, left_.size(), 0, right_.size()}};
    while (!open.empty()) {
      Box box = open.back();
      open.pop_back();
      const size_t begin = CommonBegin(box);
      Add(box.left, box.right, begin);
      box.left += begin;
      box.right += begin;
      const size_t end = CommonEnd(box);
      if (end > 0) {
        open.push_back({box.left_end - end, box.left_end, box.right_end - end, box.right_end});
        box.left_end -= end;
        box.right_end -= end;
      }
      if (box.left_size() == 0 || box.right_size() == 0) continue;
      Snake snake;
      if (!FindMiddle(box, &snake)) {
        result_.is_longest = false;
        AlignGreedily(left_.subspan(box.left, box.left_size()),
                      right_.subspan(box.right, box.right_size()),
                      [&](size_t i, size_t j) { Add(box.left + i, box.right + j, 1); });
        continue;
      }
      open.push_back({snake.left_end, box.left_end, snake.right_end, box.right_end});
      open.push_back({snake.left, snake.left_end, snake.right, snake.right_end});
      open.push_back({box.left, snake.left, box.right, snake.right});
    }
    return std::move(result_);
  }

 private:
  using Snake = Box;  // equal from begin to end; may be empty

  size_t CommonBegin(const Box& box) const {
    const size_t most = std::min(box.left_size(), box.right_size());
    size_t count = 0;
    while (count < most && left_[box.left + count] == right_[box.right + count]) ++count;
    return count;
  }
  size_t CommonEnd(const Box& box) const {
    const size_t most = std::min(box.left_size(), box.right_size());
    size_t count = 0;
    while (count < most && left_[box.left_end - 1 - count] == right_[box.right_end - 1 - count]) {
      ++count;
    }
    return count;
  }

  void Add(size_t left, size_t right, size_t length) {
    if (length == 0) return;
    result_.matched += length;
    if (!result_.runs.empty()) {
      EqualRun& last = result_.runs.back();
      if (last.left_begin + last.length == left && last.right_begin + last.length == right) {
        last.length += length;
        return;
      }
    }
    result_.runs.push_back({left, right, length});
  }

  // Finds the middle of a shortest edit script of a box (two ranges) whose first and last elements
  // differ. Returns false if the search costs too much.
  bool FindMiddle(const Box& box, Snake* snake) {
    const auto n = static_cast<int64_t>(box.left_size());
    const auto m = static_cast<int64_t>(box.right_size());
    const int64_t delta = n - m;
    const bool odd = (delta & 1) != 0;
    for (int64_t cost = 0; cost <= (n + m + 1) / 2; ++cost) {
      const Diagonals now = DiagonalsOf(cost, n, m);
      const auto steps = static_cast<uint64_t>(now.last - now.first + 2);
      if (steps_left_ < steps) return false;
      steps_left_ -= steps;
      for (int64_t k = now.first; k <= now.last; k += 2) {
        int64_t x = Step(forward_, k, cost, n, m);
        const int64_t begin = x;
        while (InBox(x, x - k, n, m) && left_[box.left + x] == right_[box.right + (x - k)]) ++x;
        At(forward_, k) = x;
        const int64_t other = delta - k;
        if (odd && IsWithin(other, cost - 1, n, m) && x + At(backward_, other) >= n) {
          *snake = SnakeOf(box, begin, x, k);
          return true;
        }
      }
      for (int64_t k = now.first; k <= now.last; k += 2) {
        int64_t x = Step(backward_, k, cost, n, m);
        const int64_t begin = x;
        while (InBox(x, x - k, n, m) &&
               left_[box.left_end - 1 - x] == right_[box.right_end - 1 - (x - k)]) {
          ++x;
        }
        At(backward_, k) = x;
        const int64_t other = delta - k;
        if (!odd && IsWithin(other, cost, n, m) && x + At(forward_, other) >= n) {
          *snake = SnakeOf(box, n - x, n - begin, delta - k);
          return true;
        }
      }
    }
    return false;
  }

  // The diagonals on which a path of this cost may end, which are every other diagonal.
  struct Diagonals {
    int64_t first;
    int64_t last;
  };
  static Diagonals DiagonalsOf(int64_t cost, int64_t n, int64_t m) {
    const int64_t below = cost > m ? -m + ((cost - m) & 1) : -cost;
    const int64_t above = cost > n ? n - ((cost - n) & 1) : cost;
    return {below, above};
  }
  static bool IsWithin(int64_t k, int64_t cost, int64_t n, int64_t m) {
    if (cost < 0) return false;
    const Diagonals diagonals = DiagonalsOf(cost, n, m);
    return k >= diagonals.first && k <= diagonals.last;
  }
  int64_t& At(std::vector<int64_t>& reach, int64_t k) {
    return reach[static_cast<size_t>(k + static_cast<int64_t>(reach.size() / 2))];
  }

  // Returns how far a path of this cost gets on diagonal k, without the equal elements that follow.
  // Such a path is one step down or to the right from the best path of cost - 1. Returns kNowhere
  // if no such step lies within the box.
  int64_t Step(std::vector<int64_t>& reach, int64_t k, int64_t cost, int64_t n, int64_t m) {
    if (cost == 0) return 0;
    int64_t best = kNowhere;
    if (IsWithin(k + 1, cost - 1, n, m)) {
      const int64_t x = At(reach, k + 1);
      if (x - k <= m) best = x;
    }
    if (IsWithin(k - 1, cost - 1, n, m)) {
      const int64_t x = At(reach, k - 1) + 1;
      if (x <= n) best = std::max(best, x);
    }
    return best;
  }
  static bool InBox(int64_t x, int64_t y, int64_t n, int64_t m) {
    return x >= 0 && y >= 0 && x < n && y < m;
  }
  static Snake SnakeOf(const Box& box, int64_t begin, int64_t end, int64_t k) {
    return {box.left + static_cast<size_t>(begin), box.left + static_cast<size_t>(end),
            box.right + static_cast<size_t>(begin - k), box.right + static_cast<size_t>(end - k)};
  }

  static constexpr int64_t kNowhere = INT64_MIN / 4;

  const std::span<const uint64_t> left_;
  const std::span<const uint64_t> right_;
  uint64_t steps_left_;
  // The distances that a path of the current cost covers, from the beginning and from the end, by
  // diagonal.
  std::vector<int64_t> forward_;
  std::vector<int64_t> backward_;
  Alignment result_;
};

// Returns hashes of all stretches of `length` elements, by their begin.
std::vector<uint64_t> Stretches(std::span<const uint64_t> sequence, size_t length) {
  constexpr uint64_t kBase = 0x9E3779B97F4A7C15;
  std::vector<uint64_t> hashes;
  if (sequence.size() < length) return hashes;
  uint64_t power = 1;
  for (size_t i = 0; i < length; ++i) power *= kBase;
  uint64_t hash = 0;
  const auto mixed = [](uint64_t value) { return (value + 1) * 0xD6E8FEB86659FD93; };
  for (size_t i = 0; i < sequence.size(); ++i) {
    hash = hash * kBase + mixed(sequence[i]);
    if (i >= length) hash -= power * mixed(sequence[i - length]);
    if (i + 1 >= length) hashes.push_back(hash);
  }
  return hashes;
}

constexpr size_t kPlaceLength = 8;  // items of a stretch that shows where left begins or ends
constexpr size_t kMaxPlacesTried = 48;
constexpr size_t kMaxSkipped = 64;

// Returns the positions in right [first, last) where a stretch of left occurs.
std::vector<size_t> PlacesOf(std::span<const uint64_t> stretch, std::span<const uint64_t> right,
                             size_t first, size_t last) {
  std::vector<size_t> places;
  for (size_t i = first; i < last && i + stretch.size() <= right.size(); ++i) {
    if (std::ranges::equal(stretch, right.subspan(i, stretch.size()))) places.push_back(i);
    if (places.size() == kMaxPlacesTried) break;
  }
  return places;
}

constexpr uint64_t kMaxWindowSteps = 4'000'000;  // for the alignment of one window

// Returns the number of unmatched elements on both sides.
size_t LeftOver(std::span<const uint64_t> left, std::span<const uint64_t> right,
                SequenceWindow window) {
  const size_t size = window.end - window.begin;
  const Alignment alignment = Align(left, right.subspan(window.begin, size), kMaxWindowSteps);
  return left.size() + size - 2 * alignment.matched;
}

// Returns how far the match of a short stretch may extend from its known position, because elements
// may be inserted in it.
size_t ReachOf(std::span<const uint64_t> stretch) { return 4 * stretch.size() + 16; }

// Returns the position in `right` where the elements `first` begin, if they end at `end`.
size_t BestBegin(std::span<const uint64_t> first, std::span<const uint64_t> right, size_t end) {
  const size_t reach = ReachOf(first);
  size_t best = end > first.size() ? end - first.size() : 0;
  size_t least = LeftOver(first, right, {best, end});
  for (size_t begin = end > reach ? end - reach : 0; begin < end; ++begin) {
    const size_t over = LeftOver(first, right, {begin, end});
    if (over < least) best = begin;
    least = std::min(least, over);
  }
  return best;
}

// Returns the position in `right` where the elements `last` end, if they begin at `begin`.
size_t BestEnd(std::span<const uint64_t> last, std::span<const uint64_t> right, size_t begin) {
  const size_t most = std::min(right.size(), begin + ReachOf(last));
  size_t best = std::min(most, begin + last.size());
  size_t least = LeftOver(last, right, {begin, best});
  for (size_t end = begin + 1; end <= most; ++end) {
    const size_t over = LeftOver(last, right, {begin, end});
    if (over < least) best = end;
    least = std::min(least, over);
  }
  return best;
}

}  // namespace

Alignment Align(std::span<const uint64_t> left, std::span<const uint64_t> right,
                uint64_t most_steps) {
  return Aligner(left, right, most_steps).Run();
}

std::optional<SequenceWindow> FindWhole(std::span<const uint64_t> left,
                                        std::span<const uint64_t> right) {
  if (left.empty()) return std::nullopt;
  // Searches backwards, so that the last occurrence is found.
  const std::boyer_moore_searcher pattern(left.rbegin(), left.rend());
  const auto place = std::search(right.rbegin(), right.rend(), pattern);
  if (place == right.rend()) return std::nullopt;
  const auto end = static_cast<size_t>(right.rend() - place);
  return SequenceWindow{end - left.size(), end};
}

SequenceWindow FindWindow(std::span<const uint64_t> left, std::span<const uint64_t> right) {
  constexpr size_t kStretch = 24;
  constexpr size_t kBucket = 64;
  // A stretch that occurs in more positions than this is not used, because it is no evidence.
  constexpr size_t kMaxPlaces = 5000;
  constexpr uint64_t kMaxVotes = 200'000'000;
  const SequenceWindow all = {0, right.size()};
  const std::vector<uint64_t> wanted = Stretches(left, kStretch);
  const std::vector<uint64_t> found = Stretches(right, kStretch);
  if (wanted.empty() || found.empty()) return all;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> places;
  for (size_t i = 0; i < found.size(); ++i) {
    std::vector<uint32_t>& of_one = places[found[i]];
    if (of_one.size() <= kMaxPlaces) of_one.push_back(static_cast<uint32_t>(i));
  }
  // A diagonal is the position at which left would begin in right, shifted so that it is never
  // negative.
  std::vector<uint64_t> votes((left.size() + right.size()) / kBucket + 2);
  uint64_t spent = 0;
  for (size_t i = 0; i < wanted.size() && spent < kMaxVotes; ++i) {
    const auto at = places.find(wanted[i]);
    if (at == places.end() || at->second.size() > kMaxPlaces) continue;
    for (const uint32_t place : at->second) ++votes[(place + left.size() - i) / kBucket];
    spent += at->second.size();
  }
  // The votes of neighbouring buckets are added, because insertions and omissions shift the
  // following elements a little.
  constexpr size_t kNear = 4;
  uint64_t best = 0;
  size_t best_bucket = 0;
  for (size_t i = 0; i < votes.size(); ++i) {
    uint64_t sum = 0;
    for (size_t j = i; j < std::min(i + kNear, votes.size()); ++j) sum += votes[j];
    // If several sums are equal, the last one is used, because most recordings contain the end of a
    // run.
    if (sum >= best && sum > 0) best_bucket = i;
    best = std::max(best, sum);
  }
  if (best == 0) return all;
  const size_t room = kNear * kBucket + left.size() / 16;
  const size_t shifted = best_bucket * kBucket;
  const size_t begin = shifted > left.size() + room ? shifted - left.size() - room : 0;
  const size_t end = std::min(right.size(), shifted + kNear * kBucket + room);
  if (begin >= end) return all;
  return {begin, end};
}

SequenceWindow NarrowWindow(std::span<const uint64_t> left, std::span<const uint64_t> right,
                            SequenceWindow window) {
  constexpr size_t kMore = 512;
  if (left.size() < 2 * kPlaceLength || window.end - window.begin <= left.size()) return window;
  const size_t room = window.end - window.begin - left.size() + kMore;
  const Alignment whole =
      Align(left, right.subspan(window.begin, window.end - window.begin), kMaxWindowSteps);
  // If the sequences differ very much, judging windows would cost more than a simulated run.
  if (!whole.is_longest) return window;
  size_t least = LeftOver(left, right, window);
  SequenceWindow best = window;
  const auto consider = [&](SequenceWindow other) {
    if (other.begin >= other.end) return;
    const size_t over = LeftOver(left, right, other);
    if (over < least) best = other;
    least = std::min(least, over);
  };
  const size_t most_skipped = std::min(kMaxSkipped, left.size() - kPlaceLength);
  for (size_t skipped = 0; skipped <= most_skipped; skipped = 2 * skipped + 1) {
    const auto places = PlacesOf(left.subspan(skipped, kPlaceLength), right, window.begin + skipped,
                                 std::min(window.begin + room, window.end));
    const auto first = left.first(skipped + kPlaceLength);
    for (const size_t place : places) {
      consider({BestBegin(first, right, place + kPlaceLength), window.end});
    }
    if (!places.empty()) break;
  }
  const size_t begin = best.begin;
  for (size_t skipped = 0; skipped <= most_skipped; skipped = 2 * skipped + 1) {
    const auto last = left.last(skipped + kPlaceLength);
    const size_t from = window.end > room ? std::max(window.end - room, begin) : begin;
    const auto places = PlacesOf(last.first(kPlaceLength), right, from, window.end);
    for (const size_t place : places) consider({begin, BestEnd(last, right, place)});
    if (!places.empty()) break;
  }
  return best;
}

}  // namespace vramstow
