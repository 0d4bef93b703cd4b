// Tests virtual memory: reservations, references, access rights and their loss, properties. More
// tests are in virtual_memory_test.cc.
#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class MappingTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = device_;
    ASSERT_OK(driver_.cuMemGetAllocationGranularity(&page_, &properties_,
                                                    CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  }
  CUdeviceptr Reserve(size_t pages) {
    CUdeviceptr range = 0;
    EXPECT_OK(driver_.cuMemAddressReserve(&range, pages * page_, 0, 0, 0));
    return range;
  }
  CUmemGenericAllocationHandle Create(size_t pages) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(driver_.cuMemCreate(&handle, pages * page_, &properties_, 0));
    return handle;
  }
  CUresult SetAccess(CUdeviceptr at, size_t pages, CUmemAccess_flags flags) {
    CUmemAccessDesc access = {};
    access.location = properties_.location;
    access.flags = flags;
    return driver_.cuMemSetAccess(at, pages * page_, &access, 1);
  }
  // Maps `pages` pages of the handle at an address in a range, with full access.
  CUdeviceptr MapOne(CUdeviceptr range, CUmemGenericAllocationHandle handle, size_t pages) {
    EXPECT_OK(driver_.cuMemMap(range, pages * page_, 0, handle, 0));
    EXPECT_OK(SetAccess(range, pages, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    return range;
  }

  CUmemAllocationProp properties_ = {};
  size_t page_ = 0;
};
using UndefinedMappingTest = MappingTest;

TEST_F(MappingTest, ReservationsAreApartAndAligned) {
  const CUdeviceptr first = Reserve(3);
  const CUdeviceptr second = Reserve(5);
  EXPECT_EQ(0u, first % page_);
  EXPECT_TRUE(first + 3 * page_ <= second || second + 5 * page_ <= first);
  EXPECT_OK(driver_.cuMemAddressFree(first, 3 * page_));
  EXPECT_OK(driver_.cuMemAddressFree(second, 5 * page_));
}

TEST_F(MappingTest, AlignmentIsKept) {
  CUdeviceptr range = 0;
  const size_t alignment = 64 * kMiB;
  ASSERT_OK(driver_.cuMemAddressReserve(&range, page_, alignment, 0, 0));
  EXPECT_EQ(0u, range % alignment);
  EXPECT_OK(driver_.cuMemAddressFree(range, page_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressReserve(&range, page_, 3, 0, 0));
}

TEST_F(MappingTest, HintThatIsTakenIsNoError) {
  const CUdeviceptr range = Reserve(4);
  CUdeviceptr other = 0;
  ASSERT_OK(driver_.cuMemAddressReserve(&other, 4 * page_, 0, range, 0));
  EXPECT_NE(range, other);
  EXPECT_OK(driver_.cuMemAddressFree(range, 4 * page_));
  EXPECT_OK(driver_.cuMemAddressFree(other, 4 * page_));
}

TEST_F(MappingTest, SizesMustBeWholePages) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressReserve(&range, page_ + 1, 0, 0, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressReserve(&range, 0, 0, 0, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, page_ / 2, &properties_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, 0, &properties_, 0));
}

TEST_F(MappingTest, FlagsMustBeZero) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressReserve(&range, page_, 0, 0, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, page_, &properties_, 1));
  range = Reserve(1);
  handle = Create(1);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemMap(range, page_, 0, handle, 1));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, page_));
}

TEST_F(MappingTest, ReservationIsFreedWholeAndOnce) {
  const CUdeviceptr range = Reserve(4);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressFree(range, 2 * page_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressFree(range + page_, 3 * page_));
  EXPECT_OK(driver_.cuMemAddressFree(range, 4 * page_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressFree(range, 4 * page_));
}

TEST_F(MappingTest, OnlyTheBeginningOfAMappingMustBeReserved) {
  const CUdeviceptr range = Reserve(2);
  const CUmemGenericAllocationHandle handle = Create(4);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemMap(0x7000000000, 4 * page_, 0, handle, 0));
  EXPECT_OK(driver_.cuMemMap(range, 4 * page_, 0, handle, 0)) << "two pages too many";
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressFree(range, 2 * page_));
  EXPECT_OK(driver_.cuMemUnmap(range, 4 * page_));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
}

