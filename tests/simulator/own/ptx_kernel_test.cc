// Tests how the simulated driver treats PTX kernels that fail, or are not run.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simulator/simulator_api.h"
#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

// Returns the text of a kernel with one address as parameter, and this body.
std::string TextOf(const std::string& body) {
  return ".version 7.0\n.target sm_70\n.address_size 64\n"
         ".visible .entry k(.param .u64 out)\n{\n  .reg .b32 %r<4>;\n  .reg .b64 %rd<4>;\n"
         "  ld.param.u64 %rd1, [out];\n" +
         body + "\n  ret;\n}\n";
}

constexpr char kStore[] = "st.global.u32 [%rd1], 5;";

// Returns the context's error after a launch on a block of 4 KiB. *value becomes the block's first
// word, if it can still be read.
CUresult ResultOf(const std::string& body, unsigned* value, const char* kernel = "k") {
  const Driver& driver = GetDriver();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr block = 0;
  if (!StartDriver(driver) ||
      driver.cuModuleLoadData(&module, TextOf(body).c_str()) != CUDA_SUCCESS ||
      driver.cuModuleGetFunction(&function, module, kernel) != CUDA_SUCCESS ||
      driver.cuMemAlloc(&block, 4096) != CUDA_SUCCESS ||
      driver.cuMemsetD32(block, 0, 1024) != CUDA_SUCCESS) {
    return CUDA_ERROR_UNKNOWN;
  }
  void* arguments[] = {&block};
  const CUresult launched =
      driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  if (launched != CUDA_SUCCESS) return CUDA_ERROR_UNKNOWN;
  const CUresult result = driver.cuCtxSynchronize();
  if (result != CUDA_SUCCESS) return driver.cuMemAlloc(&block, 16);  // the error stays
  return driver.cuMemcpyDtoH(value, block, sizeof(*value));
}

int ErrorIn(const char* spec, const std::string& body) {
  return InChild(spec, [&] {
    unsigned value = 0;
    return static_cast<int>(ResultOf(body, &value)) % 128;
  });
}

int ValueIn(const std::string& spec, const std::string& body) {
  return InChild(spec, [&] {
    unsigned value = 0;
    const CUresult result = ResultOf(body, &value);
    return result == CUDA_SUCCESS ? static_cast<int>(value) : 100;
  });
}

// Returns the text that a child with kernels=list writes to stderr.
std::string Said(const std::string& spec, const std::string& body) {
  int ends[2];
  EXPECT_EQ(0, pipe(ends));
  InChild(spec, [&] {
    dup2(ends[1], STDERR_FILENO);
    unsigned value = 0;
    ResultOf(body, &value);
    exit(0);  // the list is written at exit
    return 0;
  });
  close(ends[1]);
  std::string said(4096, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], said.data(), said.size()), 0)));
  close(ends[0]);
  return said;
}

TEST(PtxKernelTest, ErrorsOfKernelsStayWithTheContext) {
  constexpr char kSpec[] = "a100,memory=1GiB";
  EXPECT_EQ(0, ErrorIn(kSpec, kStore));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS % 128, ErrorIn(kSpec, "st.global.u32 [%rd1+4096], 5;"));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS % 128, ErrorIn(kSpec, "ld.u32 %r1, [16];"));
  EXPECT_EQ(CUDA_ERROR_MISALIGNED_ADDRESS % 128, ErrorIn(kSpec, "ld.global.u32 %r1, [%rd1+2];"));
  EXPECT_EQ(CUDA_ERROR_LAUNCH_FAILED % 128, ErrorIn(kSpec, "trap;"));
}

TEST(PtxKernelTest, AnEndlessKernelIsStoppedAndNamed) {
  const std::string body = std::string(kStore) + "\nagain: bra again;";
  EXPECT_EQ(5, ValueIn("a100,memory=1GiB,ptx=1M", body)) << "what it wrote stays";
  EXPECT_NE(std::string::npos, Said("a100,memory=1GiB,ptx=1M,kernels=list", body)
                                   .find("k (more instructions than ptx= allows)"));
}

TEST(PtxKernelTest, WhatIsNotKnownHasNoEmulationAndIsNamed) {
  const std::string body = std::string(kStore) + "\nadd.rz.f32 %f1, %f2, %f3;";
  EXPECT_EQ(0, ValueIn("a100,memory=1GiB", body));
  EXPECT_NE(
      std::string::npos,
      Said("a100,memory=1GiB,kernels=list", body).find("k (not known here: the register %f1)"));
}

