#include "tools/plan/search.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

using Source = PlanRow::Source;

// If this many choices of a group fail for another reason than memory, the rest of the group is
// skipped.
constexpr size_t kMaxProblems = 2;
// The placeholder whose peak never falls when its value grows.
constexpr char kBatchName[] = "batch";

double ValueAt(const PlanRow& row, size_t axis) {
  return NumberOf(row.choice[axis].value).value_or(0);
}

// Returns the y of the point with this x on the line through the points (x_a, y_a) and (x_b, y_b).
double OnLine(double x, double x_a, double y_a, double x_b, double y_b) {
  return x_a == x_b ? y_a : y_a + (y_b - y_a) * (x - x_a) / (x_b - x_a);
}

class Searcher {
 public:
  Searcher(const PlanSpace& space, const PlanAttempt& attempt)
      : space_(space), attempt_(attempt), axis_(AxisOf(space.placeholders)) {}

  absl::StatusOr<PlanResult> Run() {
    for (const std::string& card : space_.cards) {
      for (std::vector<PlanRow>& group : GroupsOf(card)) {
        if (!stopped_) SearchGroup(group);
        std::ranges::move(group, std::back_inserter(result_.rows));
      }
    }
    while (!stopped_) {
      Order();
      PlanRow* best = result_.rows.empty() ? nullptr : &result_.rows.front();
      if (best == nullptr || !best->fits || best->source == Source::kRehearsed) break;
      Try(best);
    }
    if (!error_.ok() && !absl::IsCancelled(error_)) return error_;
    result_.interrupted = absl::IsCancelled(error_);
    for (PlanRow& row : result_.rows) {
      if (row.source != Source::kUnknown || !row.why_not.empty()) continue;
      row.not_reached = true;
      row.why_not = "The search did not get to it.";
    }
    Order();
    return std::move(result_);
  }

 private:
  // Returns the choices of one card in groups. The choices of a group differ only along the axis
  // and are in the order of its values. Without an axis, each choice is a group of its own.
  std::vector<std::vector<PlanRow>> GroupsOf(const std::string& card) const {
    std::vector<Placeholder> others = space_.placeholders;
    if (axis_.has_value()) others[*axis_].values = {""};
    std::vector<std::vector<PlanRow>> groups;
    for (const Choice& choice : AllChoices(others)) {
      std::vector<PlanRow>& group = groups.emplace_back();
      const std::vector<std::string> once = {""};
      for (const std::string& value :
           axis_.has_value() ? space_.placeholders[*axis_].values : once) {
        PlanRow& row = group.emplace_back();
        row.card = card;
        row.choice = choice;
        if (axis_.has_value()) row.choice[*axis_].value = value;
      }
      if (axis_.has_value()) {
        std::ranges::stable_sort(group, {},
                                 [&](const PlanRow& row) { return ValueAt(row, *axis_); });
      }
    }
    return groups;
  }

  void Try(PlanRow* row) {
    auto trial = attempt_(row->card, row->choice);
    if (!trial.ok()) {
      error_ = trial.status();
      stopped_ = true;
      return;
    }
    result_.rehearsals += trial->ran ? 1 : 0;
    row->source = trial->ran ? Source::kRehearsed : Source::kUnknown;
    row->total_bytes = trial->total_bytes;
    row->peak_bytes = trial->peak_bytes;
    row->step = trial->step;
    row->fits = trial->fits;
    row->moves = trial->moves;
    row->tight = false;
    row->why_not.clear();
    row->failed = !trial->problem.empty();
    if (row->failed) {
      row->fits = false;
      row->why_not = trial->problem;
    } else if (trial->went_on > 0) {
      row->fits = false;
      row->peak_bytes.reset();
      row->why_not = absl::StrCat("It ran out of memory ", Counted(trial->went_on, "time"),
                                  ", and continued.");
    } else if (row->fits) {
      Judge(row);
    } else {
      row->why_not = WhyTooLarge(*row);
    }
  }

  // Decides whether the row fits or is tight, by comparing the peak with the margin.
  void Judge(PlanRow* row) const {
    if (!row->peak_bytes.has_value() || row->moves) return;
    row->fits = *row->peak_bytes <= UsableBytes(row->total_bytes, space_.margin);
    row->tight = !row->fits && *row->peak_bytes <= row->total_bytes;
    row->why_not = row->fits ? "" : WhyTooLarge(*row);
  }

