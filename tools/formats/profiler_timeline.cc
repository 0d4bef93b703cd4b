#include "tools/formats/profiler_timeline.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/trace_events.h"
#include "tools/formats/unpack.h"

namespace vramstow {
namespace {

// The numbers of an untrusted file may overflow the sum.
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

class ProfilerVisitor : public TraceEventsVisitor {
 public:
  explicit ProfilerVisitor(ProfilerTimeline* timeline) : timeline_(timeline) {}

  void Number(const JsonNumber& number) override {
    if (depth() == 1 && key(1) == "baseTimeNanoseconds") timeline_->base_ns = number.AsSigned();
    if (within() != 1) return;
    if (key(depth()) == "ts") operator_.begin_ns = number.Thousandths();
    if (key(depth()) == "dur") duration_ns_ = number.Thousandths();
    if (key(depth()) == "pid") process_ = number.AsUnsigned();
    if (key(depth()) == "tid") operator_.thread = static_cast<uint32_t>(number.AsUnsigned());
  }

  void Text(std::string_view text) override {
    if (within() != 1) return;
    if (key(depth()) == "cat") is_operator_ = text == "cpu_op" || text == "user_annotation";
    if (key(depth()) == "name") name_ = text;
  }

 protected:
  void EventBegins() override {
    operator_ = {};
    duration_ns_ = -1;
    is_operator_ = false;
    name_.clear();
  }

  void EventEnds() override {
    if (!is_operator_ || duration_ns_ < 0) return;
    if (timeline_->operators.empty()) timeline_->process = process_;
    // A merged trace may contain operators of other processes, which are skipped.
    if (timeline_->process == process_) Add();
  }

 private:
  void Add() {
    const auto [known, inserted] =
        numbers_.try_emplace(name_, static_cast<uint32_t>(timeline_->names.size()));
    if (inserted) timeline_->names.push_back(name_);
    operator_.name = known->second;
    operator_.end_ns = Sum(operator_.begin_ns, duration_ns_);
    timeline_->operators.push_back(operator_);
  }

  ProfilerTimeline* timeline_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
  ProfilerOperator operator_;
  int64_t duration_ns_ = -1;
  uint64_t process_ = 0;
  bool is_operator_ = false;
  std::string name_;
};

// Finds the begin of the list of events in a JSON text that is read byte by byte.
class ListFinder {
 public:
  // Returns true if the list begins with this byte.
  bool Next(char byte) {
    if (in_text_) {
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (byte == '\\') {
        is_escaped_ = true;
      } else if (byte == '"') {
        in_text_ = false;
      } else if (text_.size() < kLongest) {
        text_ += byte;
      }
      return false;
    }
    if (byte == '"') {
      in_text_ = true;
      text_.clear();
    } else if (byte == '[' || byte == '{') {
      const bool is_list = byte == '[' && (depth_ == 0 || (depth_ == 1 && text_ == "traceEvents"));
      ++depth_;
      text_.clear();
      return is_list;
    } else if (byte == ']' || byte == '}') {
      --depth_;
      text_.clear();
    } else if (byte == ',') {
      text_.clear();
    }
    return false;
  }

 private:
  static constexpr size_t kLongest = 64;