// If a mapping extends beyond its reservation, the addresses behind the reservation are not
// reserved, even while memory is mapped there.
TEST_F(UndefinedMappingTest, WhatAMappingHasBehindItsReservationIsNotReserved) {
  const CUdeviceptr range = Reserve(2);
  const CUmemGenericAllocationHandle handle = Create(4);
  EXPECT_OK(driver_.cuMemMap(range, 4 * page_, 0, handle, 0));
  const auto behind = [&] {
    CUdeviceptr got = 0;
    EXPECT_OK(driver_.cuMemAddressReserve(&got, page_, 0, range + 2 * page_, 0));
    EXPECT_OK(driver_.cuMemAddressFree(got, page_));
    return got == range + 2 * page_;
  };
  CUdeviceptr start = 0;
  EXPECT_OK(driver_.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                          range + 3 * page_));
  EXPECT_EQ(range, start);
  EXPECT_FALSE(behind());
  EXPECT_OK(driver_.cuMemUnmap(range, 4 * page_));
  EXPECT_TRUE(behind());
  CUdeviceptr neighbour = 0;
  EXPECT_OK(driver_.cuMemAddressReserve(&neighbour, page_, 0, range + 2 * page_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemMap(range, 4 * page_, 0, handle, 0));
  EXPECT_OK(driver_.cuMemAddressFree(neighbour, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
}

TEST_F(UndefinedMappingTest, ReleasedHandleIsNotMapped) {
  const CUdeviceptr range = Reserve(1);
  const CUmemGenericAllocationHandle handle = Create(1);
  ASSERT_OK(driver_.cuMemRelease(handle));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemMap(range, page_, 0, handle, 0));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemRelease(handle)) << "twice";
  CUmemAllocationProp got = {};
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemGetAllocationPropertiesFromHandle(&got, handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, page_));
}

TEST_F(MappingTest, FreshMappingGivesNoAccess) {
  const CUdeviceptr range = Reserve(1);
  const CUmemGenericAllocationHandle handle = Create(1);
  ASSERT_OK(driver_.cuMemMap(range, page_, 0, handle, 0));
  unsigned long long flags = 9;
  ASSERT_OK(driver_.cuMemGetAccess(&flags, &properties_.location, range));
  EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_NONE), flags);
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemsetD8(range, 1, page_));
  EXPECT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, page_));
}

TEST_F(MappingTest, ReadOnlyMemoryIsReadAndNotWritten) {
  const CUdeviceptr range = Reserve(1);
  const CUmemGenericAllocationHandle handle = Create(1);
  MapOne(range, handle, 1);
  ASSERT_OK(driver_.cuMemsetD8(range, 3, page_));
  ASSERT_OK(driver_.cuCtxSynchronize());
  ASSERT_OK(SetAccess(range, 1, CU_MEM_ACCESS_FLAGS_PROT_READ));
  EXPECT_EQ(3, Read(range, 1)[0]);
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemsetD8(range, 4, page_));
  EXPECT_EQ(3, Read(range, 1)[0]);
  EXPECT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, page_));
}

