#include "tools/plan/fit_search.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"

namespace vramstow {
namespace {

// The state of a search. Values are counted in steps from the beginning of the range: the values
// below `low_` fit, and the values from `high_` on do not.
class Search {
 public:
  Search(const FitRange& range, const std::optional<FitLine>& line, uint64_t capacity)
      : range_(range), end_((range.to - range.from) / range.step + 1), capacity_(capacity) {
    result_.line = line;
  }

  absl::StatusOr<FitResult> Run(const FitTry& attempt) {
    // The search begins with the smallest value, because it shows whether any value can fit.
    for (std::optional<uint64_t> next = 0; next.has_value(); next = Next()) {
      const absl::StatusOr<FitRun> run = attempt(ValueOf(*next));
      if (absl::IsCancelled(run.status())) {
        result_.interrupted = true;
        break;
      }
      if (!run.ok()) return run.status();
      result_.runs.push_back(*run);
      capacity_ = run->capacity;
      const uint64_t open_before = open();
      if (run->fits) {
        low_ = *next + 1;
        Learn(*run);
      } else {
        high_ = *next;
      }
      if (was_guess_ && 2 * open() > open_before) {
        ++slow_guesses_;
        ++all_slow_guesses_;
      }
    }
    if (low_ > 0) result_.largest = ValueOf(low_ - 1);
    result_.at_end = low_ == end_;
    return std::move(result_);
  }

 private:
  uint64_t ValueOf(uint64_t step) const { return range_.from + step * range_.step; }
  uint64_t high() const { return std::min(high_, end_); }
  // Returns how many values are still undecided.
  uint64_t open() const { return high() - std::min(high(), low_); }

  std::optional<uint64_t> Next() {
    if (low_ >= high()) return std::nullopt;
    const uint64_t first = low_;
    const uint64_t last = high() - 1;
    if (result_.runs.size() >= kLeastAlike && AreAlike()) {
      constexpr uint64_t kFar = 64;
      result_.is_flat = result_.runs.size() > kLeastAlike;
      if (result_.is_flat) return std::nullopt;
      return std::clamp(kFar * low_, first, last);
    }
    if (const auto predicted = Predicted()) {
      // First tries a value that the line predicts to fit, then one that it predicts not to fit;
      // otherwise bisects. A guess narrows the range from one side only, so after two guesses that
      // narrowed it by less than half, the search bisects. Peaks that grow by whole segments make
      // the line useless near the limit: after some more such guesses, it only bisects.
      constexpr int kMaxSlowGuesses = 2;
      constexpr int kMaxAllSlowGuesses = 3;
      const bool is_useless = all_slow_guesses_ >= kMaxAllSlowGuesses && high_ < end_;
      if (slow_guesses_ < kMaxSlowGuesses && !is_useless) {
        was_guess_ = true;
        return std::clamp(*predicted, first, last);
      }
    }
    was_guess_ = false;
    slow_guesses_ = 0;
    if (high_ >= end_ && result_.runs.size() < 3) return std::min(last, 2 * low_);
    return first + (last - first) / 2;
  }

  std::optional<uint64_t> Predicted() const {
    if (!result_.line.has_value()) return std::nullopt;
    const auto value = result_.line->LargestWithin(capacity_);
    if (!value.has_value()) return std::nullopt;
    return *value < range_.from ? 0 : (*value - range_.from) / range_.step;
  }

  // True if all values so far fit and have the same peaks. If a value matters, at least the
  // requested bytes differ, even where blocks and segments are rounded to the same sizes.
  bool AreAlike() const {
    const FitRun& first = result_.runs.front();
    return std::ranges::all_of(result_.runs, [&](const FitRun& run) {
      return run.fits && run.peak_reserved == first.peak_reserved &&
             run.peak_allocated == first.peak_allocated &&
             run.peak_requested == first.peak_requested;
    });
  }

  // Computes the line through the two largest values that fit.
  void Learn(const FitRun& run) {
    if (const FitRun* other = best_.has_value() ? &*best_ : nullptr; other != nullptr) {
      if (const auto line =
              LineThrough(other->value, other->peak_reserved, run.value, run.peak_reserved)) {
        result_.line = line;
      }
    }
    best_ = run;
  }

  static constexpr size_t kLeastAlike = 3;

  const FitRange range_;
  const uint64_t end_;
  uint64_t capacity_;
  uint64_t low_ = 0;  // this many values from the first on are known to fit
  uint64_t high_ = ~uint64_t{0};
  bool was_guess_ = false;
  int slow_guesses_ = 0;  // guesses since the last bisection that did not halve the open range
  int all_slow_guesses_ = 0;
  std::optional<FitRun> best_;
  FitResult result_;
};

}  // namespace

std::optional<uint64_t> FitLine::LargestWithin(uint64_t capacity) const {
  if (slope <= 0) return std::nullopt;
  const double value = std::floor((static_cast<double>(capacity) - fixed) / slope);
  if (value < 0) return 0;
  constexpr double kMax = 1e18;
  return static_cast<uint64_t>(std::min(value, kMax));
}

std::optional<FitLine> LineThrough(uint64_t value_a, uint64_t bytes_a, uint64_t value_b,
                                   uint64_t bytes_b) {
  if (value_a > value_b) return LineThrough(value_b, bytes_b, value_a, bytes_a);
  if (value_a == value_b || bytes_b <= bytes_a) return std::nullopt;
  FitLine line;
  line.slope = static_cast<double>(bytes_b - bytes_a) / static_cast<double>(value_b - value_a);
  line.fixed = static_cast<double>(bytes_a) - line.slope * static_cast<double>(value_a);
  return line;
}

absl::StatusOr<FitResult> SearchLargest(const FitRange& range, const FitTry& attempt,
                                        const std::optional<FitLine>& line, uint64_t capacity) {
  return Search(range, line, capacity).Run(attempt);
}

}  // namespace vramstow
