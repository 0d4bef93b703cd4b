#include "tests/allocator/scenario.h"

#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/driver_log.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

using Words = std::vector<std::string>;

class Runner {
 public:
  Runner(const Fault& fault, DriverLog* log) : fault_(fault), log_(log) {}

  ScenarioResult Run(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    for (line_ = 1; std::getline(lines, line); ++line_) {
      std::istringstream stream(line.substr(0, line.find('#')));
      Words words;
      for (std::string word; stream >> word;) words.push_back(word);
      if (!words.empty()) Step(words);
    }
    End();
    return result_;
  }

 private:
  struct Named {
    uint64_t address = 0;
    uint64_t size = 0;
    Served served = Served::kUnknown;
  };

  // Returns settings without slack (memory that the pool may hold beyond the peak to avoid moves of
  // chunks). Scenarios are small, so their expectations are easier to understand without it.
  static PoolConfig NoSlack() {
    PoolConfig config;
    config.slack_permille = 0;
    config.restless_slack_permille = config.slack_permille;
    return config;
  }

  bool lenient() const { return fault_.nth != 0; }
  void Fail(const std::string& what) {
    result_.failures.push_back("line " + std::to_string(line_) + ": " + what);
  }

  uint64_t Bytes(const std::string& text) {
    uint64_t bytes = 0;
    if (!ParseBytes(text, &bytes)) Fail("no size: " + text);
    return bytes;
  }
  uint64_t Time(const std::string& text) {
    uint64_t time = 0;
    if (!ParseDuration(text, &time)) Fail("no time: " + text);
    return time;
  }
  static bool Has(const Words& words, const std::string& word) {
    for (const std::string& each : words) {
      if (each == word) return true;
    }
    return false;
  }
  // Returns the text after "key=", or the default `normal`.
  static std::string Value(const Words& words, const std::string& key, const std::string& normal) {
    for (const std::string& word : words) {
      if (word.rfind(key + "=", 0) == 0) return word.substr(key.size() + 1);
    }
    return normal;
  }
  static uint64_t Stream(const Words& words) {
    const std::string text = Value(words, "stream", "");
    return text.empty() ? kUnknownStream : std::stoull(text);
  }

  void Open() {
    if (pool_ != nullptr) return;
    device_ = std::make_unique<FakeDevice>(options_);
    SetPauses();
    if (lenient()) device_->FailNth(fault_.call, fault_.nth, fault_.forever);
    config_.check = true;
    pool_ = std::make_unique<Pool>();
    const DriverTable* table = device_->table();
    if (log_ != nullptr) table = log_->Over(table);
    open_ = pool_->Open(table, config_) == PoolError::kOk;
  }

  void Step(const Words& words) {
    const std::string& verb = words[0];
    if (verb == "device") return Device(words);
    if (verb == "pool") return Configure(words);
    if (verb == "pauses") {
      pauses_finish_ = words.at(1) == "finish";
      if (device_ != nullptr) SetPauses();
      return;
    }
    Open();
    if (verb == "expect") return lenient() ? void() : Expect(words);
    if (!open_) return lenient() ? void() : Fail("the pool could not open");
    if (verb == "alloc") return Allocate(words);
    if (verb == "free") return Free(words);
    if (verb == "use") return Use(words);
    if (verb == "hook") return AddHook(words);
    if (verb == "submit") {
      const Named& named = names_[words.at(1)];
      if (named.address != 0) device_->Submit(Stream(words), named.address, named.size);
    } else if (verb == "finish") {
      words.at(1) == "all" ? device_->FinishAll() : device_->Finish(Stream(words));
    } else if (verb == "trim") {
      Trim(words);
    } else if (verb == "maintain") {
      released_ = pool_->Maintain();
    } else if (verb == "advance") {
      device_->Advance(Time(words.at(1)));
    } else if (verb == "limit") {
      pool_->SetLimit(Bytes(words.at(1)));
    } else if (verb == "fail") {
      if (lenient()) return;
      if (words.at(1) == "nothing") return device_->FailNothing();
      device_->FailNth(words.at(1), std::stoull(words.at(2)), Has(words, "forever"),
                       Has(words, "refused") ? kDriverNotSupported : kDriverOutOfMemory);
    } else if (verb == "foreign") {
      device_->SetForeignBytes(Bytes(words.at(1)));
    } else if (verb == "note") {
      pool_->NoteStream(Stream(words));
    } else if (verb == "capture") {
      words.at(1) == "begins" ? pool_->CaptureBegins() : pool_->CaptureEnds();
    } else if (verb == "destroy") {
      pool_->StreamDestroyed(Stream(words));
      device_->DestroyStream(Stream(words));
    } else {
      Fail("unknown command " + verb);
    }
  }

  void SetPauses() {
    FakeDevice* device = device_.get();
    device_->set_on_pause(pauses_finish_ ? std::function<void()>([device] { device->FinishAll(); })
                                         : std::function<void()>());
  }