// Its stores are marked, and the other words of the same block are not.
TEST(PtxKernelTest, WhatAKernelThatIsNotKnownWouldHaveWrittenIsMarked) {
  const std::string spec = "a100,memory=1GiB,kernels=list";
  const std::string unknown = "\nadd.rz.f32 %r1, {%r2}, [%rd1, {%r2, %r3}];";
  EXPECT_EQ(0, ValueIn(spec, kStore + unknown));
  EXPECT_NE(std::string::npos,
            Said(spec, kStore + unknown)
                .find("the host read what was left out by an unknown instruction"));
  EXPECT_NE(std::string::npos,
            Said(spec, unknown + kStore)
                .find("the host read what was left out by an unknown instruction"));
  EXPECT_EQ(std::string::npos,
            Said(spec, "st.global.u32 [%rd1+4], 5;" + unknown).find("the host read what was"));
}

TEST(PtxKernelTest, EmulationsCanBeSwitchedOff) {
  EXPECT_EQ(5, ValueIn("a100,memory=1GiB", kStore));
  EXPECT_EQ(0, ValueIn("a100,memory=1GiB,emulation=off", kStore));
  EXPECT_EQ(0, ValueIn("a100,memory=1GiB,ptx=0", kStore));
  EXPECT_EQ(0, ValueIn("a100,memory=1GiB,contents=discard", kStore));
}

// The results of a stopped launch are not computed, and neither are values that are derived from
// these results. If the host reads one of them, the read is reported.
TEST(PtxKernelTest, WhatFollowsFromAStoppedKernelIsMarked) {
  const std::string said =
      Said("a100,memory=1GiB,ptx=1M,kernels=list", std::string(kStore) + "\nagain: bra again;");
  EXPECT_NE(std::string::npos, said.find("the host read what was left out by k")) << said;
}

// The threads write their numbers: 4096 blocks of 256 threads, four bytes each.
constexpr char kNumbers[] =
    "mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %tid.x;\n  mad.lo.u32 %r1, %r1, 256, %r2;\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n  add.u64 %rd1, %rd1, %rd2;\n  st.global.u32 [%rd1], %r1;";
constexpr uint64_t kNumbersBytes = 4096 * 256 * 4;

// Launches a kernel `launches` times; each launch is too long to be started. Then the host reads
// the word at each of `offsets` around the results. Returns how many of these reads count as reads
// of uncomputed memory.
int ReportedReads(int launches, const std::vector<uint64_t>& offsets) {
  return InChild("a100,memory=1GiB,ptx=1000", [&] {
    const Driver& driver = GetDriver();
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr block = 0;
    if (!StartDriver(driver) ||
        driver.cuModuleLoadData(&module, TextOf(kNumbers).c_str()) != CUDA_SUCCESS ||
        driver.cuModuleGetFunction(&function, module, "k") != CUDA_SUCCESS ||
        driver.cuMemAlloc(&block, 16 * kNumbersBytes) != CUDA_SUCCESS) {
      return 100;
    }
    for (int k = 0; k < launches; ++k) {
      CUdeviceptr result = block + (2 * static_cast<uint64_t>(k) + 1) * kNumbersBytes;
      void* arguments[] = {&result};
      if (driver.cuLaunchKernel(function, 4096, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr) !=
          CUDA_SUCCESS) {
        return 101;
      }
    }
    unsigned value = 0;
    for (const uint64_t offset : offsets) {
      if (driver.cuMemcpyDtoH(&value, block + offset, sizeof(value)) != CUDA_SUCCESS) return 102;
    }
    const auto count = reinterpret_cast<decltype(&vramstowSimulatorCountUncomputedReads)>(
        dlsym(driver.library, "vramstowSimulatorCountUncomputedReads"));
    return count == nullptr ? 103 : static_cast<int>(count());
  });
}

// Only the corner blocks of such a launch are run. All memory from their lowest write to their
// highest write counts as the launch's result.
TEST(PtxKernelTest, AllThatALaunchWouldHaveWrittenIsMarked) {
  constexpr uint64_t kResult = kNumbersBytes;
  EXPECT_EQ(3,
            ReportedReads(1, {kResult, kResult + kNumbersBytes / 2, kResult + kNumbersBytes - 4}));
  EXPECT_EQ(0, ReportedReads(1, {kResult - 4, kResult + kNumbersBytes}));
}

// The second launch differs from the first only in the address that it writes to.
TEST(PtxKernelTest, WhatALikeLaunchWouldHaveWrittenIsMarkedToo) {
  constexpr uint64_t kSecond = 3 * kNumbersBytes;
  EXPECT_EQ(2, ReportedReads(2, {kSecond, kSecond + kNumbersBytes / 2}));
  EXPECT_EQ(0, ReportedReads(2, {kSecond - 4, kSecond + kNumbersBytes}));
}

}  // namespace
}  // namespace vramstow::simulator
