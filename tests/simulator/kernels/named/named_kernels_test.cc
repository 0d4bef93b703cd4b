// Tests emulations alone, on a piece of memory that stands for a device's memory.
#include "simulator/kernels/named/emulation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "simulator/kernels/named/element.h"
#include "simulator/kernels/named/name.h"
#include "simulator/kernels/named/philox.h"
#include "tests/simulator/kernels/named/names.h"

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

// The arguments of one launch, as bytes.
class TestLaunch {
 public:
  explicit TestLaunch(const Emulation& emulation) : emulation_(emulation) {
    for (const Argument& argument : emulation.arguments()) {
      bytes_.emplace_back(argument.bytes);
    }
    for (const auto& bytes : bytes_) places_.push_back(bytes.data());
    launch_.arguments = &places_;
    launch_.limits = {1 << 20, 1 << 20};
  }

  template <typename T>
  TestLaunch& Set(size_t argument, size_t offset, T value) {
    memcpy(bytes_[argument].data() + offset, &value, sizeof(T));
    return *this;
  }
  void FillWith(std::mt19937_64* random) {
    for (auto& bytes : bytes_) {
      for (char& byte : bytes) byte = static_cast<char>((*random)() % 4 == 0 ? (*random)() : 0);
    }
  }
  KernelLaunch& launch() { return launch_; }
  Outcome Run(TestMemory* memory) { return emulation_.Run(launch_, memory); }

 private:
  const Emulation& emulation_;
  std::vector<std::vector<char>> bytes_;
  std::vector<const char*> places_;
  KernelLaunch launch_;
};

TEST(NameTest, NamespacesThatSayNothingAreDropped) {
  EXPECT_EQ("void kernel<FillFunctor<Half>, std::array<char*, 1ul> >",
            Simplify("void at::native::(anonymous namespace)::kernel<at::native::FillFunctor<"
                     "c10::Half>, std::array<char*, 1ul> >"));
  EXPECT_EQ("std::format::x", Simplify("std::format::x"));
}

TEST(NameTest, LambdasHaveTheFunctionAndTheirNumber) {
  const FunctorName name = ParseFunctor(
      "where<int>(Iterator&)::{lambda()#1}::operator()() const::{lambda()#3}::operator()() "
      "const::{lambda(bool, unsigned int)#2}");
  EXPECT_EQ("where", name.head);
  EXPECT_EQ(2, name.number);
  EXPECT_EQ(0, ParseFunctor("where<int>").number);
}