TEST_F(MappingTest, AccessCoversSeveralMappingsAtOnce) {
  const CUdeviceptr range = Reserve(4);
  const CUmemGenericAllocationHandle first = Create(1);
  const CUmemGenericAllocationHandle second = Create(3);
  ASSERT_OK(driver_.cuMemMap(range, page_, 0, first, 0));
  ASSERT_OK(driver_.cuMemMap(range + page_, 3 * page_, 0, second, 0));
  ASSERT_OK(SetAccess(range, 4, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  ASSERT_OK(driver_.cuMemsetD8(range, 8, 4 * page_)) << "one fill over both";
  EXPECT_EQ(8, Read(range + page_ - 1, 2)[1]);
  ASSERT_OK(driver_.cuMemUnmap(range, 4 * page_)) << "and one unmap";
  EXPECT_OK(driver_.cuMemRelease(first));
  EXPECT_OK(driver_.cuMemRelease(second));
  EXPECT_OK(driver_.cuMemAddressFree(range, 4 * page_));
}

TEST_F(MappingTest, UnmappingARunThatEndsWithinAMappingIsRefused) {
  const CUdeviceptr range = Reserve(3);
  const CUmemGenericAllocationHandle first = Create(1);
  const CUmemGenericAllocationHandle second = Create(2);
  ASSERT_OK(driver_.cuMemMap(range, page_, 0, first, 0));
  ASSERT_OK(driver_.cuMemMap(range + page_, 2 * page_, 0, second, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemUnmap(range, 2 * page_));
  EXPECT_OK(driver_.cuMemUnmap(range, 3 * page_));
  EXPECT_OK(driver_.cuMemRelease(first));
  EXPECT_OK(driver_.cuMemRelease(second));
  EXPECT_OK(driver_.cuMemAddressFree(range, 3 * page_));
}

TEST_F(MappingTest, UnmappingOneOfTwoAddressesLeavesTheOther) {
  const CUdeviceptr range = Reserve(2);
  const CUmemGenericAllocationHandle handle = Create(1);
  MapOne(range, handle, 1);
  MapOne(range + page_, handle, 1);
  ASSERT_OK(driver_.cuMemsetD8(range, 22, page_));
  ASSERT_OK(driver_.cuCtxSynchronize());
  ASSERT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_EQ(22, Read(range + page_, 1)[0]);
  ASSERT_OK(driver_.cuMemsetD8(range + page_, 23, page_));
  EXPECT_EQ(23, Read(range + 2 * page_ - 1, 1)[0]);
  EXPECT_OK(driver_.cuMemUnmap(range + page_, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
}

TEST_F(MappingTest, AccessToUnmappedAddressesIsRefused) {
  const CUdeviceptr range = Reserve(2);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, SetAccess(range, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  const CUmemGenericAllocationHandle handle = Create(1);
  ASSERT_OK(driver_.cuMemMap(range, page_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, SetAccess(range, 2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
      << "half of it is a hole";
  EXPECT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
}

TEST_F(MappingTest, CopyAcrossTheEndOfAMappingIsRefused) {
  const CUdeviceptr range = Reserve(2);
  const CUmemGenericAllocationHandle handle = Create(1);
  MapOne(range, handle, 1);
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemsetD8(range + page_ - 16, 1, 32));
  EXPECT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
}

TEST_F(MappingTest, UnmappingAHoleIsNoErrorAndUnmappingNothingIs) {
  const CUdeviceptr range = Reserve(2);
  EXPECT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemUnmap(range, 0));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
}

TEST_F(MappingTest, PhysicalMemoryIsChargedUntilTheLastReference) {
  const size_t before = FreeBytes();
  const CUdeviceptr range = Reserve(8);
  const CUmemGenericAllocationHandle handle = Create(8);
  EXPECT_EQ(before - 8 * page_, FreeBytes());
  MapOne(range, handle, 8);
  EXPECT_EQ(before - 8 * page_, FreeBytes()) << "mapping takes no more";
  ASSERT_OK(driver_.cuMemRelease(handle));
  EXPECT_EQ(before - 8 * page_, FreeBytes()) << "the mapping holds it";
  ASSERT_OK(driver_.cuMemUnmap(range, 8 * page_));
  EXPECT_EQ(before, FreeBytes());
  EXPECT_OK(driver_.cuMemAddressFree(range, 8 * page_));
}

TEST_F(MappingTest, TooMuchPhysicalMemoryIsOutOfMemoryAndTakesNone) {
  const size_t before = FreeBytes();
  size_t total = 0;
  ASSERT_OK(driver_.cuMemGetInfo(nullptr, &total));
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
              driver_.cuMemCreate(&handle, (total / page_ + 1) * page_, &properties_, 0));
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(MappingTest, PropertiesComeBack) {
  const CUmemGenericAllocationHandle handle = Create(1);
  CUmemAllocationProp got = {};
  ASSERT_OK(driver_.cuMemGetAllocationPropertiesFromHandle(&got, handle));
  EXPECT_EQ(CU_MEM_ALLOCATION_TYPE_PINNED, got.type);
  EXPECT_EQ(CU_MEM_LOCATION_TYPE_DEVICE, got.location.type);
  EXPECT_EQ(device_, got.location.id);
  EXPECT_OK(driver_.cuMemRelease(handle));
}

TEST_F(MappingTest, WrongLocationsAreRefused) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp wrong = properties_;
  wrong.location.id = 4711;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemCreate(&handle, page_, &wrong, 0));
  wrong = properties_;
  wrong.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, page_, &wrong, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, page_, nullptr, 0));
}

TEST_F(MappingTest, RetainWorksFromAnyAddressOfTheMapping) {
  const CUdeviceptr range = Reserve(2);
  const CUmemGenericAllocationHandle handle = Create(2);
  MapOne(range, handle, 2);
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(
      driver_.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + page_ + 7)));
  EXPECT_EQ(handle, again) << "documented: the handle that was given to map";
  EXPECT_OK(driver_.cuMemRelease(again));
  EXPECT_OK(driver_.cuMemUnmap(range, 2 * page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * page_));
  const CUdeviceptr plain = Allocate(kMiB);
  EXPECT_NE(CUDA_SUCCESS,
            driver_.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(plain)))
      << "documented: not of memory that was not made by cuMemCreate";
}

TEST_F(MappingTest, PlainFreeDoesNotTakeAMapping) {
  const CUdeviceptr range = Reserve(1);
  const CUmemGenericAllocationHandle handle = Create(1);
  MapOne(range, handle, 1);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemFree(range));
  EXPECT_OK(driver_.cuMemUnmap(range, page_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, page_));
}

}  // namespace
}  // namespace vramstow::simulator
