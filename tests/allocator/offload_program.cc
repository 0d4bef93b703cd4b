// The random program of the offload tests: blocks, work, touches, moves and failures.
#include <cstdlib>
#include <string>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

const std::vector<std::string> kCalls = {"create_host", "host_allocate", "map",
                                         "set_access",  "copy_start",    "copy_finish",
                                         "unmap",       "create",        "event_record_all"};

}  // namespace

void OffloadTest::PauseSome(uint32_t tag) {
  paused_tags_.insert(tag);
  if (random_() % 4 != 0) {
    Pause(tag);
    return;
  }
  // The pause with keep=false may discard the contents even if it fails, so the test does not
  // expect them afterwards.
  for (const auto& [address, of_block] : tags_) {
    if (of_block == tag) ForgetContents(address);
  }
  Pause(tag, /*keep=*/false);
}

void OffloadTest::ResumeSome(uint32_t tag) {
  Resume(tag == 0 ? Offloader::kAnyTag : tag, ~uint64_t{0});
  if (last_ != OffloadResult::kDone) return;
  for (const auto& [address, of_block] : tags_) {
    if (tag == 0 || of_block == tag) {
      ASSERT_TRUE(device_->Accessible(address, 1));
    }
  }
  if (tag == 0) paused_tags_.clear();
  paused_tags_.erase(tag);
}

void OffloadTest::OneStep() {
  const uint64_t stream = 1 + random_() % 3;
  const uint32_t tag = static_cast<uint32_t>(random_() % 4);
  switch (random_() % 14) {
    case 0:
    case 1:
    case 2: {
      const uint64_t exponent = 12 + random_() % 12;
      const uint64_t size = (uint64_t{1} << exponent) + random_() % (uint64_t{1} << exponent);
      const uint64_t block = Take(size, stream, tag);
      if (block != 0) device_->Submit(stream, block, size);
      break;
    }
    case 3:
    case 4:
    case 5:
      if (!live_.empty()) {
        auto victim = live_.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random_() % live_.size()));
        Give(victim->first);
      }
      break;
    case 6:
      offloader_.MoveOut(random_() % (16 * kMiB), OffloadReason::kAsked);
      break;
    case 7:
      offloader_.Tick();
      if (!live_.empty()) offloader_.Touch(live_.rbegin()->first);
      if (random_() % 2 == 0) {
        offloader_.BringBack(random_() % (16 * kMiB));
      } else {
        Resume(random_() % (16 * kMiB));
      }
      break;
    case 8:
      device_->Finish(stream, random_() % 4);
      if (random_() % 4 == 0) pool_->Trim({});
      break;
    case 9:
      if (tag != 0 && random_() % 2 != 0) PauseSome(tag);
      break;
    case 10:
      ResumeSome(tag);
      break;
    case 11:
      capturing_ = !capturing_;
      if (capturing_) pool_->CaptureBegins();
      if (!capturing_) pool_->CaptureEnds();
      break;
    case 12:
      if (!live_.empty()) Share(std::next(live_.begin(), random_() % live_.size())->first);
      break;
    default:
      device_->FailNth(kCalls[random_() % kCalls.size()], 1 + random_() % 20, false);
      break;
  }
}

void OffloadTest::RunManySteps(uint64_t seed) {
  SCOPED_TRACE(seed);
  const int steps = std::getenv("VRAMSTOW_LONG") != nullptr ? 1'250'000 : 13'000;
  Start(48 * kMiB, 64 * kMiB);
  random_.seed(seed);
  paused_tags_.clear();
  capturing_ = false;
  device_->set_on_pause([this] {
    for (uint64_t stream = 1; stream <= 3; ++stream) device_->Finish(stream, 1);
  });
  for (int step = 0; step < steps; ++step) {
    OneStep();
    if (step % 10 == 0) {
      ExpectContentsButOf(paused_tags_);
      ExpectSharedChunks();
    }
    if (HasFailure()) return;
  }
  if (capturing_) pool_->CaptureEnds();
  const OffloadStats stats = offloader_.Stats();
  EXPECT_GT(stats.out_bytes, kGiB);
  EXPECT_GT(stats.in_bytes, 100 * kMiB);
  EXPECT_GT(stats.failed, 0U);
  EXPECT_EQ(device_->MadeLarger(2 * kMiB) > 100, large_chunk_bytes_ != 0);
  TearDown();
}

}  // namespace vramstow