TEST(NameTest, BrokenNamesGiveNoEmulation) {
  for (const char* name : {"", "<", "a<b", "_Z", "_ZN2at", "f(",
                           "distribution_elementwise_grid_stride_kernel<float, 4, f<, x>",
                           "fused_dropout_kernel<float, float, unsigned int, 1, 1>"}) {
    EXPECT_EQ(nullptr, MakeEmulation(name)) << name;
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

// The published answer for a counter and a key of zeros.
TEST(PhiloxTest, GivesTheKnownAnswer) {
  const std::array<uint32_t, 4> expected = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(expected, Philox(0, 0, 0));
}

TEST(EmulationsTest, UniformDependsOnSeedAndOffsetOnly) {
  const auto emulation = MakeEmulation(kUniformFloat);
  ASSERT_NE(nullptr, emulation);
  const auto draw = [&](uint64_t seed, uint64_t offset) {
    TestMemory memory;
    TestLaunch launch(*emulation);
    launch.Set<int64_t>(0, 0, 4000).Set(1, 0, seed).Set(1, 8, offset);
    launch.Set(3, 0, kBase).Set(3, 8, 4).Set(3, 12, 2.0F).Set(3, 16, 3.0F).Set(3, 20, 5.0F);
    launch.launch().grid[0] = 16;
    launch.launch().block[0] = 256;
    EXPECT_EQ(Outcome::kDone, launch.Run(&memory));
    const float* numbers = memory.As<float>(kBase);
    return std::vector<float>(numbers, numbers + 4000);
  };
  const std::vector<float> first = draw(7, 0);
  EXPECT_EQ(first, draw(7, 0));
  EXPECT_NE(first, draw(7, 4));
  EXPECT_NE(first, draw(8, 0));
  double sum = 0;
  for (const float number : first) {
    EXPECT_GE(number, 3);
    EXPECT_LT(number, 5);
    sum += number;
  }
  EXPECT_NEAR(4, sum / 4000, 0.05);
}

// TensorInfo of a tensor with one dimension.
void SetRow(TestLaunch* launch, size_t argument, uint64_t address, uint32_t count) {
  launch->Set(argument, 0, address).Set(argument, 8, count).Set(argument, 108, uint32_t{1});
  launch->Set(argument, 208, int32_t{1});
}

TEST(EmulationsTest, DropoutKeepsAndScalesWhatItsMaskSays) {
  const auto emulation =
      MakeEmulation("fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(x)");
  ASSERT_NE(nullptr, emulation);
  TestMemory memory;
  constexpr uint32_t kCount = 1000;
  for (uint32_t i = 0; i < kCount; ++i) memory.As<float>(kBase)[i] = 3;
  TestLaunch launch(*emulation);
  SetRow(&launch, 0, kBase, kCount);
  SetRow(&launch, 1, kBase + 8192, kCount);
  SetRow(&launch, 2, kBase + 16384, kCount);
  launch.Set(3, 0, kCount).Set(4, 0, 0.75F).Set<uint64_t>(5, 0, 7);
  EXPECT_EQ(Outcome::kDone, launch.Run(&memory));
  int kept = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const bool is_kept = memory.As<uint8_t>(kBase + 16384)[i] != 0;
    EXPECT_EQ(is_kept ? 4 : 0, memory.As<float>(kBase + 8192)[i]);
    kept += is_kept ? 1 : 0;
  }
  EXPECT_NEAR(750, kept, 60);
}

TEST(EmulationsTest, RadixSortOrdersPairsByTheBitsItIsGiven) {
  const auto emulation = MakeEmulation(
      "cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<policy, (cub::SortOrder)0, int, "
      "OpaqueType<8>, unsigned long long, decomposer>(x)");
  ASSERT_NE(nullptr, emulation);
  TestMemory memory;
  constexpr int32_t kKeys[] = {5, -1, 3, 8, 0, 3};
  for (int i = 0; i < 6; ++i) {
    memory.As<int32_t>(kBase)[i] = kKeys[i];
    memory.As<int64_t>(kBase + 2048)[i] = i;
  }
  TestLaunch launch(*emulation);
  launch.Set(0, 0, kBase).Set(1, 0, kBase + 1024).Set(2, 0, kBase + 2048).Set(3, 0, kBase + 4096);
  launch.Set(4, 0, 6).Set(5, 0, 0).Set(6, 0, 32);
  EXPECT_EQ(Outcome::kDone, launch.Run(&memory));
  const auto* order = memory.As<int64_t>(kBase + 4096);
  EXPECT_EQ(std::vector<int64_t>({1, 4, 2, 5, 0, 3}), std::vector<int64_t>(order, order + 6));
  EXPECT_EQ(-1, memory.As<int32_t>(kBase + 1024)[0]);
}

TEST(EmulationsTest, MatrixProductWithScalarsAndTranspose) {
  const auto emulation = MakeEmulation("cublas_gemm");
  ASSERT_NE(nullptr, emulation);
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
  TestLaunch launch(*emulation);
  const uint64_t words[] = {
      1, 0,  kM, kN, kK, 0, 0, kBase, 0, kK, 0, kBase + 8192, 0, kK, 0, 0, 0, kBase + 16384,
      0, kM, 0,  1,  0};
  for (size_t i = 0; i < std::size(words); ++i) launch.Set(0, 8 * i, words[i]);
  launch.Set(0, 40, 2.0F).Set(0, 120, 3.0F);
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
  const auto emulation = MakeEmulation(kUniformFloat);
  TestMemory memory;
  TestLaunch launch(*emulation);
  launch.Set<int64_t>(0, 0, 100).Set(3, 8, 4);
  for (const uint64_t address :
       {uint64_t{0}, kBase - 4, kBase + kBytes - 396, kBase + kBytes, UINT64_MAX - 3}) {
    launch.Set(3, 0, address);
    EXPECT_EQ(Outcome::kIllegalAddress, launch.Run(&memory)) << address;
  }
  launch.launch().limits.bytes = 399;
  EXPECT_EQ(Outcome::kTooLarge, launch.Set(3, 0, kBase).Run(&memory));
  EXPECT_FALSE(memory.wrote());
}

// An emulation accesses only the memory that it was given, whatever its arguments are.
TEST(EmulationsTest, ArbitraryArgumentsDoNoHarm) {
  std::mt19937_64 random(1);
  // Names that do not fit on one line are in parentheses.
  for (const char* name :
       {kUniformFloat, "cublas_gemm", "cublas_gemm_batched", "cublaslt_matmul", "cublas_dot",
        "cublas_gemv", "cublas_nrm2",
        "fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(x)",
        ("cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<policy, (cub::SortOrder)0, int, "
         "OpaqueType<8>, unsigned long long, int, int, decomposer>(x)"),
        ("cub::detail::radix_sort::DeviceRadixSortSingleTileKernel<policy, (cub::SortOrder)0, "
         "long, "
         "cub::NullType, unsigned long long, decomposer>(x)")}) {
    const auto emulation = MakeEmulation(name);
    ASSERT_NE(nullptr, emulation) << name;
    for (int i = 0; i < 300; ++i) {
      TestMemory memory;
      TestLaunch launch(*emulation);
      launch.FillWith(&random);
      launch.launch().grid[0] = random() % 16;
      launch.launch().grid[1] = random() % 4;
      // Half of the launches get some valid addresses as arguments.
      if (i % 2 == 0) {
        for (size_t j = 0; j < emulation->arguments().size(); ++j) {
          if (emulation->arguments()[j].bytes == 8) launch.Set(j, 0, kBase + random() % kBytes);
        }
      }
      launch.Run(&memory);
    }
  }
}

// The compiler's own 16-bit type is the reference.
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

TEST(Element, RowsStridesAndRepetitionsAreReadAlike) {
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
  LoadElements(Element::kBfloat16, bytes + 10, 0, 32, numbers);
  for (const double number : numbers) EXPECT_EQ(number, 5 / 4.0);
}

}  // namespace
}  // namespace vramstow::simulator
