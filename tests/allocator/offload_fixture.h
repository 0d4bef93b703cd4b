// OffloadTest: a fixture with a pool and an offloader on a fake device, which tracks the contents
// of every block.
//
// VRAMSTOW_DRIVER_LOG names a file to which every driver call and every block is written, in order.
#ifndef VRAMSTOW_TESTS_ALLOCATOR_OFFLOAD_FIXTURE_H_
#define VRAMSTOW_TESTS_ALLOCATOR_OFFLOAD_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "allocator/offload/offloader.h"
#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/driver_log.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {

class OffloadTest : public testing::Test {
 protected:
  static uint64_t NumberOr(const char* variable, uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }
  // Creates the device, the pool and the offloader. A test that calls Start a second time calls
  // TearDown in between.
  void Start(uint64_t device_bytes, uint64_t host_bytes = kGiB,
             void (*spoil)(DriverTable*) = nullptr, bool maps_host = true) {
    pool_ = std::make_unique<Pool>();
    new (&offloader_) Offloader;
    live_.clear();
    tags_.clear();
    shared_.clear();
    expected_.clear();
    FakeDevice::Options options = device_options_;
    options.total_bytes = device_bytes;
    options.host_memory = maps_host;
    device_ = std::make_unique<FakeDevice>(options);
    table_ = log_path_ == nullptr ? *device_->table() : *log_.Over(device_->table());
    if (spoil != nullptr) spoil(&table_);
    PoolConfig config;
    config.check = true;
    config.last_wait_ns = 1'000'000;
    config.reclaim_callback = {Offloader::Reclaim, &offloader_};
    config.sink = sink_;
    config.large_chunk_bytes = large_chunk_bytes_;
    config.large_chunk_part = large_chunk_part_;
    ASSERT_EQ(pool_->Open(&table_, config), PoolError::kOk);
    OffloadConfig offload = config_;
    offload.host_bytes = host_bytes;
    offload.keep_free_bytes = 0;
    offload.gate_wait_ns = 5'000'000;
    offload.work_wait_ns = work_wait_ns_;
    ASSERT_EQ(offloader_.Open(pool_->pages(), &gate_, offload), maps_host);
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    device_->FailNothing();
    device_->FinishAll();
    for (const auto& [address, size] : live_) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
    EXPECT_STREQ(pool_->Check(), nullptr);
    EXPECT_STREQ(pool_->check_failure(), nullptr);
    offloader_.Close(true);
    pool_->Close(PoolEnd::kAlive);
    EXPECT_EQ(device_->created_bytes(), 0U);
    EXPECT_EQ(device_->host_bytes(), 0U);
    EXPECT_EQ(device_->pinned_bytes(), 0U);
    EXPECT_EQ(device_->ranges(), 0U);
    EXPECT_TRUE(device_->violations().empty()) << device_->violations().front();
    device_ = nullptr;
    if (log_path_ == nullptr) return;
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    std::ofstream(log_path_, std::ios::app) << "== " << test->name() << "\n" << log_.text();
    log_.Clear();
  }

