// Tests emulations alone, on a piece of memory that stands for a device's memory.
#include "simulator/kernels/named/emulation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "simulator/kernels/named/element.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kBase = 0x2000'0000'0000;
constexpr size_t kBytes = 64 * 1024;

// Memory whose only valid addresses begin at kBase.
class TestMemory : public KernelMemory {
 public:
  char* At(uint64_t address, uint64_t bytes, bool write) override {
    const bool inside = address >= kBase && bytes <= kBytes && address - kBase <= kBytes - bytes;
    wrote_ = wrote_ || (inside && write);
    return inside ? bytes_.data() + (address - kBase) : nullptr;
  }
  bool wrote() const { return wrote_; }

  template <typename T>
  T* As(uint64_t address) {
    return reinterpret_cast<T*>(bytes_.data() + (address - kBase));
  }

 private:
  std::vector<char> bytes_ = std::vector<char>(kBytes);
  bool wrote_ = false;
};

// One launch: the words of its argument, and the limits of its work.
class TestLaunch {
 public:
  explicit TestLaunch(const char* kernel) : emulation_(FindEmulation(kernel)) {
    launch_.words = reinterpret_cast<const char*>(words_);
    launch_.limits = {1 << 20, 1 << 20};
  }

  template <typename T>
  TestLaunch& Set(size_t word, T value) {
    memcpy(&words_[word], &value, sizeof(T));
    return *this;
  }
  void FillWith(std::mt19937_64* random) {
    for (uint64_t& word : words_) {
      for (int i = 0; i < 8; ++i)
        word = word << 8 | ((*random)() % 4 == 0 ? (*random)() & 0xFF : 0);
    }
  }
  KernelLaunch& launch() { return launch_; }
  Outcome Run(TestMemory* memory) { return emulation_(launch_, memory); }

 private:
  const Emulation emulation_;
  uint64_t words_[kLaunchWords] = {};
  KernelLaunch launch_;
};

TEST(EmulationsTest, AnUnknownNameGivesNone) {
  for (const char* name : {"", "<", "_Z", "cublas", "cublas_gemm_", "cublas_gemm<float>"}) {
    EXPECT_EQ(nullptr, FindEmulation(name)) << name;
  }
}

TEST(ElementTest, HalvesSurviveTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = FloatOfHalf(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(half, HalfOfFloat(value)) << bits;
    EXPECT_EQ(half, Bfloat16OfFloat(FloatOfBfloat16(half))) << bits;
  }
}

TEST(ElementTest, RoundingIsToNearestAndTiesToEven) {
  EXPECT_EQ(HalfOfFloat(2048.0F), HalfOfFloat(2049.0F));
  EXPECT_EQ(HalfOfFloat(2052.0F), HalfOfFloat(2051.0F));
  EXPECT_EQ(0x7C00, HalfOfFloat(65520.0F));
  EXPECT_EQ(0x7BFF, HalfOfFloat(65519.0F));
  EXPECT_EQ(Bfloat16OfFloat(256.0F), Bfloat16OfFloat(257.0F));
}

TEST(EmulationsTest, MatrixProductWithScalarsAndTranspose) {
  constexpr int kM = 70;
  constexpr int kN = 5;
  constexpr int kK = 9;
  TestMemory memory;
  float* a = memory.As<float>(kBase);
  float* b = memory.As<float>(kBase + 8192);
  float* c = memory.As<float>(kBase + 16384);
  for (int i = 0; i < kM * kK; ++i) a[i] = static_cast<float>(i % 11);
  for (int i = 0; i < kN * kK; ++i) b[i] = static_cast<float>(i % 5);
  for (int i = 0; i < kM * kN; ++i) c[i] = 1;
  TestLaunch launch("cublas_gemm");
  const uint64_t words[] = {
      1, 0,  kM, kN, kK, 0, 0, kBase, 0, kK, 0, kBase + 8192, 0, kK, 0, 0, 0, kBase + 16384,
      0, kM, 0,  1,  0};
  for (size_t i = 0; i < std::size(words); ++i) launch.Set(i, words[i]);
  launch.Set(5, 2.0F).Set(15, 3.0F);
  EXPECT_EQ(Outcome::kDone, launch.Run(&memory));
  for (int row = 0; row < kM; ++row) {
    for (int column = 0; column < kN; ++column) {
      float sum = 0;
      for (int i = 0; i < kK; ++i) sum += a[row * kK + i] * b[column * kK + i];
      EXPECT_EQ(2 * sum + 3, c[column * kM + row]);
    }
  }
  launch.launch().limits.operations = 2 * kM * kN * kK - 1;
  EXPECT_EQ(Outcome::kTooLarge, launch.Run(&memory));
}

