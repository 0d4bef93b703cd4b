// Tests products of a warpgroup: the layouts of matrices in shared memory, and the results.
#include <string>

#include "tests/simulator/kernels/ptx/launch.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr unsigned kDepth = 16;
constexpr unsigned kRows = 64;
constexpr unsigned kColumns = 64;
constexpr unsigned kPlaceOfB = 16384;

// A layout of a matrix of 64 lines of 16 halves, as the PTX ISA shows it. `span` is the number of
// bytes in a row of the pattern.
struct Layout {
  const char* name;
  unsigned mode;
  unsigned span;
  bool transposed;
};

constexpr Layout kLayouts[] = {
    {"plain", 0, 16, false},          {"32 bytes", 3, 32, false},
    {"64 bytes", 2, 64, false},       {"128 bytes", 1, 128, false},
    {"plain turned", 0, 16, true},    {"32 bytes turned", 3, 32, true},
    {"64 bytes turned", 2, 64, true}, {"128 bytes turned", 1, 128, true},
};

// Leading and Stride return the two distances between blocks, in bytes, that a matrix descriptor
// contains. A block has 8 × span bytes. Blocks follow each other first along the contiguous
// dimension, then along the other one.
unsigned Leading(const Layout& layout) {
  if (!layout.transposed) return 8 * layout.span;
  return layout.span == 16 ? 8 * 128 : 8 * layout.span;
}
unsigned Stride(const Layout& layout) {
  if (!layout.transposed) return layout.span == 16 ? 256 : 8 * layout.span;
  return layout.span == 16 ? 128 : 8 * 128;
}

// Returns the offset of the number at this line and depth, in bytes.
unsigned PlaceOf(const Layout& layout, unsigned line, unsigned depth) {
  const unsigned along = (layout.transposed ? line : depth) * 2;  // bytes
  const unsigned across = layout.transposed ? depth : line;
  const unsigned block = along / layout.span;
  unsigned place = across % 8 * layout.span + along % layout.span;
  if (layout.span == 16 && layout.transposed) {
    place += block * Stride(layout) + across / 8 * Leading(layout);
  } else {
    place += block * Leading(layout) + across / 8 * Stride(layout);
  }
  const unsigned chunks = layout.span / 16;
  return place ^ (place / 128 % chunks * 16);
}

std::string DescriptorOf(const Layout& layout, unsigned place) {
  const uint64_t bits = uint64_t{place >> 4} | uint64_t{Leading(layout) >> 4} << 16 |
                        uint64_t{Stride(layout) >> 4} << 32 | uint64_t{layout.mode} << 62;
  return std::to_string(bits);
}

int NumberOfA(unsigned row, unsigned depth) {
  return static_cast<int>((row * 7 + depth * 3) % 11) - 5;
}
int NumberOfB(unsigned depth, unsigned column) {
  return static_cast<int>((column * 5 + depth * 2) % 13) - 6;
}
int ProductAt(unsigned row, unsigned column) {
  int sum = 0;
  for (unsigned d = 0; d < kDepth; ++d) sum += NumberOfA(row, d) * NumberOfB(d, column);
  return sum;
}

uint16_t BrainOfWhole(int value) {
  const auto number = static_cast<float>(value);
  uint32_t bits = 0;
  memcpy(&bits, &number, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

std::string Vector(unsigned count) {
  std::string text = "{";
  for (unsigned k = 0; k < count; ++k) text += (k > 0 ? ", %q" : "%q") + std::to_string(k);
  return text + "}";
}

// Returns a body that copies 32 KiB of device memory to shared memory, multiplies, and writes the
// `results` result words of each thread after them.
std::string Body(const std::string& before, const std::string& product, unsigned results) {
  std::string text = R"(
    .reg .b32 %q<128>;
    .shared .align 1024 .b8 room[32768];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 4;
    cvt.u64.u32 %rd1, %r2;
    add.u64 %rd1, %rd1, %rd0;
    mov.u32 %r3, 0;
  again:
    cp.async.cg.shared.global [%r2], [%rd1], 16;
    add.u32 %r2, %r2, 2048;
    add.u64 %rd1, %rd1, 2048;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 16;
    @%p1 bra again;
    cp.async.wait_all;
    bar.sync 0;
    fence.proxy.async;
    setp.eq.u32 %p2, 1, 1;
    setp.eq.u32 %p3, 1, 0;
    wgmma.fence.sync.aligned;
)" + before + product +
                     R"(
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.lo.u32 %r4, %r1, )" +
                     std::to_string(results * 4) + R"(;
    cvt.u64.u32 %rd2, %r4;
    add.u64 %rd2, %rd2, %rd0;)";
  for (unsigned k = 0; k < results; ++k) {
    text += "st.global.b32 [%rd2+" + std::to_string(32768 + k * 4) + "], %q" + std::to_string(k) +
            ";\n";
  }
  return text;
}