  static std::string WhyTooLarge(const PlanRow& row) {
    if (!row.peak_bytes.has_value()) return "It needs more memory than the GPU has.";
    const std::string about = row.source == Source::kFitted ? "about " : "";
    if (*row.peak_bytes > row.total_bytes) {
      return absl::StrCat("It takes ", about, Bytes(*row.peak_bytes), ", ", about,
                          Bytes(*row.peak_bytes - row.total_bytes), " more than the GPU has.");
    }
    if (!row.tight) {
      return absl::StrCat("It takes ", Bytes(*row.peak_bytes), ", and the rest is fragmented.");
    }
    return absl::StrCat("It leaves ", about, Bytes(row.total_bytes - *row.peak_bytes),
                        ", which is less than the margin.");
  }

  void SearchGroup(std::vector<PlanRow>& group) {
    if (!axis_.has_value()) return Try(&group.front());
    direction_ = 1;
    std::vector<PlanRow*> known;  // simulated rows, in the order of their positions
    size_t problems = 0;
    std::vector<PlanRow*> open;
    for (PlanRow& row : group) open.push_back(&row);
    while (!open.empty()) {
      const auto next = NextOf(known, open);
      if (!next.has_value()) break;
      PlanRow* row = open[*next];
      open.erase(open.begin() + static_cast<ptrdiff_t>(*next));
      Try(row);
      if (stopped_) return FillIn(known, open);
      if (row->failed) {
        if (++problems == kMaxProblems) break;
        continue;
      }
      known.insert(std::ranges::upper_bound(known, PositionOf(*row), {},
                                            [&](PlanRow* other) { return PositionOf(*other); }),
                   row);
      if (known.size() == 2 && !known.front()->fits && known.back()->fits) {
        direction_ = -1;
        std::ranges::reverse(known);
        std::ranges::reverse(open);
      }
    }
    FillIn(known, open);
    for (PlanRow* row : open) {
      if (row->source == Source::kUnknown) row->why_not = WhyLeft(known, problems);
    }
  }

  // Returns the value along the axis, or its negative if peaks fall along the axis. So peaks grow
  // with the position.
  double PositionOf(const PlanRow& row) const { return direction_ * ValueAt(row, *axis_); }

  std::string WhyLeft(const std::vector<PlanRow*>& known, size_t problems) const {
    if (known.empty() && problems > 0) return "Smaller values fail, too.";
    const auto fits = [](const PlanRow* row) { return row->fits; };
    if (known.size() > 1 && std::ranges::none_of(known, fits)) {
      return "It was not tried, because neither the smallest nor the largest value fits.";
    }
    return absl::StrCat("It was not tried, because ", direction_ > 0 ? "smaller" : "larger",
                        " values do not fit.");
  }

  // Returns the index of the open row that is simulated next; nullopt if no further run is needed.
  std::optional<size_t> NextOf(const std::vector<PlanRow*>& known,
                               const std::vector<PlanRow*>& open) const {
    const auto fits = [](const PlanRow* row) { return row->fits; };
    if (known.empty()) return 0;
    if (known.size() == 1) {
      if (fits(known.front())) return 0;
      return MayFall() ? std::optional<size_t>(open.size() - 1) : std::nullopt;
    }
    const auto largest = std::ranges::find_if(known.rbegin(), known.rend(), fits);
    if (largest == known.rend()) return std::nullopt;
    // The next value lies between the largest that fits and the smallest that does not.
    const double low = PositionOf(**largest);
    const auto above = largest == known.rbegin() ? nullptr : *std::prev(largest);
    const double high = above == nullptr ? HUGE_VAL : PositionOf(*above);
    std::optional<size_t> first;
    std::optional<size_t> found;
    std::vector<size_t> between;
    for (size_t i = 0; i < open.size(); ++i) {
      const double position = PositionOf(*open[i]);
      if (position <= low || position >= high) continue;
      if (!first.has_value()) first = i;
      between.push_back(i);
      const double bytes = PeakAt(known, position);
      if (bytes <= static_cast<double>(UsableBytes((*largest)->total_bytes, space_.margin))) {
        found = i;
      }
    }
    // The line knows nothing of a run without a peak, so the rows before it are halved.
    const bool is_blind = above != nullptr && !above->peak_bytes.has_value();
    if (is_blind && !between.empty()) return between[between.size() / 2];
    // That the line says that the first of them does not fit is no proof.
    return found.has_value() ? found : first;
  }

  // True if the peak may be lower for larger values.
  bool MayFall() const { return space_.placeholders[*axis_].name != kBatchName; }

