#include "tools/formats/rmm_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/driver_result.h"
#include "tools/formats/csv.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kDay = 24 * 60 * 60 * kSecond;

// Parses "12:05:39:123456" or "12:05:39.123456" to nanoseconds since midnight.
std::optional<uint64_t> ParseTimeOfDay(std::string_view text) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = ParseNumber<uint32_t>(text.substr(0, 2));
  const auto minutes = ParseNumber<uint32_t>(text.substr(3, 2));
  const auto seconds = ParseNumber<uint32_t>(text.substr(6, 2));
  if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 60) {
    return std::nullopt;
  }
  const uint64_t whole = ((uint64_t{*hours} * 60 + *minutes) * 60 + *seconds) * kSecond;
  if (text.size() == 8) return whole;
  const std::string_view digits = text.substr(9);
  const auto fraction = ParseNumber<uint64_t>(digits);
  if ((text[8] != ':' && text[8] != '.') || !fraction || digits.size() > 9) return std::nullopt;
  uint64_t nanoseconds = *fraction;
  for (size_t i = digits.size(); i < 9; ++i) nanoseconds *= 10;
  return whole + nanoseconds;
}

// Parses "1760000000.123456" to nanoseconds since 1970.
std::optional<uint64_t> ParseSeconds(std::string_view text) {
  const size_t dot = text.find('.');
  const auto seconds = ParseNumber<uint64_t>(text.substr(0, dot));
  constexpr uint64_t kMaxSeconds = ~uint64_t{0} / kSecond - 1;
  if (!seconds || *seconds > kMaxSeconds) return std::nullopt;
  if (dot == text.npos) return *seconds * kSecond;
  const std::string_view digits = text.substr(dot + 1, 9);
  if (text.find_first_not_of("0123456789", dot + 1) != text.npos) return std::nullopt;
  uint64_t nanoseconds = ParseNumber<uint64_t>(digits).value_or(0);
  for (size_t i = digits.size(); i < 9; ++i) nanoseconds *= 10;
  return *seconds * kSecond + nanoseconds;
}

std::optional<uint64_t> ParsePointer(std::string_view text) {
  if (text == "(nil)" || text == "nullptr") return 0;
  return ParseAddress(text);
}

struct Columns {
  int thread, time, action, pointer, size, stream;
};

// Converts the time of a line to the time since the first line.
class Clock {
 public:
  // Returns the time since the first line. Returns nullopt if the text is not a time.
  std::optional<uint64_t> Since(std::string_view text) {
    if (const auto time_of_day = ParseTimeOfDay(text)) return SinceTimeOfDay(*time_of_day);
    const auto time = ParseSeconds(text);
    if (!time) return std::nullopt;
    if (!first_) first_ = *time;
    last_ = std::max(last_, *time);
    return last_ - std::min(last_, *first_);
  }

 private:
  uint64_t SinceTimeOfDay(uint64_t time_of_day) {
    if (!first_) first_ = last_ = time_of_day;
    if (time_of_day + kDay / 2 < last_) {
      days_ += kDay;  // midnight has passed
      last_ = time_of_day;
    } else if (time_of_day > last_ && (days_ == 0 || time_of_day - last_ < kDay / 2)) {
      last_ = time_of_day;
    }
    // Several threads write lines, so a line may have an earlier time than the line before it. It
    // then gets the time of the line before it, so that time never goes back.
    return days_ + last_ - *first_;
  }

  std::optional<uint64_t> first_;
  uint64_t last_ = 0;
  uint64_t days_ = 0;
};

// Returns false if RMM cannot have written the line; *problem says why.
bool ReadLine(const CsvReader& csv, const Columns& columns, Event* event, std::string* problem) {
  const std::string_view action = csv.Field(columns.action);
  const auto pointer = ParsePointer(csv.Field(columns.pointer));
  const auto size = ParseNumber<uint64_t>(csv.Field(columns.size));
  event->layer = Layer::kFramework;
  event->memory = MemoryKind::kDevice;
  event->kind = EventKind::kAllocate;
  if (action == "free" || action == "deallocate") {
    event->kind = EventKind::kFree;
  } else if (action == "allocate failure") {
    event->result = kOutOfMemoryResult;
  } else if (action != "allocate") {
    *problem = Concat("the action is ", Quoted(action));
    return false;
  }
  if (!pointer || !size) {
    *problem = pointer ? "the size is not a number" : "the pointer is not an address";
    return false;
  }
  event->address = *pointer;
  event->size = event->requested = *size;
  const std::string_view thread = csv.Field(columns.thread);
  event->thread = ParseNumber<uint32_t>(thread).value_or(0);
  if (const auto stream = ParsePointer(csv.Field(columns.stream))) event->stream = *stream;
  return true;
}

}  // namespace

absl::StatusOr<EventList> ReadRmmLog(const Input& input) {
  CsvReader csv(input.bytes());
  const Columns columns = {csv.Column("Thread"),  csv.Column("Time"), csv.Column("Action"),
                           csv.Column("Pointer"), csv.Column("Size"), csv.Column("Stream")};
  if (columns.action < 0 || columns.pointer < 0 || columns.size < 0) {
    return absl::InvalidArgumentError(
        Concat(input.path(), " is not an RMM log: its first line lacks Action, Pointer or Size"));
  }
  EventList list;
  Clock clock;
  uint64_t unreadable = 0;
  uint64_t timeless = 0;
  uint64_t time_ns = 0;
  std::string first_problem;
  while (csv.NextLine()) {
    Event event;
    std::string problem;
    if (!ReadLine(csv, columns, &event, &problem)) {
      if (csv.is_unfinished()) {
        list.complete = false;
        list.missing.push_back(Concat("the log ends in the middle of line ", csv.line()));
      } else if (unreadable++ == 0) {
        first_problem = Concat("line ", csv.line(), ": ", problem);
      }
      continue;
    }
    if (const auto time = clock.Since(csv.Field(columns.time))) {
      time_ns = std::max(time_ns, *time);
    } else {
      ++timeless;
    }
    event.time_ns = time_ns;
    event.sequence = list.events.size() + 1;
    event.device = 0;
    event.call = list.Call(csv.Field(columns.action));
    list.events.push_back(event);
  }
  if (unreadable != 0) {
    list.missing.push_back(Concat(NumberOf(unreadable, "line"), " could not be used and ",
                                  unreadable == 1 ? "was" : "were", " left out, the first ",
                                  first_problem));
  }
  if (timeless != 0) list.missing.push_back(Concat("no time in ", NumberOf(timeless, "line")));
  if (columns.stream < 0) list.missing.emplace_back("no streams");
  list.missing.emplace_back("the log does not say which device: device 0 is assumed");
  list.missing.emplace_back("the log does not contain how much RMM reserved from the driver");
  if (!input.damage().empty()) {
    list.complete = false;
    list.missing.push_back(input.damage());
  }
  return list;
}

}  // namespace vramstow