// Returns the row of result `k` of a thread.
unsigned RowOf(unsigned thread, unsigned k) {
  return thread / 32 * 16 + thread % 32 / 4 + k / 2 % 2 * 8;
}
unsigned ColumnOf(unsigned thread, unsigned k) { return k / 4 * 8 + thread % 4 * 2 + k % 2; }

void Fill(const Layout& a, const Layout& b, TestMemory* memory) {
  for (unsigned line = 0; line < 64; ++line) {
    for (unsigned d = 0; d < kDepth; ++d) {
      memory->Set<uint16_t>(PlaceOf(a, line, d) / 2, BrainOfWhole(NumberOfA(line, d)));
      memory->Set<uint16_t>((kPlaceOfB + PlaceOf(b, line, d)) / 2,
                            BrainOfWhole(NumberOfB(d, line)));
    }
  }
}

TestLaunch Warpgroup() {
  TestLaunch launch;
  launch.threads = 128;
  launch.steps = 1u << 24;
  return launch;
}

TEST(PtxWarpgroupTest, MatricesAreFoundInEveryLayout) {
  for (const Layout& a : kLayouts) {
    for (const Layout& b : kLayouts) {
      TestMemory memory(256 << 10);
      Fill(a, b, &memory);
      const std::string product =
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " + Vector(kColumns / 2) + ", " +
          DescriptorOf(a, 0) + ", " + DescriptorOf(b, kPlaceOfB) + ", %p3, 1, 1, " +
          std::to_string(a.transposed) + ", " + std::to_string(b.transposed) + ";";
      TestLaunch launch = Warpgroup();
      ASSERT_EQ(Ending::kDone, launch.Run(KernelText(Body("", product, kColumns / 2)), &memory));
      for (unsigned thread = 0; thread < 128; ++thread) {
        for (unsigned k = 0; k < kColumns / 2; ++k) {
          ASSERT_EQ(static_cast<float>(ProductAt(RowOf(thread, k), ColumnOf(thread, k))),
                    memory.Get<float>(8192 + thread * (kColumns / 2) + k))
              << a.name << ", " << b.name << ": " << thread << " " << k;
        }
      }
    }
  }
}

TEST(PtxWarpgroupTest, SumsGoOnAndSignsTurn) {
  TestMemory memory(256 << 10);
  Fill(kLayouts[1], kLayouts[3], &memory);
  const auto product = [](const char* rest) {
    return "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " + Vector(kColumns / 2) + ", " +
           DescriptorOf(kLayouts[1], 0) + ", " + DescriptorOf(kLayouts[3], kPlaceOfB) + rest;
  };
  // Multiplies six times. The first result is overwritten, and the other results are added: one of
  // them with both signs negated, and one with one sign negated.
  std::string text = product(", %p2, 1, 1, 0, 0;\n") + product(", %p3, 1, 1, 0, 0;\n");
  text += product(", %p2, 1, 1, 0, 0;\n") + product(", %p2, -1, -1, 0, 0;\n");
  text += product(", 1, 1, 1, 0, 0;\n") + product(", %p2, 1, -1, 0, 0;\n");
  TestLaunch launch = Warpgroup();
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(Body("", text, kColumns / 2)), &memory));
  for (unsigned thread = 0; thread < 128; ++thread) {
    for (unsigned k = 0; k < kColumns / 2; ++k) {
      ASSERT_EQ(3.0F * static_cast<float>(ProductAt(RowOf(thread, k), ColumnOf(thread, k))),
                memory.Get<float>(8192 + thread * (kColumns / 2) + k));
    }
  }
}

// Uses 8-bit integers: A comes from registers and is 3 everywhere, and line n of B is n - 8 in its
// first element.
TEST(PtxWarpgroupTest, WholeNumbersOfRegistersAndMemory) {
  for (const bool saturated : {false, true}) {
    TestMemory memory(256 << 10);
    for (unsigned n = 0; n < 16; ++n) {
      memory.Set<int8_t>(kPlaceOfB + PlaceOf(kLayouts[1], n, 0), static_cast<int8_t>(n - 8));
    }
    std::string before;
    for (unsigned k = 0; k < 8; ++k) {
      before += "mov.b32 %q" + std::to_string(k) + ", 2147483640;\n";
    }
    for (unsigned k = 8; k < 12; ++k) {
      before += "mov.b32 %r" + std::to_string(k) + ", 0x03030303;\n";
    }
    const std::string product = std::string("wgmma.mma_async.sync.aligned.m64n16k32") +
                                (saturated ? ".satfinite" : "") + ".s32.s8.s8 " + Vector(8) +
                                ", {%r8, %r9, %r10, %r11}, " +
                                DescriptorOf(kLayouts[1], kPlaceOfB) + ", %p2;";
    TestLaunch launch = Warpgroup();
    ASSERT_EQ(Ending::kDone, launch.Run(KernelText(Body(before, product, 8)), &memory));
    for (unsigned thread = 0; thread < 128; ++thread) {
      for (unsigned k = 0; k < 8; ++k) {
        const int64_t sum = 2147483640 + 3 * (int64_t{ColumnOf(thread, k)} - 8);
        const int64_t wanted = saturated ? std::min<int64_t>(sum, INT32_MAX) : sum;
        EXPECT_EQ(static_cast<int32_t>(wanted), memory.Get<int32_t>(8192 + thread * 8 + k));
      }
    }
  }
}

