#include "simulator/device/host_pages.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "simulator/device/contents.h"
#include "simulator/device/virtual_memory.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kMiB = 1ull << 20;
constexpr const char* kBy = "mm";

// Private pages without a file, as the driver allocates them.
class Pages {
 public:
  explicit Pages(uint64_t size) : size_(size) {
    bytes_ = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~Pages() { munmap(bytes_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* bytes() const { return bytes_; }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(bytes_); }
  uint64_t size() const { return size_; }
  uint64_t CountWritten() const {
    uint64_t written = 0;
    for (const HostRun& run : FindHostRuns(bytes_, size_)) {
      if (run.is_written) written += run.size;
    }
    return written;
  }

 private:
  uint64_t size_;
  char* bytes_ = nullptr;
};

TEST(HostPagesTest, APageIsWrittenOnceSomebodyWroteToItAndNotWhereItWasRead) {
  const Pages pages(8 * kSmallPage);
  EXPECT_EQ(0u, pages.CountWritten());
  static_cast<void>(*const_cast<volatile char*>(pages.bytes() + kSmallPage));
  pages.bytes()[3 * kSmallPage] = 0;
  pages.bytes()[4 * kSmallPage + 7] = 1;
  const std::vector<HostRun> runs = FindHostRuns(pages.bytes() + 100, 6 * kSmallPage);
  ASSERT_EQ(3u, runs.size());
  EXPECT_FALSE(runs[0].is_written);
  EXPECT_EQ(3 * kSmallPage - 100, runs[0].size);
  EXPECT_TRUE(runs[1].is_written);
  EXPECT_EQ(runs[0].size, runs[1].offset);
  EXPECT_EQ(2 * kSmallPage, runs[1].size);
  EXPECT_FALSE(runs[2].is_written);
  EXPECT_EQ(6 * kSmallPage, runs[2].offset + runs[2].size);
}

TEST(HostPagesTest, WhatWasWrittenIsFoundWhileAChildSharesThePages) {
  const Pages pages(4 * kSmallPage);
  pages.bytes()[kSmallPage] = 1;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const uint64_t written = pages.CountWritten();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(kSmallPage, written);
}

TEST(HostPagesTest, ZerosGiveBackWholePagesOfTheDriversAndLeaveWhatLiesAroundThem) {
  const Pages pages(8 * kSmallPage);
  memset(pages.bytes(), 7, pages.size());
  ZeroHost(pages.bytes() + 100, 5 * kSmallPage, HostOwner::kDriver);
  EXPECT_EQ(4 * kSmallPage, pages.CountWritten());
  EXPECT_EQ(7, pages.bytes()[99]);
  EXPECT_TRUE(IsZero(pages.bytes() + 100, 5 * kSmallPage));
  EXPECT_EQ(7, pages.bytes()[100 + 5 * kSmallPage]);
}

TEST(HostPagesTest, LockedPagesAreWrittenInstead) {
  const Pages pages(4 * kSmallPage);
  memset(pages.bytes(), 7, pages.size());
  if (mlock(pages.bytes(), pages.size()) != 0) GTEST_SKIP() << "no page may be locked here";
  ZeroHost(pages.bytes(), pages.size(), HostOwner::kDriver);
  EXPECT_TRUE(IsZero(pages.bytes(), pages.size()));
}

TEST(HostPagesTest, OfTheProgramsMemoryOnlyWhatIsNotZeroIsWritten) {
  const Pages pages(8 * kSmallPage);
  pages.bytes()[2 * kSmallPage + 5] = 7;
  ZeroHost(pages.bytes() + 3, pages.size() - 6, HostOwner::kProgram);
  EXPECT_TRUE(IsZero(pages.bytes(), pages.size()));
  EXPECT_EQ(kSmallPage, pages.CountWritten());
  ASSERT_EQ(0, mprotect(pages.bytes(), pages.size(), PROT_READ));
  ZeroHost(pages.bytes(), pages.size(), HostOwner::kProgram);
}

TEST(HostPagesTest, ZerosAreToldFromOtherBytes) {
  char bytes[9] = {};
  EXPECT_TRUE(IsZero(bytes, 0));
  EXPECT_TRUE(IsZero(bytes, 9));
  bytes[8] = 1;
  EXPECT_TRUE(IsZero(bytes, 8));
  EXPECT_FALSE(IsZero(bytes, 9));
  EXPECT_FALSE(IsZero(bytes + 8, 1));
}

class HostCopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    ASSERT_TRUE(space_.Reserve(1, 256 * kMiB, &error)) << error;
    memory_.emplace(&space_, 1, 256 * kMiB);
    virtual_.emplace(&space_, &*memory_, std::vector<int>{0});
    contents_.emplace(&space_, &*memory_, &*virtual_, true, 16 * kMiB);
  }
  uint64_t Allocate(uint64_t bytes) {
    Block* block = nullptr;
    EXPECT_EQ(Result::kSuccess, memory_->Allocate(0, bytes, BlockKind::kDevice, this, &block));
    return block->address;
  }
  void Pin(const Pages& pages, BlockKind kind = BlockKind::kHostPinned) {
    memory_->AddHost(pages.address(), pages.size(), kind, this);
  }
  const char* Origin(uint64_t address, uint64_t bytes = 1) {
    return contents_->uncomputed().Find(address, bytes);
  }
  char At(uint64_t address) const { return *space_.Shadow(address); }