  uint64_t Take(uint64_t size, uint64_t stream = 1, uint32_t tag = 0) {
    Block block{};
    const BlockRequest request{.size = size, .stream = stream, .tag = tag};
    const PoolError error = pool_->Allocate(request, &block);
    if (log_path_ != nullptr) log_.Allocated("", error, block);
    if (error != PoolError::kOk) return 0;
    live_[block.address] = size;
    tags_[block.address] = tag;
    Fill(block.address);
    return block.address;
  }
  void Fill(uint64_t address) {
    for (uint64_t at = 0; at < live_.at(address); at += kMiB / 2) {
      device_->Write(address + at, address ^ at ^ ++writes_);
      expected_[address + at] = address ^ at ^ writes_;
    }
  }
  void Give(uint64_t address) {
    ForgetContents(address);
    live_.erase(address);
    tags_.erase(address);
    shared_.erase(address);
    EXPECT_EQ(pool_->Free(address), PoolError::kOk);
  }
  void ForgetContents(uint64_t address) {
    const uint64_t end = address + live_.at(address);
    expected_.erase(expected_.lower_bound(address), expected_.lower_bound(end));
  }
  uint64_t Pause(uint32_t tag, bool keep = true) {
    uint64_t bytes = 0;
    last_ = offloader_.Pause(tag, {.keep = keep}, &bytes);
    return bytes;
  }
  uint64_t Resume(uint32_t tag, uint64_t most_bytes) {
    uint64_t bytes = 0;
    last_ = offloader_.Resume(tag, most_bytes, &bytes);
    return bytes;
  }
  // Resumes all memory; returns how many bytes were restored.
  uint64_t Resume(uint64_t most_bytes = ~uint64_t{0}) {
    return Resume(Offloader::kAnyTag, most_bytes);
  }
  // Shares the block's memory with another process, so that the block must not move any more. Only
  // some blocks are shared; the rest can still move.
  void Share(uint64_t address) {
    const std::vector<uint64_t> handles = HandlesOf(address);
    if (live_.at(address) >= kMiB && !handles.empty()) shared_[address] = handles;
  }
  std::vector<uint64_t> HandlesOf(uint64_t address) {
    BlockInfo info{};
    if (live_.at(address) < kMiB || pool_->Find(address, &info) != PoolError::kOk) return {};
    std::vector<uint64_t> handles(live_.at(address) / kMiB + 2);
    handles.resize(pool_->ChunksOf(address, info.id, 0, handles.data(),
                                   static_cast<uint32_t>(handles.size())));
    return handles;
  }
  void ExpectSharedChunks() {
    for (const auto& [address, handles] : shared_) {
      ASSERT_EQ(HandlesOf(address), handles) << std::hex << address;
    }
  }
  // Expects that every live block has the word that was written to it.
  void ExpectContents() {
    for (const auto& [address, word] : expected_) {
      ASSERT_EQ(device_->Read(address), word) << std::hex << address;
    }
  }
  // Expects that every live block has the word that was written to it. Blocks with paused tags are
  // left out, because they cannot be read.
  void ExpectContentsButOf(const std::set<uint32_t>& paused) {
    for (const auto& [address, word] : expected_) {
      const uint32_t tag = std::prev(tags_.upper_bound(address))->second;
      if (paused.count(tag) != 0 && !device_->Accessible(address, 8)) continue;
      ASSERT_EQ(device_->Read(address), word) << std::hex << address;
    }
  }

  // Runs a random program (offload_program.cc), with large chunks if the test has set their size.
  void RunManySteps(uint64_t seed);
  void OneStep();
  void PauseSome(uint32_t tag);
  void ResumeSome(uint32_t tag);

  const char* log_path_ = std::getenv("VRAMSTOW_DRIVER_LOG");
  DriverLog log_;
  OffloadConfig config_;                // settings that Start does not change
  FakeDevice::Options device_options_;  // settings that Start does not change
  uint64_t work_wait_ns_ = 1'000'000;
  uint64_t large_chunk_bytes_ = 0;
  uint64_t large_chunk_part_ = 2;
  EventSink sink_;
  std::unique_ptr<FakeDevice> device_;
  DriverTable table_{};
  std::unique_ptr<Pool> pool_;
  SubmissionGate gate_;
  Offloader offloader_;
  std::map<uint64_t, uint64_t> live_;  // address: size
  std::map<uint64_t, uint32_t> tags_;
  std::map<uint64_t, std::vector<uint64_t>> shared_;  // address: handles of its chunks
  OffloadResult last_ = OffloadResult::kDone;
  std::map<uint64_t, uint64_t> expected_;
  uint64_t writes_ = 0;
  std::mt19937_64 random_;
  std::set<uint32_t> paused_tags_;
  bool capturing_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_ALLOCATOR_OFFLOAD_FIXTURE_H_