  // Returns the two simulated rows from which the peak at a position is computed: its neighbours
  // or, beyond the last simulated row, the last two.
  std::pair<PlanRow*, PlanRow*> Around(const std::vector<PlanRow*>& known, double position) const {
    size_t i = 1;
    while (i + 1 < known.size() && PositionOf(*known[i]) < position) ++i;
    return {known[i - 1], known[i]};
  }

  double PeakAt(const std::vector<PlanRow*>& known, double position) const {
    std::vector<PlanRow*> measured;
    for (PlanRow* row : known) {
      if (row->peak_bytes.has_value()) measured.push_back(row);
    }
    if (measured.size() < 2) return HUGE_VAL;
    const auto [a, b] = Around(measured, position);
    return OnLine(position, PositionOf(*a), static_cast<double>(*a->peak_bytes), PositionOf(*b),
                  static_cast<double>(*b->peak_bytes));
  }

  // Fills in the peaks and times of the rows that were not simulated.
  void FillIn(const std::vector<PlanRow*>& known, const std::vector<PlanRow*>& open) const {
    if (known.size() < 2) return;
    for (PlanRow* row : open) {
      const double position = PositionOf(*row);
      const double bytes = PeakAt(known, position);
      if (!(bytes >= 0) || bytes > 1e18) continue;
      row->source = Source::kFitted;
      row->peak_bytes = static_cast<uint64_t>(bytes);
      row->total_bytes = known.front()->total_bytes;
      const auto [a, b] = Around(known, position);
      if (a->step.has_value() && b->step.has_value()) {
        const auto between = [&](double y_a, double y_b) {
          return std::max(0.0, OnLine(position, PositionOf(*a), y_a, PositionOf(*b), y_b));
        };
        row->step = PlanStep{
            .seconds = between(a->step->seconds, b->step->seconds),
            .tokens = static_cast<uint64_t>(std::llround(between(
                static_cast<double>(a->step->tokens), static_cast<double>(b->step->tokens)))),
            .parts = {}};
      }
      Judge(row);
      // Whatever the line says, nothing fits beyond a row that was found not to fit.
      const auto refused = std::ranges::find_if(
          known, [](const PlanRow* other) { return !other->fits && !other->tight; });
      if ((row->fits || row->tight) && refused != known.end() && PositionOf(**refused) < position) {
        row->fits = row->tight = false;
        row->why_not = WhyLeft(known, 0);
      }
    }
  }

  void Order() {
    std::ranges::stable_sort(result_.rows, [](const PlanRow& a, const PlanRow& b) {
      if (a.fits != b.fits) return a.fits;
      if (a.tight != b.tight) return a.tight;
      if (!a.fits && !a.tight) return false;
      if (a.Rate() != b.Rate()) return a.Rate() > b.Rate();
      return a.Rate() == 0 && a.Samples() > b.Samples();
    });
  }

  const PlanSpace& space_;
  const PlanAttempt& attempt_;
  const std::optional<size_t> axis_;
  double direction_ = 1;  // -1 in a group whose peaks fall along the axis
  PlanResult result_;
  bool stopped_ = false;
  absl::Status error_;
};

}  // namespace

double PlanRow::Samples() const {
  double samples = 1;
  for (const Setting& setting : choice) {
    if (setting.name != "batch" && setting.name != "accumulate") continue;
    samples *= NumberOf(setting.value).value_or(1);
  }
  return samples;
}

double PlanRow::Rate() const {
  if (!step.has_value() || step->seconds <= 0) return 0;
  return (step->tokens > 0 ? static_cast<double>(step->tokens) : Samples()) / step->seconds;
}

uint64_t UsableBytes(uint64_t total_bytes, double margin) {
  return static_cast<uint64_t>(static_cast<double>(total_bytes) * (1 - margin));
}

const PlanRow* NextThatDoesNotFit(const PlanResult& result, const PlanRow& row, size_t axis) {
  const PlanRow* next = nullptr;
  for (const PlanRow& other : result.rows) {
    bool is_alike = other.card == row.card;
    for (size_t i = 0; i < row.choice.size(); ++i) {
      is_alike = is_alike && (i == axis || other.choice[i].value == row.choice[i].value);
    }
    if (!is_alike || other.fits || ValueAt(other, axis) <= ValueAt(row, axis)) continue;
    if (next == nullptr || ValueAt(other, axis) < ValueAt(*next, axis)) next = &other;
  }
  return next;
}

absl::StatusOr<PlanResult> SearchPlan(const PlanSpace& space, const PlanAttempt& attempt) {
  return Searcher(space, attempt).Run();
}

}  // namespace vramstow