  AddressSpace space_;
  std::optional<Memory> memory_;
  std::optional<VirtualMemory> virtual_;
  std::optional<Contents> contents_;
};

TEST_F(HostCopyTest, WhatWasNotComputedTakesNoPageOnTheHostAndIsKnownWhenItComesBack) {
  constexpr uint64_t kSize = 64 * kMiB;
  const uint64_t first = Allocate(kSize);
  const uint64_t second = Allocate(kSize);
  const Pages pages(kSize);
  Pin(pages);
  contents_->uncomputed().Mark(first, kSize, kBy);
  contents_->Fill(second, 9, 1, 1000);
  contents_->Copy(pages.address(), first, kSize);
  EXPECT_STREQ(kBy, contents_->uncomputed().PopLastRead());
  EXPECT_EQ(0u, pages.CountWritten());
  const uint64_t held = space_.HeldBytes();
  EXPECT_FALSE(contents_->LeavesOut(second, pages.address(), kSize)) << "it takes no room";
  contents_->Copy(second, pages.address(), kSize);
  EXPECT_LE(space_.HeldBytes(), held);
  EXPECT_EQ(0, At(second + 500));
  EXPECT_STREQ(kBy, Origin(second));
  EXPECT_STREQ(kBy, Origin(second + kSize - 1));
}

TEST_F(HostCopyTest, PagesThatWereWrittenBeforeAreGivenBack) {
  constexpr uint64_t kSize = 8 * kMiB;
  const uint64_t block = Allocate(kSize);
  const Pages pages(kSize);
  Pin(pages);
  memset(pages.bytes(), 7, kSize);
  contents_->uncomputed().Mark(block, kSize, kBy);
  contents_->Copy(pages.address() + 10, block, kSize - 20);
  EXPECT_EQ(2 * kSmallPage, pages.CountWritten());
  EXPECT_EQ(7, pages.bytes()[9]);
  EXPECT_EQ(0, pages.bytes()[10]);
  EXPECT_EQ(0, pages.bytes()[kSize - 11]);
  EXPECT_EQ(7, pages.bytes()[kSize - 10]);
}

TEST_F(HostCopyTest, WhatTheHostWroteMeanwhileIsComputedAndTheRestIsNot) {
  constexpr uint64_t kSize = 8 * kMiB;
  const uint64_t block = Allocate(kSize);
  const Pages pages(kSize);
  Pin(pages);
  contents_->uncomputed().Mark(block, kSize, kBy, /*is_old=*/true);
  contents_->Copy(pages.address(), block, kSize);
  pages.bytes()[kMiB] = 0;  // zeros are written values, too
  pages.bytes()[2 * kMiB] = 3;
  contents_->Copy(block, pages.address(), kSize);
  EXPECT_EQ(3, At(block + 2 * kMiB));
  EXPECT_EQ(nullptr, Origin(block + kMiB, kSmallPage));
  EXPECT_EQ(nullptr, Origin(block + 2 * kMiB, kSmallPage));
  EXPECT_STREQ(kBy, Origin(block + kMiB - 1));
  EXPECT_STREQ(kBy, Origin(block + kMiB + kSmallPage));
  EXPECT_EQ(nullptr, contents_->uncomputed().FindLost(block, kSize)) << "it has old values";
}