// A register contains two sums of 16 bits.
TEST(PtxWarpgroupTest, SumsOfHalves) {
  TestMemory memory(256 << 10);
  for (unsigned n = 0; n < 8; ++n) {  // 1.0 in the first element of column n, for even n
    memory.Set<uint16_t>((kPlaceOfB + PlaceOf(kLayouts[0], n, 0)) / 2, n % 2 == 0 ? 0x3c00 : 0);
  }
  std::string before;
  for (unsigned k = 8; k < 12; ++k) {
    before += "mov.b32 %r" + std::to_string(k) + ", 0x40004000;\n";  // 2.0
  }
  const std::string product = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 " + Vector(2) +
                              ", {%r8, %r9, %r10, %r11}, " + DescriptorOf(kLayouts[0], kPlaceOfB) +
                              ", %p3, 1, 1, 0;";
  TestLaunch launch = Warpgroup();
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(Body(before, product, 2)), &memory));
  for (unsigned k = 0; k < 256; ++k) EXPECT_EQ(0x00004000U, memory.Get<uint32_t>(8192 + k)) << k;
}

TEST(PtxWarpgroupTest, AMatrixOutsideSharedMemoryIsAnIllegalAddress) {
  TestMemory memory(256 << 10);
  const std::string product = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " +
                              Vector(kColumns / 2) + ", " + DescriptorOf(kLayouts[1], 0) + ", " +
                              DescriptorOf(kLayouts[1], 32768) + ", %p3, 1, 1, 0, 0;";
  TestLaunch launch = Warpgroup();
  EXPECT_EQ(Ending::kIllegalAddress,
            launch.Run(KernelText(Body("", product, kColumns / 2)), &memory));
}

TEST(PtxWarpgroupTest, ProductsCostWhatTheyMultiply) {
  TestMemory memory(256 << 10);
  const std::string product = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " +
                              Vector(kColumns / 2) + ", " + DescriptorOf(kLayouts[1], 0) + ", " +
                              DescriptorOf(kLayouts[1], kPlaceOfB) + ", %p3, 1, 1, 0, 0;";
  TestLaunch once = Warpgroup();
  TestLaunch twice = Warpgroup();
  ASSERT_EQ(Ending::kDone, once.Run(KernelText(Body("", product, 1)), &memory));
  ASSERT_EQ(Ending::kDone, twice.Run(KernelText(Body("", product + product, 1)), &memory));
  EXPECT_GE(twice.steps_taken - once.steps_taken, uint64_t{kRows} * kColumns * kDepth / 64);
}

TEST(PtxWarpgroupTest, WhatIsNoProductIsRefused) {
  const std::string matrices = " {%r1, %r2, %r3, %r4}, %rd1, %rd2";
  const std::string products[] = {
      "m64n8k16.f32.f16.bf16" + matrices + ", %p1, 1, 1, 0, 0;",
      "m64n8k8.f32.f16.f16" + matrices + ", %p1, 1, 1, 0, 0;",
      "m64n12k16.f32.f16.f16" + matrices + ", %p1, 1, 1, 0, 0;",
      "m64n16k16.f32.f16.f16" + matrices + ", %p1, 1, 1, 0, 0;",
      "m64n8k16.f32.f16.f16" + matrices + ", %p1, 1, 2, 0, 0;",
      "m64n8k16.f32.f16.f16" + matrices + ", %p1, 1, 1, 0, 2;",
      "m64n8k16.f32.f16.f16" + matrices + ", %p1, 1, 1, 0;",
      "m64n8k32.s32.s8.s8" + matrices + ", %p1, 1, 1;",
      "m64n8k32.f32.s8.s8" + matrices + ", %p1, 1, 1;",
      "m64n8k8.f32.tf32.tf32" + matrices + ", %p1, 1, 1, 0, 0;",
      "m64n8k16.f32.f16.f16 {%r1, %r2, %r3, %r4}, {%r5, %r6}, %rd2, %p1, 1, 1, 0;",
  };
  for (const std::string& product : products) {
    Program program(KernelText("wgmma.mma_async.sync.aligned." + product));
    const Routine* routine = program.FindKernel("k");
    ASSERT_NE(nullptr, routine);
    EXPECT_NE("", routine->refusal) << product;
  }
}

}  // namespace
}  // namespace vramstow::simulator::ptx
