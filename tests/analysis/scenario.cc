#include "tests/analysis/scenario.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "base/typed_event.h"
#include "base/units.h"
#include "tools/analysis/accounts/analyzer.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/pipeline/analyze.h"

namespace vramstow {
namespace {

constexpr int32_t kOutOfMemory = 2;
constexpr uint16_t kDriverCall = 1;
constexpr uint16_t kFreeCall = 2;
constexpr uint16_t kContextCall = 3;
constexpr uint16_t kLibrary = 1;
constexpr uint16_t kOtherLibrary = 2;
constexpr uint16_t kMathLibrary = 3;

struct Frame {
  std::string function;
  std::string file;
  uint32_t line = 0;
};

// A source of events with their stacks and texts, in order.
class ScenarioSource : public EventSource {
 public:
  void Add(Event event, uint32_t stack = 0, std::string text = "") {
    event.sequence = events_.size() + 1;
    event.time_ns = waited_ns_ + event.sequence * 1'000'000;
    event.thread = 1;
    event.object = event.kind == EventKind::kMark ? texts_.size() : event.object;
    if (event.kind == EventKind::kMark) texts_.push_back(std::move(text));
    events_.push_back({event, stack});
    report_.events = events_.size();
    report_.closed = true;
  }
  void Wait(uint64_t nanoseconds) { waited_ns_ += nanoseconds; }
  // From 1.
  uint32_t AddStack(std::vector<Frame> frames) {
    stacks_.push_back(std::move(frames));
    return static_cast<uint32_t>(stacks_.size());
  }
  std::map<std::string, std::string>& mutable_facts() { return facts_; }

  bool Next(Event* event) override {
    if (next_ == events_.size()) return false;
    *event = events_[next_++].first;
    return true;
  }
  std::string_view CallName(uint16_t call) const override {
    if (call == kContextCall) return "cuDevicePrimaryCtxRetain";
    return call == kDriverCall ? "cuMemAlloc" : call == kFreeCall ? "cuMemFree" : "unknown";
  }
  std::string_view LibraryPath(uint16_t library) const override {
    if (library == kMathLibrary) return "/lib/libcublas.so.13";
    return library == kLibrary ? "/lib/libtorch_cuda.so" : "/lib/libother.so";
  }
  const std::map<std::string, std::string>& facts() const override { return facts_; }
  ReadReport report() const override { return report_; }
  uint32_t Stack() const override { return events_[next_ - 1].second; }
  std::vector<CallFrame> Frames(uint32_t stack) const override {
    std::vector<CallFrame> frames;
    if (stack == 0) return frames;
    for (const Frame& frame : stacks_[stack - 1]) {
      frames.push_back({frame.function, frame.file, frame.line});
    }
    std::ranges::reverse(frames);
    return frames;
  }
  std::string_view MarkText(const Event& mark) const override { return texts_[mark.object]; }

 private:
  std::vector<std::pair<Event, uint32_t>> events_;
  std::vector<std::vector<Frame>> stacks_;  // the outermost frame first
  std::vector<std::string> texts_;
  std::map<std::string, std::string> facts_;
  ReadReport report_;
  size_t next_ = 0;
  uint64_t waited_ns_ = 0;
};

std::vector<std::string> Words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string After(const std::string& line, const std::string& word) {
  const size_t place = line.find(word);
  if (place == std::string::npos) return "";
  const size_t begin = line.find_first_not_of(' ', place + word.size());
  return begin == std::string::npos ? "" : line.substr(begin);
}

std::string Replaced(std::string text, const std::string& part, const std::string& with) {
  for (size_t place = 0; (place = text.find(part, place)) != std::string::npos;) {
    text.replace(place, part.size(), with);
    place += with.size();
  }
  return text;
}

// Parses a frame: "train.py:12 main", "op aten::mul", "module Net.up", "backward MulBackward0" or
// "native at::x".
Frame FrameOf(const std::string& text) {
  const std::vector<std::string> words = Words(text);
  if (words.size() < 2) return {text, "unknown", 0};
  if (words[0] == "op") return {words[1], "<operator>", 0};
  if (words[0] == "module") return {words[1], "<module>", 0};
  if (words[0] == "backward") return {words[1], "<backward>", 0};
  if (words[0] == "native") return {After(text, "native "), "libtorch_cuda.so", 0};
  Frame frame{words[1], words[0].substr(0, words[0].rfind(':')), 0};
  const std::string number = words[0].substr(words[0].rfind(':') + 1);
  std::from_chars(number.data(), number.data() + number.size(), frame.line);
  return frame;
}

class Runner {
 public:
  ScenarioOutcome Run(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (!line.empty() && line[0] != '#') lines.push_back(line);
    }
    Repeat(lines, 0, lines.size());
    Analysis analysis = AnalyzeInDetail(&source_, "scenario.stow");
    ExplainAndProve(&analysis);
    outcome_.facts = std::move(analysis.facts);
    for (const std::string& line : expectations_) Check(line);
    if (expectations_.empty()) Fail("nothing is expected", "");
    return std::move(outcome_);
  }