TEST_F(HostCopyTest, ASmallResultThatWasNotComputedIsKnownFromAFreshPage) {
  const uint64_t block = Allocate(512);
  const Pages pages(kSmallPage);
  Pin(pages);
  contents_->uncomputed().Mark(block, 512, kBy);
  contents_->Copy(pages.address(), block, 512);
  contents_->Copy(block, pages.address(), 512);
  EXPECT_STREQ(kBy, Origin(block));
  pages.bytes()[0] = 5;
  contents_->Copy(block, pages.address(), 512);
  EXPECT_EQ(nullptr, Origin(block));
  EXPECT_EQ(5, At(block));
}

TEST_F(HostCopyTest, ZerosOfTheDriverOnTheHostAreComputed) {
  constexpr uint64_t kSize = 4 * kMiB;
  const uint64_t block = Allocate(kSize);
  const uint64_t zeros = Allocate(kSize);
  const Pages pages(kSize);
  Pin(pages);
  contents_->uncomputed().Mark(block, kSize, kBy);
  for (int way = 0; way < 3; ++way) {
    contents_->Copy(pages.address(), block, kSize);
    if (way == 0) contents_->Fill(pages.address(), 0, 1, kSize);
    if (way == 1) contents_->Copy(pages.address(), zeros, kSize);
    if (way == 2) contents_->ForgetHost(pages.address(), kSize);
    const uint64_t other = Allocate(kSize);
    contents_->Copy(other, pages.address(), kSize);
    EXPECT_EQ(nullptr, Origin(other, kSize)) << way;
  }
}

TEST_F(HostCopyTest, ZerosOfTheProgramGiveTheirPagesBackBeforeACopyAndAreComputed) {
  constexpr uint64_t kSize = 4 * kMiB;
  const uint64_t block = Allocate(kSize);
  const Pages pages(kSize);
  Pin(pages);
  contents_->uncomputed().Mark(block, kSize, kBy);
  contents_->Copy(pages.address(), block, kSize);
  memset(pages.bytes(), 0, kSize);
  EXPECT_EQ(kSize, pages.CountWritten());
  contents_->GiveBackZeros(pages.address(), kSize);
  EXPECT_EQ(0u, pages.CountWritten());
  contents_->Copy(block, pages.address(), kSize);
  EXPECT_EQ(nullptr, Origin(block, kSize));
  pages.bytes()[kMiB] = 1;
  contents_->GiveBackZeros(pages.address(), kSize);
  EXPECT_EQ(1, pages.bytes()[kMiB]);
}

TEST_F(HostCopyTest, MemoryOfTheProgramIsOnlyWrittenWhereItIsNotZeroAndKeepsNoMarks) {
  constexpr uint64_t kSize = 4 * kMiB;
  const uint64_t block = Allocate(kSize);
  contents_->uncomputed().Mark(block, kSize, kBy);
  const Pages pageable(kSize);
  const Pages registered(kSize);
  Pin(registered, BlockKind::kHostRegistered);
  for (const Pages* pages : {&pageable, &registered}) {
    pages->bytes()[5] = 1;
    contents_->Copy(pages->address(), block, kSize);
    EXPECT_EQ(kSmallPage, pages->CountWritten());
    EXPECT_TRUE(IsZero(pages->bytes(), kSize));
    const uint64_t other = Allocate(kSize);
    contents_->Copy(other, pages->address(), kSize);
    EXPECT_EQ(nullptr, Origin(other, kSize));
  }
}

