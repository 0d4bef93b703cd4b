#include "simulator/runtime/libraries/curand/random_numbers.h"

#include <array>
#include <cmath>
#include <numbers>

namespace vramstow::simulator {
namespace {

using Block = std::array<uint32_t, 4>;

Block Philox(uint64_t seed, uint64_t counter) {
  constexpr uint32_t kMultiplier[] = {0xd2511f53, 0xcd9e8d57};
  constexpr uint32_t kStep[] = {0x9e3779b9, 0xbb67ae85};
  Block block = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  uint32_t key[] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t one = uint64_t{kMultiplier[0]} * block[0];
    const uint64_t other = uint64_t{kMultiplier[1]} * block[2];
    block = {static_cast<uint32_t>(other >> 32) ^ block[1] ^ key[0], static_cast<uint32_t>(other),
             static_cast<uint32_t>(one >> 32) ^ block[3] ^ key[1], static_cast<uint32_t>(one)};
    key[0] += kStep[0];
    key[1] += kStep[1];
  }
  return block;
}

uint64_t Bits64(const Block& block) { return uint64_t{block[1]} << 32 | block[0]; }

// In (0, 1]: never 0, whose logarithm normal numbers would ask for.
double Uniform(uint64_t bits) {
  return static_cast<double>((bits >> 11) + 1) / static_cast<double>(uint64_t{1} << 53);
}

double Normal(const Block& block) {
  const double radius = std::sqrt(-2 * std::log(Uniform(Bits64(block))));
  const uint64_t angle = uint64_t{block[3]} << 32 | block[2];
  return radius * std::cos(2 * std::numbers::pi * Uniform(angle));
}

}  // namespace

size_t BytesOf(Numbers numbers) {
  switch (numbers) {
    case Numbers::kBits32:
    case Numbers::kUniformFloat:
    case Numbers::kNormalFloat:
    case Numbers::kLogNormalFloat:
      return 4;
    default:
      return 8;
  }
}

void Generate(Numbers numbers, const Sequence& sequence, size_t count, void* output) {
  for (size_t i = 0; i < count; ++i) {
    const Block block = Philox(sequence.seed, sequence.first + i);
    const double normal = sequence.mean + sequence.deviation * Normal(block);
    switch (numbers) {
      case Numbers::kBits32:
        static_cast<uint32_t*>(output)[i] = block[0];
        break;
      case Numbers::kBits64:
        static_cast<uint64_t*>(output)[i] = Bits64(block);
        break;
      case Numbers::kUniformFloat:
        static_cast<float*>(output)[i] = (static_cast<float>(block[0] >> 8) + 1) / 16777216.0F;
        break;
      case Numbers::kUniformDouble:
        static_cast<double*>(output)[i] = Uniform(Bits64(block));
        break;
      case Numbers::kNormalFloat:
        static_cast<float*>(output)[i] = static_cast<float>(normal);
        break;
      case Numbers::kNormalDouble:
        static_cast<double*>(output)[i] = normal;
        break;
      case Numbers::kLogNormalFloat:
        static_cast<float*>(output)[i] = static_cast<float>(std::exp(normal));
        break;
      case Numbers::kLogNormalDouble:
        static_cast<double*>(output)[i] = std::exp(normal);
        break;
    }
  }
}

}  // namespace vramstow::simulator
