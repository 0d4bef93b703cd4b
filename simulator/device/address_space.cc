#include "simulator/device/address_space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/rounding.h"
#include "base/units.h"

namespace vramstow::simulator {
namespace {

// The file is sparse, so its length costs nothing. It is so long that no offset has to be used
// twice.
constexpr uint64_t kFileBytes = 1ull << 50;

// Preferred addresses of the two reservations: the device addresses, and the shadow (the host
// memory that holds their bytes). If the preferred addresses are free, each run has the same
// addresses.
constexpr uint64_t kAddressHint = 0x200000000000;
constexpr uint64_t kShadowHint = 0x300000000000;

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer supports only a few address ranges, and they are small.
constexpr bool kUseHints = false;
constexpr uint64_t kMappedSizes[] = {128 * kGiB};
#else
constexpr bool kUseHints = true;
constexpr uint64_t kMappedSizes[] = {8 * kTiB, 1 * kTiB, 256 * kGiB, 32 * kGiB};
#endif

void* ReserveRange(uint64_t hint, uint64_t bytes) {
  const uint64_t size = bytes + kDevicePage;  // room to align
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* wish = reinterpret_cast<void*>(static_cast<uintptr_t>(hint));
  void* got = MAP_FAILED;
  if (kUseHints) got = mmap(wish, size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != MAP_FAILED && got != wish) {  // the kernel treats the address only as a hint
    munmap(got, size);
    got = MAP_FAILED;
  }
  if (got == MAP_FAILED) got = mmap(nullptr, size, PROT_NONE, kFlags, -1, 0);
  return got;
}

}  // namespace

AddressSpace::~AddressSpace() { Release(); }

void AddressSpace::Release() {
  if (size_ != 0) {
    munmap(address_range_, size_ + kDevicePage);
    munmap(shadow_range_, size_ + kDevicePage);
  }
  for (const int file : files_) close(file);
  files_.clear();
  next_offset_.clear();
  size_ = 0;
}

bool AddressSpace::Reserve(int devices, uint64_t device_bytes, std::string* error) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    *error =
        "simulated card: the limit on file sizes (ulimit -f) keeps device memory from being "
        "made; lift it.";
    return false;
  }
  devices_ = devices;
  // Twice the device memory leaves room for holes between blocks. If the process does not have that
  // many free addresses, as many addresses as bytes of device memory are enough to work.
  for (const uint64_t factor : {2, 1}) {
    plain_size_ = AlignUp(device_bytes * factor, kGiB);
    for (const uint64_t mapped : kMappedSizes) {
      if (!ReserveAddresses(devices * plain_size_ + mapped)) continue;
      if (MakeFiles(error)) return true;
      Release();
      return false;
    }
  }
  *error = "simulated card: no address range of " +
           std::string(FormatBytes(2 * devices * device_bytes).text) +
           " is to be had; lift the limit on address space (ulimit -v) or give memory= less.";
  return false;
}

bool AddressSpace::ReserveAddresses(uint64_t size) {
  void* addresses = ReserveRange(kAddressHint, size);
  if (addresses == MAP_FAILED) return false;
  void* shadow = ReserveRange(kShadowHint, size);
  if (shadow == MAP_FAILED) {
    munmap(addresses, size + kDevicePage);
    return false;
  }
  address_range_ = addresses;
  shadow_range_ = shadow;
  // The kernel aligns a range to small pages only. So the area begins at the first large page
  // inside the range.
  base_ = AlignUp(reinterpret_cast<uintptr_t>(addresses), kDevicePage);
  delta_ = AlignUp(reinterpret_cast<uintptr_t>(shadow), kDevicePage) - base_;
  size_ = size;
  madvise(Shadow(base_), size, MADV_DONTDUMP);
  return true;
}

bool AddressSpace::MakeFiles(std::string* error) {
  for (int device = 0; device <= devices_; ++device) {  // the last one is host_file()
    const int file = memfd_create("vramstow-simulated-device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kFileBytes) != 0) {
      *error = std::string("simulated card: memory for the device cannot be made: ") +
               strerror(errno) + ".";
      if (file >= 0) close(file);
      return false;
    }
    files_.push_back(file);
    next_offset_.push_back(plain_size_);
    if (device == devices_) break;
    void* plain = mmap(Shadow(plain_base(device)), plain_size_, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0);
    if (plain == MAP_FAILED) {
      *error =
          std::string("simulated card: device memory cannot be mapped: ") + strerror(errno) + ".";
      return false;
    }
    madvise(plain, plain_size_, MADV_DONTDUMP);
  }
  return true;
}

uint64_t AddressSpace::NewOffsets(int file, uint64_t bytes) {
  const uint64_t offset = next_offset_[file];
  next_offset_[file] += AlignUp(bytes, kDevicePage);
  return offset;
}

bool AddressSpace::Map(uint64_t address, uint64_t bytes, int file, uint64_t offset) {
  return MapDescriptor(address, bytes, files_[file], offset);
}

bool AddressSpace::MapDescriptor(uint64_t address, uint64_t bytes, int descriptor,
                                 uint64_t offset) {
  return mmap(Shadow(address), bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED | MAP_NORESERVE, descriptor,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

void AddressSpace::Unmap(uint64_t address, uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  // If the kernel refuses one more mapping, the old mapping is at least made inaccessible.
  if (mmap(Shadow(address), bytes, PROT_NONE, kFlags, -1, 0) == MAP_FAILED) {
    mprotect(Shadow(address), bytes, PROT_NONE);
  }
}

void AddressSpace::Punch(uint64_t address, uint64_t bytes) {
  ++punches_;
  madvise(Shadow(address), bytes, MADV_REMOVE);
}

void AddressSpace::PunchFile(int file, uint64_t offset, uint64_t bytes) {
  ++punches_;
  fallocate(files_[file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(bytes));
}

uint64_t AddressSpace::HeldBytes() const {
  uint64_t held = 0;
  for (int device = 0; device < devices_; ++device) {
    struct stat status = {};
    if (fstat(files_[device], &status) != 0) continue;
    held += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return held;
}

bool AddressSpace::NextWritten(int descriptor, uint64_t offset, uint64_t* start, uint64_t* stop) {
  const off_t data = lseek(descriptor, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return false;
  const off_t hole = lseek(descriptor, data, SEEK_HOLE);
  *start = static_cast<uint64_t>(data);
  *stop = hole < 0 ? ~uint64_t{0} : static_cast<uint64_t>(hole);
  return true;
}

}  // namespace vramstow::simulator