  void Device(const Words& words) {
    options_.total_bytes = Bytes(Value(words, "memory", "1GiB"));
    options_.granularity = Bytes(Value(words, "granularity", "2MiB"));
    options_.context_events = !Has(words, "no-context-events");
    options_.virtual_memory = !Has(words, "no-vmm");
    options_.many_mappings = !Has(words, "maps-once");
  }

  void Configure(const Words& words) {
    config_.chunk_bytes = Bytes(Value(words, "chunk", "2MiB"));
    const std::map<std::string, PoolBacking> backings = {{"vmm", PoolBacking::kVirtual},
                                                         {"malloc", PoolBacking::kSegments},
                                                         {"auto", PoolBacking::kAny}};
    config_.backing = backings.at(Value(words, "backing", "vmm"));
    config_.small_bytes = Bytes(Value(words, "small", "1MiB"));
    config_.slack_permille = static_cast<uint32_t>(std::stoul(Value(words, "slack", "0")));
    config_.restless_slack_permille = config_.slack_permille;
    config_.repeat_slack_permille = config_.slack_permille;
    config_.shadows = Value(words, "shadows", "on") == "on";
    config_.limit_bytes = Bytes(Value(words, "limit", "0"));
    config_.watermark_bytes = Bytes(Value(words, "watermark", "0"));
    config_.decay_ns = Time(Value(words, "decay", "0"));
    config_.steal_after_ns = Time(Value(words, "steal-after", "200ms"));
    config_.stitch_wait_ns = Time(Value(words, "stitch-wait", "20ms"));
    config_.last_wait_ns = Time(Value(words, "last-wait", "1s"));
  }

  void Allocate(const Words& words) {
    BlockRequest request{Bytes(words.at(2)), Stream(words), std::stoull(Value(words, "pool", "0")),
                         Has(words, "framework") ? Layer::kFramework : Layer::kDriver};
    Block block{};
    const PoolError error = pool_->Allocate(request, &block);
    if (log_ != nullptr) log_->Allocated(words.at(1), error, block);
    if (error != PoolError::kOk) {
      if (!lenient() && !Has(words, "fails")) Fail("alloc: " + std::string(PoolErrorName(error)));
      return;
    }
    if (!lenient() && Has(words, "fails")) Fail("alloc did not fail");
    if (!device_->Accessible(block.address, block.size)) Fail("the block is not mapped");
    // Earlier work of the request's own stream may still use the block, because the stream's later
    // work waits for it. Work of other streams must not.
    if (device_->Touched(block.address, block.size, request.stream)) Fail("handed out too early");
    for (const auto& [name, other] : names_) {
      if (other.address < block.address + block.size &&
          block.address < other.address + other.size && live_.count(name) != 0) {
        Fail("overlaps " + name);
      }
      if (live_.count(name) != 0 &&
          device_->Overlap(block.address, block.size, other.address, other.size)) {
        Fail("shares memory with " + name);
      }
    }
    names_[words.at(1)] = {block.address, block.size, block.served};
    live_[words.at(1)] = true;
  }

  void Free(const Words& words) {
    const std::string& name = words.at(1);
    if (lenient() && live_.count(name) == 0) return;
    const PoolError error = pool_->Free(names_[name].address);
    if (log_ != nullptr) log_->Freed(name, error);
    live_.erase(name);
    if ((error != PoolError::kOk) != Has(words, "fails")) {
      Fail("free: " + std::string(PoolErrorName(error)));
    }
  }

  void Use(const Words& words) {
    if (lenient() && live_.count(words.at(1)) == 0) return;
    const PoolError error = pool_->RecordUse(names_[words.at(1)].address, Stream(words));
    if (error != PoolError::kOk) Fail("use: " + std::string(PoolErrorName(error)));
  }

  void Trim(const Words& words) {
    TrimRequest request;
    if (words.size() > 1 && words[1].find('=') == std::string::npos)
      request.bytes = Bytes(words[1]);
    request.wait_ns = Time(Value(words, "wait", "0"));
    released_ = pool_->Trim(request).released_bytes;
  }

  struct HookTask {
    Runner* runner;
    std::string frees;
    uint64_t allocates;
  };
  void AddHook(const Words& words) {
    hooks_.push_back(std::make_unique<HookTask>());
    HookTask* task = hooks_.back().get();
    task->runner = this;
    task->frees = words.at(1) == "frees" ? words.at(2) : "";
    task->allocates = words.at(1) == "allocates" ? Bytes(words.at(2)) : 0;
    const bool added = pool_->AddHook(
        [](void* context, HookKind kind, uint64_t) {
          auto* hook = static_cast<HookTask*>(context);
          if (kind != HookKind::kPressure) return;
          Runner* runner = hook->runner;
          if (runner->live_.count(hook->frees) != 0) {
            runner->pool_->Free(runner->names_[hook->frees].address);
            runner->live_.erase(hook->frees);
          }
          if (hook->allocates == 0) return;
          Block block{};
          const BlockRequest request{hook->allocates};
          if (runner->pool_->Allocate(request, &block) == PoolError::kOk) {
            runner->pool_->Free(block.address);
          }
        },
        task);
    if (!added) Fail("the hook was not added");
  }

