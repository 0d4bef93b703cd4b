// Tests valid files that were changed: flipped bits, cut, doubled, spliced. The changes are the
// same in each run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/formats/pickles.h"
#include "tests/formats/readers.h"
#include "tests/formats/seeds.h"

namespace vramstow {
namespace {

// The long suite makes more changes of the same kinds.
bool IsLong() { return std::getenv("VRAMSTOW_LONG") != nullptr; }

size_t Position(std::mt19937* random, const std::string& bytes) {
  return bytes.empty() ? 0 : (*random)() % bytes.size();
}

void Mutate(std::mt19937* random, const std::vector<std::string>& seeds, std::string* bytes) {
  const size_t at = Position(random, *bytes);
  const size_t length = (*random)() % 32;
  switch ((*random)() % 8) {
    case 0:
      if (!bytes->empty()) (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << (*random)() % 8);
      break;
    case 1:
      if (!bytes->empty()) (*bytes)[at] = static_cast<char>((*random)());
      break;
    case 2:
      bytes->erase(at, length);
      break;
    case 3:
      bytes->insert(at, bytes->substr(Position(random, *bytes), length));
      break;
    case 4:
      bytes->resize(at);
      break;
    case 5:
      bytes->insert(at, length, static_cast<char>((*random)()));
      break;
    case 6: {  // an extreme length or number
      const std::string extremes[] = {std::string(4, '\xff'),
                                      std::string(8, '\xff'),
                                      std::string("\0\0\0\x80", 4),
                                      "99999999999999999999",
                                      "-1",
                                      "1e999"};
      bytes->replace(at, length % 9, extremes[(*random)() % std::size(extremes)]);
      break;
    }
    default: {
      const std::string& other = seeds[(*random)() % seeds.size()];
      bytes->insert(at, other.substr(Position(random, other), length * 4));
    }
  }
}

TEST(Mutation, TheSeedsAreReadable) {
  for (const std::string& seed : Seeds()) EXPECT_TRUE(ReadAsWhateverItIs(seed)) << seed;
}

TEST(Mutation, NoChangeBreaksAReader) {
  const std::vector<std::string> seeds = Seeds();
  std::mt19937 random(20'240'501);
  const int rounds = IsLong() ? 200'000 : 5'000;
  int readable = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = seeds[random() % seeds.size()];
    const size_t changes = 1 + random() % 6;
    for (size_t i = 0; i < changes; ++i) Mutate(&random, seeds, &bytes);
    readable += ReadAsWhateverItIs(bytes);
  }
  // Some of the changed files must be readable, and some must be unreadable.
  EXPECT_GT(readable, rounds / 20);
  EXPECT_LT(readable, rounds);
}

TEST(Mutation, EveryCutOfEverySeed) {
  for (const std::string& seed : Seeds()) {
    for (size_t size = 0; size < seed.size(); ++size) ReadAsWhateverItIs(seed.substr(0, size));
  }
}

// The long suite flips every bit. The short one flips every fifth bit, so that each of the eight
// positions in a byte occurs.
TEST(Mutation, FlippedBitsOfASnapshot) {
  const size_t stride = IsLong() ? 1 : 5;
  const std::string whole = FullSnapshotPickle();
  for (size_t bit = 0; bit < whole.size() * 8; bit += stride) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    ReadAsWhateverItIs(flipped);
  }
}

}  // namespace
}  // namespace vramstow