TEST(EmulationsTest, ABadAddressIsFoundBeforeAnythingIsWritten) {
  TestMemory memory;
  // Multiplies two matrices of one element each. `address` is the address of the result.
  TestLaunch launch("cublas_gemm");
  launch.Set<uint64_t>(2, 1).Set<uint64_t>(3, 100).Set<uint64_t>(4, 1).Set<uint64_t>(21, 1);
  launch.Set(7, kBase).Set<uint64_t>(9, 1).Set(11, kBase).Set<uint64_t>(13, 1).Set<uint64_t>(19, 1);
  for (const uint64_t address :
       {uint64_t{0}, kBase - 4, kBase + kBytes - 396, kBase + kBytes, UINT64_MAX - 3}) {
    launch.Set(17, address);
    EXPECT_EQ(Outcome::kIllegalAddress, launch.Run(&memory)) << address;
  }
  EXPECT_FALSE(memory.wrote());
  launch.Set(17, kBase + kBytes - 400);
  EXPECT_EQ(Outcome::kDone, launch.Run(&memory));
}

TEST(EmulationsTest, AVectorBeyondTheLimitIsTooLarge) {
  TestMemory memory;
  TestLaunch launch("cublas_asum");
  launch.Set<uint64_t>(0, 100).Set(1, kBase).Set<uint64_t>(3, 1).Set(4, kBase);
  launch.launch().limits.bytes = 799;
  EXPECT_EQ(Outcome::kTooLarge, launch.Run(&memory));
  EXPECT_FALSE(memory.wrote());
  launch.launch().limits.bytes = 800;
  EXPECT_EQ(Outcome::kDone, launch.Run(&memory));
}

// An emulation accesses only the memory that it was given, whatever its words are.
TEST(EmulationsTest, ArbitraryArgumentsDoNoHarm) {
  std::mt19937_64 random(1);
  for (const char* name : {"cublas_gemm", "cublas_gemm_batched", "cublaslt_matmul", "cublas_dot",
                           "cublas_gemv", "cublas_nrm2"}) {
    ASSERT_NE(nullptr, FindEmulation(name)) << name;
    for (int i = 0; i < 300; ++i) {
      TestMemory memory;
      TestLaunch launch(name);
      launch.FillWith(&random);
      // Half of the launches get some valid addresses.
      for (const size_t word : {7, 11, 17}) {
        if (i % 2 == 0) launch.Set(word, kBase + random() % kBytes);
      }
      launch.Run(&memory);
    }
  }
}

// The test compares with the compiler's own 16-bit type.
TEST(Element, HalfIsReadAndRoundedAsIeee754Says) {
#if !defined(__FLT16_MAX__)
  GTEST_SKIP() << "this compiler has no such type";
#else
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = std::bit_cast<_Float16>(static_cast<uint16_t>(bits));
    const float value = FloatOfHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(half))) << bits;
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(static_cast<float>(half)));
    EXPECT_EQ(HalfOfFloat(value), bits);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    const auto half = static_cast<_Float16>(value);
    EXPECT_EQ(HalfOfFloat(value), std::bit_cast<uint16_t>(half)) << value;
  }
  EXPECT_EQ(HalfOfFloat(std::nanf("")) & 0x7FFF, 0x7E00);
#endif
}

TEST(Element, RowsAndStridesAreReadAlike) {
  float row[64];
  for (int i = 0; i < 64; ++i) row[i] = static_cast<float>(i) / 4;
  uint16_t stored[64];
  StoreElements(Element::kBfloat16, row, 64, reinterpret_cast<char*>(stored), 2);
  double numbers[32];
  const auto* bytes = reinterpret_cast<const char*>(stored);
  LoadElements(Element::kBfloat16, bytes + 2, 2, 32, numbers);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(numbers[i], (i + 1) / 4.0);
  LoadElements(Element::kBfloat16, bytes + 6, 4, 30, numbers);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(numbers[i], (3 + 2 * i) / 4.0);
}

}  // namespace
}  // namespace vramstow::simulator