  uint64_t Number(const std::string& what) {
    const PoolStats stats = pool_->Stats();
    const OutOfMemoryReport report = pool_->LastReport();
    uint64_t free_memory = 0;
    uint64_t total_memory = 0;
    pool_->MemoryInfo(&free_memory, &total_memory);
    const std::map<std::string, uint64_t> numbers = {
        {"reserved", stats.reserved_bytes},
        {"allocated", stats.allocated_bytes},
        {"requested", stats.requested_bytes},
        {"pending", stats.pending_bytes},
        {"live", stats.live_blocks},
        {"misses", stats.misses},
        {"hits", stats.allocations - stats.misses},
        {"released", released_},
        {"hooks", stats.hook_calls},
        {"waits", stats.fence_waits},
        {"out-of-memory", stats.out_of_memory},
        {"peak-reserved", stats.peak_reserved_bytes},
        {"peak-allocated", stats.peak_allocated_bytes},
        {"moved", stats.moved_chunks},
        {"grown", stats.grown_chunks},
        {"free-memory", free_memory},
        {"total-memory", total_memory},
        {"report-requested", report.requested_bytes},
        {"report-largest", report.largest_free_bytes},
        {"report-free", report.free_bytes},
    };
    const auto found = numbers.find(what);
    if (found == numbers.end()) {
      Fail("expect does not know " + what);
      return 0;
    }
    return found->second;
  }

  void Compare(const std::string& what, uint64_t seen, const std::string& expected) {
    const uint64_t wanted = Bytes(expected);
    if (seen != wanted) {
      Fail(what + " is " + std::to_string(seen) + ", expected " + std::to_string(wanted));
    }
  }

  void Expect(const Words& words) {
    const std::string& what = words.at(1);
    if (what == "unavailable") {
      if (open_) Fail("the pool opened");
    } else if (what == "calls") {
      Compare("calls of " + words.at(2), device_->Calls(words.at(2)), words.at(3));
    } else if (what == "at-most") {
      if (device_->Calls(words.at(3)) > std::stoull(words.at(4))) {
        Fail(words.at(3) + " was called " + std::to_string(device_->Calls(words.at(3))) + " times");
      }
    } else if (what == "same" || what == "different") {
      const bool same = names_[words.at(2)].address == names_[words.at(3)].address;
      if (same != (what == "same")) Fail("not " + what + ": " + words.at(2) + ", " + words.at(3));
    } else if (what == "served") {
      const std::map<std::string, Served> ways = {{"hit", Served::kHit},
                                                  {"fence", Served::kFence},
                                                  {"stitch", Served::kStitch},
                                                  {"grow", Served::kGrow}};
      const Served seen = names_[words.at(2)].served;
      if (ways.at(words.at(3)) != seen) {
        Fail(words.at(2) + " was served in way " + std::to_string(static_cast<int>(seen)));
      }
    } else {
      Compare(what, Number(what), words.at(2));
    }
  }

  void End() {
    if (pool_ == nullptr) return;
    device_->FailNothing();
    if (open_) {
      const char* wrong = pool_->Check();
      if (wrong != nullptr) Fail(wrong);
      if (pool_->check_failure() != nullptr) Fail(pool_->check_failure());
    }
    device_->FinishAll();
    result_.driver_calls = device_->AllCalls();
    if (open_) pool_->Close(PoolEnd::kAlive);
    if (device_->created_bytes() != 0) Fail("chunks were left on the device");
    if (device_->mapped_bytes() != 0) Fail("mappings were left on the device");
    if (device_->events_alive() != 0) Fail("events were left on the device");
    if (device_->allocations() != 0) Fail("allocations were left on the device");
    if (device_->ranges() != 0) Fail("address ranges were left on the device");
    for (const std::string& violation : device_->violations()) Fail(violation);
  }

  Fault fault_;
  DriverLog* log_;
  ScenarioResult result_;
  int line_ = 0;
  FakeDevice::Options options_;
  PoolConfig config_ = NoSlack();
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Pool> pool_;
  bool open_ = false;
  bool pauses_finish_ = false;
  uint64_t released_ = 0;
  std::map<std::string, Named> names_;
  std::map<std::string, bool> live_;
  std::vector<std::unique_ptr<HookTask>> hooks_;
};

}  // namespace

ScenarioResult RunScenario(const std::string& text, const Fault& fault, DriverLog* log) {
  return Runner(fault, log).Run(text);
}

}  // namespace vramstow