  int depth_ = 0;
  bool in_text_ = false;
  bool is_escaped_ = false;
  std::string text_;  // the last text of this level, which is the key of the next value
};

// Passes the unpacked bytes to `take` piece by piece, until it returns false.
absl::Status ReadPieces(const Input& input, const std::function<bool(std::string_view)>& take) {
  constexpr size_t kPiece = size_t{1} << 16;
  if (!input.is_packed_text()) {
    std::string_view rest = input.bytes();
    while (!rest.empty() && take(rest.substr(0, kPiece))) {
      rest.remove_prefix(std::min(kPiece, rest.size()));
    }
    return absl::OkStatus();
  }
  GzipStream packed(input.bytes(), input.limits());
  std::istream stream(&packed);
  std::string piece(kPiece, '\0');
  do {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  } while (stream.gcount() > 0 &&
           take(std::string_view(piece).substr(0, static_cast<size_t>(stream.gcount()))));
  return packed.status();
}

// Writes the text of `events` without its last comma. *any becomes true if there was text, so that
// the caller can write a comma after it.
bool WriteAllButLastComma(const std::function<bool(std::string* text)>& events,
                          const std::function<bool(std::string_view piece)>& write, bool* any) {
  std::string text;
  std::string held;  // the last piece that is not empty
  bool is_more = true;
  while (is_more) {
    is_more = events(&text);
    if (text.empty()) continue;
    if (!write(held)) return false;
    held.swap(text);
    text.clear();
  }
  *any = !held.empty();
  const size_t last = held.find_last_not_of(" \t\r\n");
  if (last != held.npos && held[last] == ',') held.resize(last);
  return write(held);
}

}  // namespace

const ProfilerOperator* ProfilerTimeline::At(uint32_t thread, int64_t time_ns) const {
  const auto later = std::ranges::upper_bound(
      operators, std::pair(thread, time_ns), {},
      [](const ProfilerOperator& one) { return std::pair(one.thread, one.begin_ns); });
  // The innermost operator is the last one that began before `time_ns` and has not ended. The
  // search goes backwards over operators that have ended, and gives up after kMaxSteps of them.
  constexpr int kMaxSteps = 1 << 16;
  int steps = 0;
  for (auto at = later; at != operators.begin() && steps < kMaxSteps; ++steps) {
    --at;
    if (at->thread != thread) return nullptr;
    if (at->end_ns >= time_ns) return &*at;
  }
  return nullptr;
}

absl::StatusOr<ProfilerTimeline> ReadProfilerTimeline(const Input& input) {
  ProfilerTimeline timeline;
  ProfilerVisitor visitor(&timeline);
  if (const absl::Status walked = WalkJson(input, &visitor); !walked.ok()) {
    return absl::InvalidArgumentError(
        Concat(input.path(), ": ", std::string(walked.message()), "."));
  }
  if (timeline.operators.empty()) {
    return absl::InvalidArgumentError(
        Concat(input.path(), " is ", input.sniffed().what,
               " without CPU operators: merge a file that torch.profiler.profile wrote with "
               "export_chrome_trace."));
  }
  for (ProfilerOperator& one : timeline.operators) {
    one.begin_ns = Sum(one.begin_ns, timeline.base_ns);
    one.end_ns = Sum(one.end_ns, timeline.base_ns);
  }
  std::ranges::sort(timeline.operators, [](const ProfilerOperator& a, const ProfilerOperator& b) {
    return std::tie(a.thread, a.begin_ns, b.end_ns) < std::tie(b.thread, b.begin_ns, a.end_ns);
  });
  timeline.first_ns =
      std::ranges::min(timeline.operators, {}, &ProfilerOperator::begin_ns).begin_ns;
  timeline.last_ns = std::ranges::max(timeline.operators, {}, &ProfilerOperator::end_ns).end_ns;
  return timeline;
}

absl::Status CopyWithEvents(const Input& input,
                            const std::function<bool(std::string* text)>& events,
                            const std::function<bool(std::string_view piece)>& write) {
  ListFinder finder;
  bool is_found = false;
  bool is_written = true;
  bool needs_comma = false;
  const auto take = [&](std::string_view piece) {
    if (!is_found) {
      const auto begins = std::ranges::find_if(piece, [&](char byte) { return finder.Next(byte); });
      if (begins == piece.end()) return is_written = write(piece);
      is_found = true;
      const auto head = static_cast<size_t>(begins - piece.begin()) + 1;
      is_written =
          write(piece.substr(0, head)) && WriteAllButLastComma(events, write, &needs_comma);
      piece.remove_prefix(head);
    }
    if (needs_comma) {
      // The comma is written only if an element of the list follows, because the list may be empty.
      const size_t next = piece.find_first_not_of(" \t\r\n");
      if (next != piece.npos) {
        needs_comma = false;
        if (piece[next] != ']') is_written = is_written && write(",\n");
      }
    }
    return is_written = is_written && write(piece);
  };
  if (absl::Status read = ReadPieces(input, take); !read.ok()) return read;
  if (!is_written) return absl::UnavailableError("cannot write");
  if (is_found) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat(input.path(), " is ", input.sniffed().what, " without a list of trace events."));
}

}  // namespace vramstow
