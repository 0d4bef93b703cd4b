// Runs random programs against the pool on the fake device: streams, work, recorded uses, frees,
// trims, limits, captures, destroyed streams. A model knows which blocks are live and which memory
// unfinished work touches; no block may be reused too early, overlap another, or lie on memory that
// is not mapped. In every other program the reserved and allocated bytes are computed from the
// events alone and compared after every step. Some programs run on memory of the plain driver,
// which cannot be mapped elsewhere.
//
// The same programs are also run on drivers that each lie in one way: the test must detect it, or
// it proves nothing. VRAMSTOW_LONG=1 runs a hundred times as many steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

constexpr uint64_t kStreams = 5;

struct Setting {
  bool context_events = true;
  bool pauses_finish = false;
  uint64_t memory = 192 * kMiB;
  uint64_t chunk = 2 * kMiB;
  bool many_mappings = true;
  PoolBacking backing = PoolBacking::kVirtual;
  bool virtual_memory = true;
  uint64_t odd_bytes = 0;
  uint64_t large_chunk = 0;
  bool registers = false;            // some blocks are registered with a network card
  bool streams_come_and_go = false;  // more streams than timelines, some with reused handles
};

class Program {
 public:
  Program(uint64_t seed, const Setting& setting)
      : random_(seed),
        device_(Options(setting)),
        come_and_go_(setting.streams_come_and_go),
        registers_(setting.registers) {
    for (uint64_t stream = 1; stream <= kStreams; ++stream) names_.push_back(stream);
    table_ = *device_.table();
    if (setting.pauses_finish) {
      device_.set_on_pause([this] { device_.FinishAll(); });
    }
    config_.chunk_bytes = setting.chunk;
    config_.backing = setting.backing;
    config_.large_chunk_bytes = setting.large_chunk;
    config_.large_chunk_part = 1;
    config_.stitch_wait_ns = 50'000;
    config_.last_wait_ns = 500'000;
    config_.steal_after_ns = 20'000'000;
    config_.decay_ns = 100'000'000;
    // Every other program has no event sink, as most pools have none.
    if (seed % 2 == 0) config_.sink = {OnEvent, this};
  }

  DriverTable* table() { return &table_; }
  FakeDevice* device() { return &device_; }
  void set_forget_uses() { forget_uses_ = true; }