// Compares every byte with a model that knows which bytes are marked as not computed. The mark of
// an uncomputed byte may be lost if its page was written. A computed byte must never get a mark.
TEST_F(HostCopyTest, BytesAreThoseOfTheModelWhateverIsCopied) {
  constexpr uint64_t kSize = 96 * 1024;
  const uint64_t device = Allocate(2 * kMiB);
  const Pages pages(kSize);
  Pin(pages);
  std::vector<std::pair<char, bool>> on_device(kSize);  // each byte, and whether it is uncomputed
  std::vector<std::pair<char, bool>> on_host(kSize);
  std::mt19937 random(11);
  uint64_t carried = 0;
  for (int step = 0; step < 600; ++step) {
    const uint64_t size = 1 + random() % (random() % 2 == 0 ? kSize : 6000);
    const uint64_t from = random() % (kSize - size + 1);
    const uint64_t to = random() % (kSize - size + 1);
    const char value = static_cast<char>(random() % 3);
    switch (random() % 5) {
      case 0:
        contents_->Fill(device + to, static_cast<unsigned char>(value), 1, size);
        std::fill_n(on_device.begin() + to, size, std::pair(value, false));
        break;
      case 1:
        contents_->LeaveOut(device + to, size);
        std::fill_n(on_device.begin() + to, size, std::pair('\0', true));
        break;
      case 2:
        memset(pages.bytes() + to, value, size);
        std::fill_n(on_host.begin() + to, size, std::pair(value, false));
        break;
      case 3:
        contents_->Copy(pages.address() + to, device + from, size);
        std::copy_n(on_device.begin() + from, size, on_host.begin() + to);
        break;
      default:
        contents_->Copy(device + to, pages.address() + from, size);
        std::copy_n(on_host.begin() + from, size, on_device.begin() + to);
    }
    for (uint64_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(on_host[i].first, pages.bytes()[i]) << step;
      ASSERT_EQ(on_device[i].first, At(device + i)) << step;
    }
    for (uint64_t i = 0; i < kSize; i += 64) {
      const bool is_marked = Origin(device + i) != nullptr;
      ASSERT_TRUE(on_device[i].second || !is_marked) << step;
      if (is_marked) ++carried;
      on_device[i].second = is_marked || on_device[i].second;
    }
  }
  EXPECT_GT(carried, 0u);
}

// Does what the offloader does: a chunk on the host replaces a chunk of a device at its address,
// and is later replaced by a device's chunk again.
TEST_F(HostCopyTest, WhatMovesToTheHostAtTheSameAddressTakesItsMarksAndNoPages) {
  constexpr uint64_t kSize = 16 * kDevicePage;
  uint64_t place = 0;
  uint64_t window = 0;
  ASSERT_EQ(Result::kSuccess, virtual_->Reserve(kSize, 0, 0, &place));
  ASSERT_EQ(Result::kSuccess, virtual_->Reserve(kSize, 0, 0, &window));
  const auto create = [&](int device) {
    uint64_t handle = 0;
    Physical wish;
    wish.device = device;
    wish.size = kSize;
    EXPECT_EQ(Result::kSuccess, virtual_->Create(wish, &handle));
    return handle;
  };
  const auto map = [&](uint64_t address, uint64_t handle) {
    ASSERT_EQ(Result::kSuccess, virtual_->Map(address, kSize, 0, handle));
    contents_->BeginMapping(address, kSize);
  };
  const auto unmap = [&](uint64_t address) {
    contents_->EndMapping(address, kSize);
    ASSERT_EQ(Result::kSuccess, virtual_->Unmap(address, kSize));
  };
  map(place, create(0));
  contents_->Fill(place + kMiB, 5, 1, 100);
  contents_->uncomputed().Mark(place + 2 * kMiB, 20 * kMiB, kBy);
  for (const int device : {kHost, 0, kHost}) {
    const uint64_t chunk = create(device);
    map(window, chunk);
    contents_->Copy(window, place, kSize);
    unmap(window);
    unmap(place);
    map(place, chunk);
    EXPECT_EQ(5, At(place + kMiB));
    EXPECT_STREQ(kBy, Origin(place + 2 * kMiB)) << device;
    EXPECT_STREQ(kBy, Origin(place + 22 * kMiB - 1)) << device;
    EXPECT_EQ(nullptr, Origin(place, 2 * kMiB)) << device;
    EXPECT_EQ(nullptr, Origin(place + 22 * kMiB, kMiB)) << device;
    uint64_t start = 0;
    uint64_t stop = 0;
    ASSERT_TRUE(AddressSpace::NextWritten(space_.descriptor(space_.host_file()), 0, &start, &stop));
    EXPECT_LE(stop - start, kDevicePage);
  }
  // If other memory is mapped at the same address, it does not get the marks of uncomputed bytes
  // that the earlier memory had.
  unmap(place);
  map(place, create(0));
  EXPECT_EQ(nullptr, Origin(place, kSize));
}

}  // namespace
}  // namespace vramstow::simulator
