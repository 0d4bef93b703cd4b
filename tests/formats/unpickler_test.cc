// Tests the allowed contents of a pickle, and every way in which a malicious pickle could do harm.
#include "tools/formats/unpickler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/formats/pickles.h"

namespace vramstow {
namespace {

// Only the suffix for string literals ("..."s) is used.
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

std::string Message(const absl::StatusOr<PickleTree>& tree) {
  return std::string(tree.status().message());
}

// Reads the items of a list from the bytes.
class Reading {
 public:
  explicit Reading(std::string bytes) : bytes_(std::move(bytes)), tree_(Unpickle(bytes_)) {
    EXPECT_TRUE(tree_.ok()) << tree_.status();
  }
  PickleValue Item(size_t i) const {
    const auto items = tree_->root().AsSequence();
    return i < items.size() ? items[i] : PickleValue();
  }
  size_t size() const { return tree_->root().AsSequence().size(); }
  std::string_view Text(size_t i) const { return tree_->Text(Item(i).AsText()); }
  const PickleTree& tree() const { return *tree_; }

 private:
  std::string bytes_;
  absl::StatusOr<PickleTree> tree_;
};

TEST(Unpickler, NumbersOfEveryWidth) {
  const Reading read(
      "\x80\x04]("
      "K\xff"
      "M\x01\x02"
      "J\xff\xff\xff\xff"
      "\x8a\x00"
      "\x8a\x05\x00\x00\x00\x80\x00"
      "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
      "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"
      "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"
      "\x8a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
      "\x8b\x02\x00\x00\x00\xfe\xff"
      "G\x3f\xf8\x00\x00\x00\x00\x00\x00"
      "\x88\x89N"
      "e."s);
  ASSERT_EQ(read.size(), 14U);
  EXPECT_EQ(read.Item(0).AsSigned(), 255);
  EXPECT_EQ(read.Item(1).AsSigned(), 513);
  EXPECT_EQ(read.Item(2).AsSigned(), -1);
  EXPECT_EQ(read.Item(3).AsSigned(), 0);
  EXPECT_EQ(read.Item(4).AsSigned(), int64_t{1} << 31);
  EXPECT_EQ(read.Item(5).AsSigned(), INT64_MAX);
  EXPECT_EQ(read.Item(6).AsSigned(), INT64_MIN);
  EXPECT_EQ(read.Item(7).AsUnsigned(), UINT64_MAX);
  EXPECT_EQ(read.Item(7).AsSigned(), std::nullopt);
  EXPECT_TRUE(read.Item(8).is(PickleKind::kHugeInteger));
  EXPECT_EQ(read.Item(9).AsSigned(), -2);
  EXPECT_EQ(read.Item(10).AsFloat(), 1.5);
  EXPECT_TRUE(read.Item(11).is(PickleKind::kTrue));
  EXPECT_TRUE(read.Item(12).is(PickleKind::kFalse));
  EXPECT_TRUE(read.Item(13).is(PickleKind::kNone));
  EXPECT_EQ(read.Item(2).AsUnsigned(), std::nullopt);
}

TEST(Unpickler, TheTextProtocol) {
  const Reading read(
      "(lp0\nI01\naI00\naI-7\naL123456789012L\naL99999999999999999999999L\naF2.5\na"
      "S'it\\'s\\n\\x41'\np1\naVnaive \\u00ef\\U0001F600\na(I1\nI2\ntag1\na(dp2\nS'k'\nI5\nsa."s);
  ASSERT_EQ(read.size(), 11U);
  EXPECT_TRUE(read.Item(0).is(PickleKind::kTrue));
  EXPECT_TRUE(read.Item(1).is(PickleKind::kFalse));
  EXPECT_EQ(read.Item(2).AsSigned(), -7);
  EXPECT_EQ(read.Item(3).AsSigned(), 123456789012);
  EXPECT_TRUE(read.Item(4).is(PickleKind::kHugeInteger));
  EXPECT_EQ(read.Item(5).AsFloat(), 2.5);
  EXPECT_EQ(read.Text(6), "it's\nA");
  EXPECT_EQ(read.Text(7), "naive \xc3\xaf\xf0\x9f\x98\x80");
  EXPECT_EQ(read.Item(8).AsSequence().size(), 2U);
  EXPECT_EQ(read.Text(9), "it's\nA");
  ASSERT_EQ(read.Item(10).AsDict().size(), 2U);
}

TEST(Unpickler, ContainersAndTheMemo) {
  const Reading read(
      "\x80\x05]\x94()\x85\x94K\x01\x86K\x01K\x02\x86K\x01K\x02K\x03\x87}\x94(\x8c\x01"
      "aK\x01u\x8f(K\x05\x90(K\x06\x91h\x01h\x02\x96\x03\x00\x00\x00\x00\x00\x00\x00xyze."s);
  ASSERT_EQ(read.size(), 9U);
  EXPECT_TRUE(read.Item(0).is(PickleKind::kTuple));
  EXPECT_EQ(read.Item(2).AsSequence().size(), 3U);
  EXPECT_EQ(read.Item(3).AsDict().size(), 2U);
  EXPECT_TRUE(read.Item(4).is(PickleKind::kSet));
  EXPECT_TRUE(read.Item(5).is(PickleKind::kSet));
  EXPECT_EQ(read.Item(6).AsSequence().size(), 1U);
  EXPECT_EQ(read.Item(7).identity(), read.Item(3).identity());
  EXPECT_TRUE(read.Item(8).is(PickleKind::kBytes));
}

TEST(Unpickler, EqualTextsAreOneText) {
  const Reading read(
      "](\x8c\x03pigX\x03\x00\x00\x00pigU\x03pig\x8d\x03\x00\x00\x00\x00\x00\x00\x00pige."s);
  ASSERT_EQ(read.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(read.Item(i).AsText(), read.Item(0).AsText());
  EXPECT_EQ(read.tree().text_count(), 1U);
}

TEST(Unpickler, AListThatHoldsItselfIsRead) {
  const Reading read("]\x94h\x00\x61."s);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.Item(0).identity(), read.tree().root().identity());
}

struct Refusal {
  const char* name;
  std::string bytes;
  const char* sentence;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class UnpicklerRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(UnpicklerRefuses, WithASentenceThatNamesWhatAndWhere) {
  const absl::StatusOr<PickleTree> tree = Unpickle(GetParam().bytes);
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kPermissionDenied) << tree.status();
  EXPECT_THAT(Message(tree), HasSubstr(GetParam().sentence));
  EXPECT_THAT(Message(tree), HasSubstr("at byte "));
  EXPECT_EQ(Message(tree).find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Objects, UnpicklerRefuses,
    testing::Values(Refusal{"global", "\x80\x02]cos\nsystem\n.",
                            "at byte 3 the pickle asks to import 'os.system'"},
                    Refusal{"stack_global", "\x80\x04\x8c\x02os\x8c\x06system\x93.",
                            "at byte 14 the pickle asks to import 'os.system'"},
                    Refusal{"stack_global_without_names", "\x80\x04K\x01\x93.", "to import '?.?'"},
                    Refusal{"instance", "(ios\nsystem\n.", "to build an instance of 'os.system'"},
                    Refusal{"reduce", "](R.", "REDUCE"}, Refusal{"build", "]}b.", "BUILD"},
                    Refusal{"object", "(o.", "OBJ"}, Refusal{"new_object", "))\x81.", "NEWOBJ"},
                    Refusal{"new_object_ex", ")))\x92.", "NEWOBJ_EX"},
                    Refusal{"persistent_id", "P12\n.", "a persistent id"},
                    Refusal{"binary_persistent_id", "K\x01Q.", "a persistent id"},
                    Refusal{"extension_1", "\x82\x01.", "extension code"},
                    Refusal{"extension_2", "\x83\x01\x01.", "extension code"},
                    Refusal{"extension_4", "\x84\x01\x01\x01\x01.", "extension code"},
                    Refusal{"buffer", "\x97.", "buffer outside"},
                    Refusal{"readonly_buffer", "]\x98.", "buffer outside"},
                    Refusal{"unprintable_name", "c\x1b[31m\x07\n\xff\xfe\n.", "'?[31m?."},
                    Refusal{"long_name", "c" + std::string(500, 'm') + "\nn\n.", "mmm...'"}),
    [](const auto& instance) { return instance.param.name; });

TEST(UnpicklerDamage, NonsenseIsToldWithItsByte) {
  const struct {
    std::string bytes;
    const char* sentence;
  } cases[] = {
      {"", "ends after 0 bytes"},
      {"\x80", "the pickle ends after"},
      {"\x80\x06N.", "protocol 6 is newer than 5"},
      {"\x80\x04\xff.", "damaged at byte 2: 0xff is not a valid opcode"},
      {"0.", "empty stack"},
      {"1.", "a mark is read"},
      {".", "before all objects are complete"},
      {"NN.", "before all objects are complete"},
      {"(.", "before all objects are complete"},
      {"h\x05.", "number 5 was never memoized"},
      {"j\xff\xff\xff\xff.", "number 4294967295 was never memoized"},
      {"K\x01K\x02s.", "added without a container"},
      {"K\x01K\x02"
       "a.",
       "added to a number as if it were a list"},
      {"N(K\x01u.", "key without a value"},
      {"(K\x01"
       "d.",
       "key without a value"},
      {"e.", "without a beginning"},
      {"l.", "without a beginning"},
      {"K\x01\x86.", "lacks its items"},
      {"2.", "is duplicated"},
      {"\x94.", "there is no item to be memoized"},
      {"Ix\n.", "a number is expected"},
      {"L1x\n.", "a number is expected"},
      {"L-\n.", "a number is expected"},
      {"Fx\n.", "a number is expected"},
      {"gx\n.", "a number is expected"},
      {"Sx\n.", "in quotes"},
      {"S'\\q'\n.", "in quotes"},
      {"S'\\x4'\n.", "in quotes"},
      {"S'\\'\n.", "in quotes"},
      {"V\\u12\n.", "wrong escape"},
      {"\x8b\xff\xff\xff\xff.", "negative length"},
      {"T\xff\xff\xff\xff.", "negative length"},
  };
  for (const auto& test : cases) {
    const absl::StatusOr<PickleTree> tree = Unpickle(test.bytes);
    ASSERT_FALSE(tree.ok()) << test.sentence;
    EXPECT_THAT(Message(tree), HasSubstr(test.sentence));
  }
}

TEST(UnpicklerDamage, LengthsAreNotBelieved) {
  for (const std::string& head :
       {"X\xff\xff\xff\xff"s, "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s, "B\xff\xff\xff\x7f"s,
        "\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"s, "\x8b\xff\xff\xff\x7f"s, "T\xff\xff\xff\x7f"s,
        "\x96\x00\x00\x00\x00\x00\x00\x00\x80"s, "\x8a\xff"s, "C\xff"s}) {
    const absl::StatusOr<PickleTree> tree = Unpickle(head + "abc");
    ASSERT_FALSE(tree.ok());
    EXPECT_THAT(Message(tree), HasSubstr("the pickle ends after"));
  }
}

TEST(UnpicklerDamage, WhatWasReadableIsKept) {
  const std::string whole = PickleOf([](PickleWriter* out) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    for (int i = 0; i < 3; ++i) {
      out->BeginDict();
      out->Key("address");
      out->Integer(i);
      out->EndDict();
    }
    out->EndList();
    out->EndDict();
  });
  const std::string cut = whole.substr(0, whole.size() - 4);
  const absl::StatusOr<PickleTree> tree = Unpickle(cut);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_FALSE(tree->complete());
  EXPECT_THAT(tree->damage(), HasSubstr("the pickle ends after"));
  ASSERT_EQ(tree->root().AsDict().size(), 2U);
  EXPECT_EQ(tree->root().AsDict()[1].AsSequence().size(), 3U);
}

TEST(UnpicklerDamage, AListThatWasAppendedOneByOneIsKept) {
  // These bytes begin as {'k': [[1, 2 …; Python writes a list with one item without the opcode
  // MARK.
  const std::string cut = "}(\x8c\x01k]](K\x01K\x02";
  const absl::StatusOr<PickleTree> tree = Unpickle(cut);
  ASSERT_TRUE(tree.ok()) << tree.status();
  const auto pairs = tree->root().AsDict();
  ASSERT_EQ(pairs.size(), 2U);
  ASSERT_EQ(pairs[1].AsSequence().size(), 1U);
  EXPECT_EQ(pairs[1].AsSequence()[0].AsSequence().size(), 2U);
}

TEST(UnpicklerLimits, DepthCostsMemoryOnly) {
  constexpr size_t kDepth = 1'000'000;
  const std::string lists = std::string(kDepth, ']') + std::string(kDepth - 1, 'a') + ".";
  const absl::StatusOr<PickleTree> tree = Unpickle(lists);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE(tree->complete());
  const absl::StatusOr<PickleTree> marks = Unpickle(std::string(kDepth, '('));
  EXPECT_FALSE(marks.ok());
  std::string tuples = ")" + std::string(kDepth, '\x85') + ".";
  EXPECT_TRUE(Unpickle(tuples).ok());
}

TEST(UnpicklerLimits, TheBudgetIsKept) {
  constexpr uint64_t kBudget = uint64_t{1} << 20;
  for (const std::string& piece :
       {"]"s, "}"s, "N"s, "("s, ")\x85"s, "G\x00\x00\x00\x00\x00\x00\x00\x00"s, "]\x94"s}) {
    std::string bytes;
    while (bytes.size() < 1'000'000) bytes += piece;
    const absl::StatusOr<PickleTree> tree = Unpickle(bytes, {.max_memory_bytes = kBudget});
    ASSERT_FALSE(tree.ok());
    EXPECT_EQ(tree.status().code(), absl::StatusCode::kResourceExhausted) << tree.status();
    EXPECT_THAT(Message(tree), HasSubstr("more than 1048576 bytes"));
  }
}

TEST(UnpicklerLimits, DistinctTextsCountAgainstTheBudget) {
  std::string bytes = "](";
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = std::to_string(i);
    bytes += "\x8c" + std::string(1, static_cast<char>(text.size())) + text;
  }
  const absl::StatusOr<PickleTree> tree = Unpickle(bytes, {.max_memory_bytes = uint64_t{1} << 20});
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(UnpicklerLimits, AHugeMemoNumberCostsNothing) {
  const Reading read(
      "](K\x07r\xf0\xff\xff\xffj\xf0\xff\xff\xffK\x08q\x05h\x05"
      "e."s);
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read.Item(1).AsSigned(), 7);
  EXPECT_EQ(read.Item(3).AsSigned(), 8);
  EXPECT_LT(read.tree().bytes_used(), 200'000U);
}

// Each memo number exceeds the one before it by as much as the table of memo numbers allows.
TEST(UnpicklerLimits, LeapingMemoNumbersStayWithinTheBudget) {
  std::string bytes = "N";
  for (uint32_t i = 0; i < 200'000; ++i) {
    const uint32_t number = i * 64;
    bytes += "r" + std::string(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  const absl::StatusOr<PickleTree> tree = Unpickle(bytes, {.max_memory_bytes = uint64_t{4} << 20});
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace vramstow