  // Returns the first error, or nothing.
  std::optional<std::string> Run(uint64_t steps) {
    if (pool_->Open(&table_, config_) != PoolError::kOk) return "the pool did not open";
    for (const uint64_t stream : names_) pool_->NoteStream(stream);
    if (come_and_go_) TakeAllTimelines();
    for (uint64_t step = 0; step < steps && !wrong_; ++step) {
      Step();
      CompareWithEvents();
      if (step % 128 == 0) Look();
    }
    if (capturing_) pool_->CaptureEnds();
    for (const Held& held : live_) {
      if (pool_->Free(held.address) != PoolError::kOk) Wrong("a live block could not be freed");
    }
    Look();
    device_.FinishAll();
    pool_->KeepPrivate(1, false);  // otherwise cached memory there cannot move
    pool_->Trim({~uint64_t{0}, 1'000'000'000});
    std::map<uint64_t, uint64_t> kept_handles;
    for (const auto& [page, handle] : registered_) kept_handles[handle] = device_.SizeOf(handle);
    uint64_t kept = 0;
    for (const auto& [handle, size] : kept_handles) kept += size;
    if (!wrong_ && pool_->Stats().reserved_bytes != kept) Wrong("trim left memory behind");
    registered_.clear();  // they end with the pool
    registrations_.clear();
    released_later_.clear();
    pool_->Close(PoolEnd::kAlive);
    Look();
    if (!wrong_ && device_.created_bytes() + device_.events_alive() + device_.ranges() != 0) {
      Wrong("something was left on the device");
    }
    return wrong_;
  }

  uint64_t allocations() const { return allocations_; }
  uint64_t large_chunks() const { return device_.MadeLarger(config_.chunk_bytes); }

 private:
  struct Held {
    uint64_t address;
    uint64_t size;
    uint64_t stream;
  };

  static FakeDevice::Options Options(const Setting& setting) {
    FakeDevice::Options options;
    options.total_bytes = setting.memory;
    options.context_events = setting.context_events;
    options.many_mappings = setting.many_mappings;
    options.virtual_memory = setting.virtual_memory;
    options.odd_bytes = setting.odd_bytes;
    return options;
  }

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  uint64_t SomeStream() { return names_[Below(names_.size())]; }
  bool Lives(uint64_t stream) const {
    return std::find(names_.begin(), names_.end(), stream) != names_.end();
  }
  void Wrong(const std::string& what) {
    if (!wrong_) wrong_ = what;
  }

  // True for chunks, and for segments of a pool without virtual memory.
  static bool IsReserved(MemoryKind memory) {
    return memory == MemoryKind::kPhysical || memory == MemoryKind::kDevice;
  }

  // Computes the reserved, allocated and pending bytes from the events alone.
  static uint64_t OnEvent(void* context, Event* event) {
    auto* self = static_cast<Program*>(context);
    const uint64_t sequence = ++self->heard_;
    const bool gives = event->kind == EventKind::kAllocate;
    const bool takes = event->kind == EventKind::kFree;
    if (event->kind == EventKind::kRefused && event->object == self->last_release_) {
      self->recorded_reserved_ += self->last_release_bytes_;
    } else if (event->layer != Layer::kPool) {
      if (gives) self->recorded_allocated_ += event->size;
      if (takes) self->recorded_allocated_ -= event->size;
    } else if (IsReserved(event->memory) && event->result == kDriverSuccess) {
      if (gives) self->recorded_reserved_ += event->size;
      if (takes) {
        self->recorded_reserved_ -= event->size;
        self->last_release_ = sequence;
        self->last_release_bytes_ = event->size;
      }
    }
    return sequence;
  }

  void CompareWithEvents() {
    if (config_.sink.take == nullptr) return;
    const PoolStats stats = pool_->Stats();
    if (recorded_reserved_ != stats.reserved_bytes)
      Wrong("the events give another amount of reserved memory");
    if (recorded_allocated_ != stats.allocated_bytes)
      Wrong("the events give another amount of allocated memory");
  }

  void Look() {
    if (const char* found = pool_->Check(); found != nullptr) Wrong(found);
    const std::vector<std::string> violations = device_.violations();
    if (!violations.empty()) Wrong(violations.front());
    for (const auto& [page, handle] : registered_) {
      if (device_.HandleAt(page) != handle) Wrong("registered memory has got other chunks");
    }
  }

  void Register() {
    constexpr size_t kMaxPages = 8;
    if (live_.empty() || registered_.size() >= kMaxPages) return;
    const Held& held = live_[Below(live_.size())];
    if (held.size > 2 * config_.chunk_bytes) return;
    const bool for_good = Below(2) == 0;
    if (for_good) {
      pool_->RegisterChunks(held.address, held.size);
    } else {
      const uint64_t bytes = pool_->HoldChunks(held.address, held.size);
      if (bytes != held.size) Wrong("less is held than was asked for");
      released_later_.push_back({held.address, held.size});
    }
    VisitPages(held.address, held.size, [&](uint64_t at) {
      registered_[at] = device_.HandleAt(at);
      registrations_[at] += for_good ? kForGood : 1;
    });
  }

  void Release() {
    if (released_later_.empty()) return;
    const size_t which = Below(released_later_.size());
    const auto [address, size] = released_later_[which];
    released_later_.erase(released_later_.begin() + static_cast<ptrdiff_t>(which));
    pool_->ReleaseChunks(address, size);
    VisitPages(address, size, [&](uint64_t at) {
      if (--registrations_[at] == 0) registered_.erase(at);
    });
  }

  template <typename Visit>
  void VisitPages(uint64_t address, uint64_t size, Visit visit) {
    const uint64_t chunk = config_.chunk_bytes;
    for (uint64_t at = address / chunk * chunk; at < address + size; at += chunk) visit(at);
  }

  void Step() {
    if (come_and_go_ && Below(16) == 0) return Destroy();
    if (registers_ && Below(64) == 0) return Register();
    if (registers_ && Below(96) == 0) return Release();
    const uint64_t dice = Below(1000);
    if (dice < 400) return Allocate();
    if (dice < 640) return Submit();
    if (dice < 860) return Free();
    if (dice < 960) return Finish();
    if (dice < 970) return device_.Advance(Below(50'000'000));
    if (dice < 978) return static_cast<void>(pool_->Maintain());
    if (dice < 984)
      return static_cast<void>(pool_->Trim({Below(64 * kMiB) + 1, Below(2) * 10'000}));
    if (dice < 988) return pool_->SetLimit(Below(2) * (64 * kMiB + Below(128 * kMiB)));
    if (dice < 991) return device_.SetForeignBytes(Below(64 * kMiB));
    if (dice < 994) return Destroy();
    if (dice < 996) return pool_->KeepPrivate(1, Below(2) != 0);
    if (capturing_) {
      pool_->CaptureEnds();
    } else {
      pool_->CaptureBegins();
    }
    capturing_ = !capturing_;
  }

  uint64_t SomeSize() {
    switch (Below(4)) {
      case 0:
        return 1 + Below(4 * kKiB);
      case 1:
        return 1 + Below(kMiB);
      case 2:
        return (1 + Below(6)) * 2 * kMiB;
      default:
        return 1 + Below(12 * kMiB);
    }
  }

  void Allocate() {
    if (live_.size() > 60) return Free();
    BlockRequest request{SomeSize()};
    if (Below(4) != 0) request.stream = SomeStream();
    request.pool = Below(10) == 0 ? 1 : 0;
    Block block{};
    const PoolError error = pool_->Allocate(request, &block);
    if (error == PoolError::kOutOfMemory) {
      if (!live_.empty()) Free();
      return;
    }
    if (error != PoolError::kOk) return Wrong(PoolErrorName(error));
    ++allocations_;
    if (block.size < request.size || block.address % kBlockBytes != 0) Wrong("a misshapen block");
    if (!device_.Accessible(block.address, block.size)) Wrong("a block without memory");
    if (device_.Touched(block.address, block.size, request.stream)) Wrong("handed out too early");
    for (const Held& held : live_) {
      if (held.address < block.address + block.size && block.address < held.address + held.size) {
        Wrong("two live blocks overlap");
      }
      if (device_.Overlap(held.address, held.size, block.address, block.size)) {
        Wrong("two live blocks share memory");
      }
    }
    live_.push_back({block.address, block.size, request.stream});
  }

  void Submit() {
    if (live_.empty()) return;
    const Held& held = live_[Below(live_.size())];
    uint64_t stream = held.stream;
    if (stream == kUnknownStream || Below(3) == 0 || !Lives(stream)) stream = SomeStream();
    if (held.stream != kUnknownStream && stream != held.stream && !forget_uses_) {
      if (pool_->RecordUse(held.address, stream) != PoolError::kOk) Wrong("a use was refused");
    }
    device_.Submit(stream, held.address, held.size);
  }

  void Free() {
    if (live_.empty()) return;
    const size_t which = Below(live_.size());
    if (pool_->Free(live_[which].address) != PoolError::kOk) Wrong("a free was refused");
    if (pool_->Free(live_[which].address) == PoolError::kOk) Wrong("a second free was not refused");
    live_[which] = live_.back();
    live_.pop_back();
  }

  // Finishes work, including work of destroyed streams.
  void Finish() {
    const bool ghost = come_and_go_ && destroyed_ != 0 && Below(2) != 0;
    device_.Finish(ghost ? kGhosts + Below(destroyed_) : SomeStream(), 1 + Below(4));
  }

  // Destroys a stream and creates another one in its place, which gets the same handle or, if
  // streams come and go, sometimes a new one.
  void Destroy() {
    if (capturing_) return;
    uint64_t& name = names_[Below(names_.size())];
    for (const Held& held : live_) {
      // The stream is not destroyed while it owns live blocks: after its handle is reused, the
      // stream of such a block could not be identified.
      if (held.stream == name) return;
    }
    pool_->StreamDestroyed(name);
    device_.RenameStream(name, kGhosts + destroyed_++);
    if (come_and_go_ && Below(2) != 0) name = kNewNames + destroyed_;
    pool_->StreamCreated(name);
    pool_->NoteStream(name);
  }

  // Before the program begins, uses and destroys streams until all timelines are in use.
  void TakeAllTimelines() {
    for (uint64_t stream = kEarlier; stream < kEarlier + Fences::kMaxTimelines; ++stream) {
      Block block{};
      if (pool_->Allocate({1, stream}, &block) != PoolError::kOk) return Wrong("no memory");
      device_.Submit(stream, block.address, block.size);
      if (pool_->Free(block.address) != PoolError::kOk) Wrong("a free was refused");
      pool_->StreamDestroyed(stream);
      device_.DestroyStream(stream);
      if (stream % 2 == 0) device_.Finish(stream);
    }
  }

  static constexpr uint64_t kEarlier = 10'000;
  static constexpr uint64_t kNewNames = 20'000;
  static constexpr uint64_t kGhosts = 30'000;

  std::mt19937_64 random_;
  FakeDevice device_;
  DriverTable table_{};
  PoolConfig config_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
  std::vector<Held> live_;
  bool capturing_ = false;
  bool come_and_go_ = false;
  bool registers_ = false;
  static constexpr int kForGood = 1'000'000;
  std::map<uint64_t, int> registrations_;  // number of registrations of each page
  std::vector<std::pair<uint64_t, uint64_t>> released_later_;  // addresses and sizes
  std::map<uint64_t, uint64_t> registered_;  // pages, and the handles that were mapped there
  std::vector<uint64_t> names_;              // handles of the existing streams
  bool forget_uses_ = false;
  uint64_t destroyed_ = 0;
  uint64_t allocations_ = 0;
  uint64_t heard_ = 0;
  uint64_t recorded_reserved_ = 0;
  uint64_t recorded_allocated_ = 0;
  uint64_t last_release_ = 0;  // the last recorded release, in case it is refused
  uint64_t last_release_bytes_ = 0;
  std::optional<std::string> wrong_;
};

uint64_t Steps() { return std::getenv("VRAMSTOW_LONG") != nullptr ? 400'000 : 4'000; }

TEST(PoolProperty, NothingIsHandedOutTooEarlyOverlapsOrLeaks) {
  const Setting settings[] = {
      {},
      {.context_events = false},
      {.pauses_finish = true},
      {.memory = 64 * kMiB},
      {.memory = 64 * kMiB, .many_mappings = false},
      {.context_events = false, .pauses_finish = true, .memory = 64 * kMiB, .chunk = 4 * kMiB},
      {.backing = PoolBacking::kSegments},
      {.memory = 64 * kMiB, .backing = PoolBacking::kAny, .virtual_memory = false},
      {.context_events = false, .pauses_finish = true, .backing = PoolBacking::kSegments},
      {.backing = PoolBacking::kSegments, .odd_bytes = 512 * kKiB},
      {.registers = true},
      {.context_events = false, .memory = 64 * kMiB, .registers = true},
      {.memory = 64 * kMiB, .many_mappings = false, .registers = true},
      {.pauses_finish = true, .memory = 640 * kMiB, .registers = true, .streams_come_and_go = true},
      {.large_chunk = 8 * kMiB},
      {.pauses_finish = true, .memory = 64 * kMiB, .large_chunk = 16 * kMiB},
      {.memory = 96 * kMiB, .many_mappings = false, .large_chunk = 8 * kMiB},
      {.context_events = false, .memory = 96 * kMiB, .large_chunk = 8 * kMiB, .registers = true},
      {.memory = kGiB, .streams_come_and_go = true},
      {.context_events = false, .memory = kGiB, .streams_come_and_go = true},
      {.pauses_finish = true, .memory = 640 * kMiB, .streams_come_and_go = true},
      {.memory = kGiB, .backing = PoolBacking::kSegments, .streams_come_and_go = true},
  };
  uint64_t allocations = 0;
  for (const Setting& setting : settings) {
    uint64_t large_chunks = 0;
    const uint64_t seeds = setting.streams_come_and_go ? 2 : 6;  // checking many heaps takes long
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      Program program(seed, setting);
      const std::optional<std::string> wrong = program.Run(Steps());
      ASSERT_FALSE(wrong.has_value())
          << *wrong << "; seed " << seed << ", setting " << &setting - settings;
      allocations += program.allocations();
      large_chunks += program.large_chunks();
    }
    if (setting.large_chunk == 0) {
      EXPECT_EQ(large_chunks, 0U) << &setting - settings;
    } else {
      // A pool keeps its chunks, so that more steps need not make more of them.
      EXPECT_GT(large_chunks, 40U) << &setting - settings;
    }
    RecordProperty("large_chunks_" + std::to_string(&setting - settings),
                   static_cast<int>(large_chunks));
  }
  EXPECT_GT(allocations, Steps() * 2);
}

// --- The test of the test ------------------------------------------------------------------------

// Runs programs until one detects the lie; returns the error that it reported.
template <typename Break>
std::string Noticed(Break break_it, const Setting& setting = {}) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Program program(seed, setting);
    break_it(&program);
    const std::optional<std::string> wrong = program.Run(4'000);
    if (wrong) return *wrong;
  }
  return "nothing";
}

TEST(PoolPropertyTest, NoticesEventsThatCompleteTooEarly) {
  const std::string noticed = Noticed([](Program* program) {
    program->table()->event_query = [](void*, uint64_t) { return kDriverSuccess; };
  });
  EXPECT_TRUE(noticed == "handed out too early" || noticed == "unmap under running work")
      << noticed;
}

TEST(PoolPropertyTest, NoticesFencesOnTheWrongStream) {
  static DriverTable honest;
  const std::string noticed = Noticed([](Program* program) {
    honest = *program->table();
    program->table()->event_record = [](void* self, uint64_t event, uint64_t stream) {
      return honest.event_record(self, event, stream % kStreams + 1);
    };
  });
  EXPECT_TRUE(noticed == "handed out too early" || noticed == "unmap under running work")
      << noticed;
}

TEST(PoolPropertyTest, NoticesUsesThatWereNotRecorded) {
  const std::string noticed = Noticed([](Program* program) { program->set_forget_uses(); });
  EXPECT_TRUE(noticed == "handed out too early" || noticed == "unmap under running work")
      << noticed;
}

TEST(PoolPropertyTest, NoticesTheSameWithThePlainDriversMemory) {
  const Setting plain{.backing = PoolBacking::kSegments};
  EXPECT_EQ(Noticed([](Program* program) { program->set_forget_uses(); }, plain),
            "handed out too early");
  const std::string noticed = Noticed(
      [](Program* program) {
        program->table()->event_query = [](void*, uint64_t) { return kDriverSuccess; };
      },
      plain);
  EXPECT_TRUE(noticed == "handed out too early" || noticed == "unmap under running work")
      << noticed;
  const std::string kept = Noticed(
      [](Program* program) {
        program->table()->free = [](void*, uint64_t) { return kDriverSuccess; };
      },
      plain);
  EXPECT_NE(kept, "nothing");
}

TEST(PoolPropertyTest, NoticesStaleMappings) {
  const std::string noticed = Noticed([](Program* program) {
    program->table()->unmap = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
  });
  EXPECT_NE(noticed, "nothing");
}

TEST(PoolPropertyTest, NoticesMissingAccess) {
  const std::string noticed = Noticed([](Program* program) {
    program->table()->set_access = [](void*, uint64_t, uint64_t) { return kDriverSuccess; };
  });
  EXPECT_EQ(noticed, "a block without memory");
}

}  // namespace
}  // namespace vramstow