 private:
  void Fail(const std::string& why, const std::string& line) {
    outcome_.failures.push_back(why + (line.empty() ? "" : ": " + line));
  }

  // Executes these lines. Lines between "repeat N" and "end" are executed N times, and {i} in them
  // is replaced by the number of the repetition, from 0.
  void Repeat(const std::vector<std::string>& lines, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const std::vector<std::string> words = Words(lines[i]);
      if (words.size() != 2 || words[0] != "repeat") {
        Do(lines[i], words);
        continue;
      }
      const size_t last = static_cast<size_t>(
          std::find(lines.begin() + static_cast<ptrdiff_t>(i), lines.end(), "end") - lines.begin());
      for (int turn = 0; turn < std::stoi(words[1]); ++turn) {
        for (size_t k = i + 1; k < std::min(last, end); ++k) {
          const std::string line = Replaced(Replaced(lines[k], "{i}", std::to_string(turn)),
                                            "{i-1}", std::to_string(turn - 1));
          Do(line, Words(line));
        }
      }
      i = last;
    }
  }

  void Do(const std::string& line, const std::vector<std::string>& words) {
    const std::string& verb = words[0];
    if (verb == "expect") {
      expectations_.push_back(line);
    } else if (verb == "card" && words.size() == 2) {
      const std::string bytes = std::to_string(Bytes(words[1], line));
      source_.mutable_facts()["device.0.total_bytes"] = bytes;
      source_.mutable_facts()["device.0.free_bytes_at_start"] = bytes;
    } else if (verb == "fact" && words.size() >= 3) {
      source_.mutable_facts()[words[1]] = After(line, words[1]);
    } else if (verb == "stack" && words.size() >= 3) {
      stacks_[words[1]] = source_.AddStack(FramesOf(After(line, words[1])));
    } else if (verb == "alloc" && words.size() == 5 && words[3] == "at") {
      Allocate(words[1], Bytes(words[2], line), StackOf(words[4], line));
    } else if (verb == "alloc" && words.size() == 7 && words[5] == "in") {
      AllocateIn(words[6], words[1], Bytes(words[2], line), StackOf(words[4], line), line);
    } else if (verb == "driver" && words.size() == 5 && words[3] == "at") {
      AllocateDriver(words[1], Bytes(words[2], line), StackOf(words[4], line));
    } else if (verb == "pinned" && words.size() == 7 && words[3] == "at" && words[5] == "asked") {
      Pin(words[1], Bytes(words[2], line), Bytes(words[6], line), StackOf(words[4], line));
    } else if (verb == "context" && words.size() == 2) {
      Event event;
      event.kind = EventKind::kContextCreate;
      event.device = static_cast<int16_t>(std::stoi(words[1]));
      source_.Add(event, 0);
    } else if (verb == "says" && words.size() == 3 && words[2] == "free") {
      SayFree(Bytes(words[1], line));
    } else if (verb == "free" && words.size() == 2) {
      Free(words[1], line);
    } else if (verb == "cache" && words.size() == 2) {
      Free(words[1], line, true);
    } else if (verb == "wait" && words.size() == 3 && words[2] == "minutes") {
      source_.Wait(std::stoull(words[1]) * 60 * 1'000'000'000);
    } else if ((verb == "weights" || verb == "masters") && words.size() >= 2) {
      Weigh(words, line);
    } else if (verb == "mark" && words.size() >= 2) {
      source_.Add(MarkEvent{.kind = MarkKind::kMoment}.ToEvent(), 0, After(line, "mark "));
    } else if (verb == "offload" && words.size() == 4 && words[2] == "for") {
      Move(words[1], /*is_return=*/false, words[3], line);
    } else if (verb == "return" && words.size() == 2) {
      Move(words[1], /*is_return=*/true, "touched", line);
    } else if (verb == "clock" && words.size() >= 10 && words.size() <= 16) {
      Clock(words, line);
    } else if (verb == "fail" && words.size() == 4 && words[2] == "at") {
      Refuse(Bytes(words[1], line), StackOf(words[3], line));
    } else if (verb == "handled" && words.size() == 4 && words[2] == "at") {
      Refuse(Bytes(words[1], line), StackOf(words[3], line), FailureEnd::kDoneWithout);
    } else if (line.starts_with("refuse context at ") && words.size() == 4) {
      RefuseContext(StackOf(words[3], line));
    } else if (verb == "refuse" && words.size() == 4 && words[2] == "at") {
      RefuseLibrary(Bytes(words[1], line), StackOf(words[3], line), kMathLibrary);
    } else if (verb == "refuse" && words.size() == 6 && words[4] == "by") {
      if (words[5] != "libother.so") Fail("no such library", line);
      RefuseLibrary(Bytes(words[1], line), StackOf(words[3], line), kOtherLibrary);
    } else if (verb == "census" && words.size() == 1) {
      source_.Add(MarkEvent{.kind = MarkKind::kMoment}.ToEvent(), 0,
                  "vramstow.census out_of_memory 0 0 0 1000 10\n");
    } else if (line == "census left out") {
      source_.Add(MarkEvent{.kind = MarkKind::kMoment}.ToEvent(), 0,
                  "vramstow.census out_of_memory 0 0 0 0 0\nthere was no time");
    } else if (verb == "held" && words.size() >= 4) {
      Hold(line, words);
    } else {
      Fail("not understood", line);
    }
  }

  uint64_t Bytes(const std::string& word, const std::string& line) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const std::string unit(end, word.data() + word.size());
    if (error != std::errc() || (unit != "MiB" && unit != "KiB" && unit != "B")) {
      Fail("no number of bytes", line);
    }
    return number * (unit == "MiB" ? kMiB : unit == "KiB" ? kKiB : 1);
  }
  static std::vector<Frame> FramesOf(const std::string& text) {
    std::vector<Frame> frames;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(" > ", begin), text.size());
      frames.push_back(FrameOf(text.substr(begin, end - begin)));
      begin = end + 3;
    }
    return frames;
  }
  uint32_t StackOf(const std::string& name, const std::string& line) {
    const auto stack = stacks_.find(name);
    if (stack == stacks_.end()) Fail("no such stack", line);
    return stack == stacks_.end() ? 0 : stack->second;
  }

  static Event Allocation(uint64_t address, uint64_t size, Layer layer) {
    Event event;
    event.kind = EventKind::kAllocate;
    event.layer = layer;
    event.memory = MemoryKind::kDevice;
    event.address = address;
    event.size = size;
    event.device = 0;
    event.library = kLibrary;
    event.call = layer == Layer::kFramework ? kUnknownName : kDriverCall;
    return event;
  }
  void SayFree(uint64_t bytes) {
    source_.Add(DeviceMemoryInfo{.device = 0, .free_bytes = bytes}.ToEvent());
  }
  // Allocates a tensor in driver memory that contains only this tensor. The driver memory is
  // recorded as a part of PyTorch's pool, as the observer does, so that these bytes do not count
  // twice.
  void Allocate(const std::string& name, uint64_t size, uint32_t stack) {
    const uint64_t address = AllocateDriver(name, size, stack, Layer::kPool);
    blocks_[name].is_tensor = true;
    source_.Add(Allocation(address, size, Layer::kFramework), stack);
  }
  // Allocates the tensor `name` in the cached memory that the freed tensor `cached` left.
  void AllocateIn(const std::string& cached, const std::string& name, uint64_t size, uint32_t stack,
                  const std::string& line) {
    const auto left = cached_.find(cached);
    if (left == cached_.end() || left->second.size < size) return Fail("no such piece", line);
    blocks_[name] = {left->second.address, size, true};
    source_.Add(Allocation(left->second.address, size, Layer::kFramework), stack);
    cached_.erase(left);
  }
  // Allocates page-locked memory of the host.
  void Pin(const std::string& name, uint64_t size, uint64_t requested, uint32_t stack) {
    Event event = Allocation(next_address_, size, Layer::kDriver);
    next_address_ += size;
    event.memory = MemoryKind::kHostPinned;
    event.requested = requested;
    event.library = kLibrary + 1;
    source_.Add(event, stack);
    blocks_[name] = {event.address, size, false};
  }
  uint64_t AllocateDriver(const std::string& name, uint64_t size, uint32_t stack,
                          Layer layer = Layer::kDriver) {
    const uint64_t address = next_address_;
    next_address_ += (size + kMiB - 1) / kMiB * kMiB + kMiB;
    Event event = Allocation(address, size, layer);
    if (layer == Layer::kDriver) event.library = kLibrary + 1;
    source_.Add(event, stack);
    blocks_[name] = {address, size, false};
    return address;
  }
  // `stays_cached` says that PyTorch retains the driver memory in its cache.
  void Free(const std::string& name, const std::string& line, bool stays_cached = false) {
    const auto block = blocks_.find(name);
    if (block == blocks_.end()) return Fail("no such block", line);
    Event event = Allocation(block->second.address, 0, Layer::kFramework);
    event.kind = EventKind::kFree;
    event.call = kFreeCall;
    if (block->second.is_tensor) source_.Add(event);
    event.layer = block->second.is_tensor ? Layer::kPool : Layer::kDriver;
    if (!stays_cached) source_.Add(event);
    if (stays_cached) cached_[name] = block->second;
    blocks_.erase(block);
  }
  // Evicts the whole block to the host, or restores it.
  void Move(const std::string& name, bool is_return, const std::string& reason,
            const std::string& line) {
    const auto block = blocks_.find(name);
    if (block == blocks_.end()) return Fail("no such block", line);
    OffloadReason why = OffloadReason::kUnknown;
    for (int i = 1; i < kOffloadReasons; ++i) {
      const auto one = static_cast<OffloadReason>(i);
      if (OffloadReasonName(one) == reason) why = one;
    }
    if (why == OffloadReason::kUnknown) return Fail("no such reason", line);
    Event move = MoveEvent{is_return, block->second.address, block->second.size, 0, why}.ToEvent();
    move.device = 0;
    source_.Add(move);
  }
  // Parses a line about the time by the model of the GPU: "clock 12ms read SIZE out SIZE in SIZE
  // held 3ms". It may be followed by "work 9ms 40 operators" and by "due 20ms".
  void Clock(const std::vector<std::string>& words, const std::string& line) {
    if (words[2] != "read" || words[4] != "out" || words[6] != "in" || words[8] != "held") {
      return Fail("not understood", line);
    }
    source_.Add(ModelClockEvent{Milliseconds(words[1], line), Bytes(words[3], line),
                                Bytes(words[5], line), Bytes(words[7], line),
                                Milliseconds(words[9], line)}
                    .ToEvent());
    if (words.size() == 10) return;
    if (words.size() != 14 && words.size() != 16) return Fail("not understood", line);
    const bool has_due = words.size() == 16;
    if (words[10] != "work" || words[13] != "operators" || (has_due && words[14] != "due")) {
      return Fail("not understood", line);
    }
    const uint64_t due_ns = has_due ? Milliseconds(words[15], line) : 0;
    source_.Add(
        ModelWorkEvent{Milliseconds(words[11], line), std::stoull(words[12]), 0, due_ns}.ToEvent());
  }
  uint64_t Milliseconds(const std::string& word, const std::string& line) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || std::string(end, word.data() + word.size()) != "ms") {
      Fail("no time", line);
    }
    return number * 1'000'000;
  }
  // Adds a mark that lists the blocks of a model's weights or of an optimizer's state.
  void Weigh(const std::vector<std::string>& words, const std::string& line) {
    std::ostringstream text;
    text << "vramstow." << words[0] << std::hex;
    for (size_t i = 1; i < words.size(); ++i) {
      const auto block = blocks_.find(words[i]);
      if (block == blocks_.end()) return Fail("no such block", line);
      text << " 0x" << block->second.address;
    }
    source_.Add(MarkEvent{.kind = MarkKind::kMoment}.ToEvent(), 0, text.str());
  }
  void Refuse(uint64_t size, uint32_t stack, FailureEnd end = FailureEnd::kProgram) {
    Event event = Allocation(0, size, Layer::kFramework);
    event.object = ObjectOf(end);
    event.result = kOutOfMemory;
    source_.Add(event, stack);
  }
  void RefuseLibrary(uint64_t size, uint32_t stack, uint16_t library) {
    Event event = Allocation(0, size, Layer::kDriver);
    event.library = library;
    event.result = kOutOfMemory;
    source_.Add(event, stack);
  }
  void RefuseContext(uint32_t stack) {
    Event event;
    event.kind = EventKind::kContextCreate;
    event.device = 0;
    event.library = kLibrary;
    event.call = kContextCall;
    event.result = kOutOfMemory;
    source_.Add(event, stack);
  }
  // Parses a line "held NAME ROLE HOLDER", which may be followed by "; ABOUT".
  void Hold(const std::string& line, const std::vector<std::string>& words) {
    const auto block = blocks_.find(words[1]);
    if (block == blocks_.end()) return Fail("no such block", line);
    std::string holder = After(line, " " + words[2] + " ");
    std::string about = "float32 [" + std::to_string(block->second.size / 4) + "]";
    if (const size_t cut = holder.find(" ; "); cut != std::string::npos) {
      about = holder.substr(cut + 3);
      holder.resize(cut);
    }
    MarkEvent mark{.kind = MarkKind::kMoment, .number = block->second.address};
    source_.Add(mark.ToEvent(), 0,
                "vramstow.holder " + words[2] + " 0 " + std::to_string(block->second.size) + "\n" +
                    holder + "\n" + about);
  }

  // --- The expected results.
  const AdviceFacts* First() const {
    return outcome_.facts.advice.empty() ? nullptr : &outcome_.facts.advice.front();
  }
  void Same(const std::string& found, const std::string& wanted, const std::string& line) {
    if (found != wanted) Fail("found '" + found + "'", line);
  }
  void Has(const std::string& text, const std::string& part, const std::string& line) {
    if (text.find(part) == std::string::npos) Fail("it says '" + text + "'", line);
  }
  void Check(const std::string& line) {
    const std::vector<std::string> words = Words(line);
    const std::string what = words.size() > 1 ? words[1] : "";
    const std::string rest = After(line, what + " ");
    const AdviceFacts* first = First();
    const auto& failures = outcome_.facts.out_of_memory;
    if (what == "cause") {
      outcome_.expected.push_back(rest);
      return Same(failures.empty() ? "none" : AdviceName(failures.back().cause), rest, line);
    }
    if (what == "advice") return CheckAdvice(rest, line);
    if (what == "no" && words.size() > 2) {
      if (words[2] == "cause") {
        return Same(failures.empty() ? "" : AdviceName(failures.back().cause), "", line);
      }
      return CheckSilence(words[2], line);
    }
    if (what == "iterations" || what == "phase" || what == "category" || what == "devices") {
      return CheckWork(what, words, line);
    }
    if (what == "failures") {
      const Counts& counts = outcome_.facts.counts;
      return Same(std::to_string(counts.out_of_memory) + " and " +
                      std::to_string(counts.handled_failures) + " handled",
                  rest, line);
    }
    if (what == "lacking") {
      const uint64_t lacking = failures.empty() ? 0 : failures.back().demand.lacking_bytes;
      return Same(FormatBytes(lacking).text, rest, line);
    }
    if (what == "outside") {
      const uint64_t outside =
          failures.empty() ? 0 : failures.back().demand.outside_bytes.value_or(0);
      return Same(FormatBytes(outside).text, rest, line);
    }
    if (what == "iteration") {
      const int64_t growth = outcome_.facts.iterations.growth_bytes;
      const std::string sign = growth < 0 ? "-" : "";
      return Same("growth " + sign + FormatBytes(static_cast<uint64_t>(std::abs(growth))).text,
                  rest, line);
    }
    if (what == "step") return CheckStep(rest, line);
    if (what == "carried") return CheckCarried(rest, line);
    if (what == "moves") return CheckMovesCost(rest, line);
    if (what == "change") return CheckHandChange(words[2], rest, line);
    if (what == "growth" || what == "grows") return CheckGrowth(what, rest, line);
    if (what == "site") {
      const auto& sites = outcome_.facts.by_site;
      return Same(std::ranges::find(sites, rest, &SiteFacts::site) != sites.end() ? rest : "none",
                  rest, line);
    }
    if (first == nullptr) return Fail("there is no advice", line);
    if (what == "line") return Same(first->place, rest, line);
    if (what == "holder") return Same(first->holder, rest, line);
    if (what == "bytes") return Same(FormatBytes(first->bytes).text, rest, line);
    if (what == "fits") return Same(first->fits == true ? "yes" : "no", rest, line);
    if (what == "title") return Has(first->title, rest, line);
    if (what == "evidence") return Has(first->evidence, rest, line);
    if (what == "action") return Has(first->action, rest, line);
    Fail("not understood", line);
  }
  // Checks an expected line "iterations N by WAY", "devices N SIZE, …", "phase NAME N" or "category
  // NAME SIZE".
  void CheckWork(const std::string& what, const std::vector<std::string>& words,
                 const std::string& line) {
    if (words.size() < 4) return Fail("not understood", line);
    const Facts& facts = outcome_.facts;
    if (what == "iterations") {
      const IterationsFacts& iterations = facts.iterations;
      return Same(std::to_string(iterations.count) + " by " + iterations.found_by +
                      (iterations.is_sure ? "" : " not sure") +
                      (iterations.backward_per_iteration > 1
                           ? " with " + std::to_string(iterations.backward_per_iteration)
                           : ""),
                  After(line, "iterations "), line);
    }
    if (what == "devices") {
      std::string peaks;
      for (const DeviceFacts& device : facts.devices) {
        if (!peaks.empty()) peaks += ", ";
        peaks += std::to_string(device.device) + " " + FormatBytes(device.peak_bytes).text;
      }
      return Same(peaks, After(line, "devices "), line);
    }
    std::string found = "none";
    for (const PhaseFacts& phase : facts.phases) {
      if (what == "phase" && phase.name == words[2]) found = std::to_string(phase.times);
    }
    for (const CategoryFacts& category : facts.by_category) {
      if (what == "category" && category.name == words[2]) {
        found = FormatBytes(category.at_peak.bytes).text;
      }
    }
    Same(found, After(line, words[2] + " "), line);
  }
  // Checks an expected line about an iteration's modelled time, for example "step 12ms held 3ms
  // read SIZE out SIZE in SIZE of N", or "step none".
  void CheckStep(const std::string& rest, const std::string& line) {
    const ModelClockFacts& clock = outcome_.facts.model_clock;
    if (!clock.known()) return Same("none", rest, line);
    Same(InMilliseconds(clock.step_seconds) + " held " + InMilliseconds(clock.wait_seconds) +
             " read " + FormatBytes(clock.link_read_bytes).text + " out " +
             FormatBytes(clock.out_bytes).text + " in " + FormatBytes(clock.in_bytes).text +
             " of " + std::to_string(clock.iterations),
         rest, line);
  }
  // Checks an expected line about memory that was evicted to the host. It has the form "carried
  // SIZE needed of SIZE, SIZE moved, mostly SITE", and ends with ", limit SIZE of PLACE" if a limit
  // was the reason; if no memory had to be evicted, it is "carried
  // no".
  void CheckCarried(const std::string& rest, const std::string& line) {
    const OffloadFacts& offload = outcome_.facts.offload;
    if (!offload.carries_job) return Same("no", rest, line);
    const auto text = [](uint64_t bytes) { return std::string(FormatBytes(bytes).text); };
    std::string found = text(offload.needed_bytes) + " needed of " + text(offload.card_bytes) +
                        ", " + text(offload.most_bytes) + " moved, mostly " +
                        (offload.sites.empty() ? "nobody's" : offload.sites.front().site);
    if (offload.limit_bytes != 0) {
      found += ", limit " + text(offload.limit());
      if (!offload.limit_place.empty()) found += " of " + offload.limit_place;
    }
    Same(found, rest, line);
  }
  // Checks an expected line "moves 6ms" (the time that moves add to an iteration), or "moves none".
  void CheckMovesCost(const std::string& rest, const std::string& line) {
    const std::optional<double>& cost = outcome_.facts.offload.step_cost_seconds;
    Same(cost.has_value() ? InMilliseconds(*cost) : "none", rest, line);
  }
  // Checks an expected line about a change that the user can make by hand. It has the form "change
  // NAME N of LAYERS needs SIZE fits 3ms", or "too much" in place of "fits". "change NAME none"
  // expects that the change is not offered.
  void CheckHandChange(const std::string& name, const std::string& rest, const std::string& line) {
    const std::vector<HandChange>& changes = outcome_.facts.offload.by_hand;
    const auto change = std::ranges::find(changes, name, &HandChange::change);
    if (change == changes.end()) return Same(name + " none", rest, line);
    std::string found = name;
    if (change->count != 0) found += " " + std::to_string(change->count);
    if (change->layers != 0) found += " of " + std::to_string(change->layers);
    found += std::string(" needs ") + FormatBytes(change->needed_bytes).text +
             (change->fits ? " fits" : " too much");
    if (change->seconds.has_value()) found += " " + InMilliseconds(*change->seconds);
    Same(found, rest, line);
  }
  static std::string InMilliseconds(double seconds) {
    return std::to_string(static_cast<int>(seconds * 1000 + 0.5)) + "ms";
  }
  // Checks an expected line "growth SIZE" (bytes per hour) or "growth none". Checks also a line
  // "grows SIZE CATEGORY SITE", which is about the call site that grows most.
  void CheckGrowth(const std::string& what, const std::string& rest, const std::string& line) {
    const HourFacts& growth = outcome_.facts.by_hour;
    const auto text = [](int64_t bytes) {
      return std::string(FormatBytes(static_cast<uint64_t>(bytes)).text);
    };
    if (what == "growth") {
      return Same(growth.is_endless ? text(growth.bytes_per_hour) : "none", rest, line);
    }
    if (growth.by_site.empty()) return Fail("nothing grows", line);
    const SiteHourFacts& first = growth.by_site.front();
    Same(text(first.bytes_per_hour) + " " + first.category + " " + first.site, rest, line);
  }
  const AdviceFacts* OfId(const std::string& id) const {
    const auto found = std::ranges::find_if(outcome_.facts.advice, [&](const AdviceFacts& advice) {
      return AdviceName(advice.id) == id;
    });
    return found == outcome_.facts.advice.end() ? nullptr : &*found;
  }
  // Checks that no advice with this id was reported. If it is the name of a row that has the id of
  // another row, checks that this row was not reported.
  void CheckSilence(const std::string& name, const std::string& line) {
    bool is_known = false;
    for (const RuleRow& row : AllRules()) {
      if (name != AdviceName(row.id) && name != RuleName(row)) continue;
      is_known = true;
      outcome_.refused.push_back(RuleName(row));
      if (OfId(AdviceName(row.id)) != nullptr) return Fail("it is said", line);
    }
    if (!is_known) Fail("no such rule", line);
  }
  // Checks an expected line "advice ID", which may be followed by a size.
  void CheckAdvice(const std::string& rest, const std::string& line) {
    const std::vector<std::string> words = Words(rest);
    if (words.empty()) return Fail("not understood", line);
    outcome_.expected.push_back(words[0]);
    const AdviceFacts* advice = OfId(words[0]);
    if (advice == nullptr) return Fail("it is not said", line);
    const std::string bytes = After(rest, words[0]);
    if (!bytes.empty()) Same(FormatBytes(advice->bytes).text, bytes, line);
  }

  struct Block {
    uint64_t address = 0;
    uint64_t size = 0;
    bool is_tensor = false;
  };
  ScenarioSource source_;
  std::map<std::string, uint32_t> stacks_;
  std::map<std::string, Block> blocks_;
  std::map<std::string, Block> cached_;  // freed, and still PyTorch's
  std::vector<std::string> expectations_;
  ScenarioOutcome outcome_;
  uint64_t next_address_ = uint64_t{1} << 32;
};

}  // namespace

std::string RuleName(const RuleRow& row) {
  std::string name;
  for (const char letter : row.name) {
    const bool is_capital = letter >= 'A' && letter <= 'Z';
    if (is_capital && !name.empty()) name += '_';
    name += is_capital ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name;
}

ScenarioOutcome RunScenario(const std::string& text) { return Runner().Run(text); }

}  // namespace vramstow
