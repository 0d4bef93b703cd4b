#include "base/options.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace vramstow {
namespace {

std::map<std::string, std::string>& Environment() {
  static auto* environment = new std::map<std::string, std::string>();
  return *environment;
}

const char* Lookup(const char* name) {
  const auto found = Environment().find(name);
  return found == Environment().end() ? nullptr : found->second.c_str();
}

class OptionsTest : public testing::Test {
 protected:
  void SetUp() override { Environment().clear(); }
  Options options_;
  OptionError error_;
};

TEST_F(OptionsTest, NothingSetGivesTheDefaultsOfTheTable) {
  ASSERT_TRUE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_TRUE(options_.trace);
  EXPECT_STREQ(options_.trace_dir, ".");
  EXPECT_STREQ(options_.simulate, "");
  EXPECT_FALSE(options_.coverage);
}

TEST_F(OptionsTest, AnEmptyVariableCountsAsNotSet) {
  Environment()["VRAMSTOW_TRACE"] = "";
  Environment()["VRAMSTOW_TRACE_DIR"] = "";
  ASSERT_TRUE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_TRUE(options_.trace);
  EXPECT_STREQ(options_.trace_dir, ".");
}

TEST_F(OptionsTest, ValuesAreReadFromTheEnvironment) {
  Environment()["VRAMSTOW_TRACE"] = "off";
  Environment()["VRAMSTOW_TRACE_DIR"] = "/";
  Environment()["VRAMSTOW_SIMULATE"] = "h200,memory=1GiB";
  Environment()["VRAMSTOW_COVERAGE"] = "yes";
  ASSERT_TRUE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_FALSE(options_.trace);
  EXPECT_STREQ(options_.trace_dir, "/");
  EXPECT_STREQ(options_.simulate, "h200,memory=1GiB");
  EXPECT_TRUE(options_.coverage);
}

TEST_F(OptionsTest, AWrongBoolGetsASentenceAndTheDefault) {
  Environment()["VRAMSTOW_TRACE"] = "maybe";
  ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_TRUE(options_.trace);
  EXPECT_STREQ(error_.sentence,
               "VRAMSTOW_TRACE is 'maybe', which is neither on nor off: set it to 1 or 0.");
}

TEST_F(OptionsTest, ADirectoryThatIsNotThereGetsASentence) {
  Environment()["VRAMSTOW_TRACE_DIR"] = "/no/such/folder";
  ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_STREQ(options_.trace_dir, ".");
  EXPECT_NE(std::string(error_.sentence).find("/no/such/folder"), std::string::npos);
}

TEST(ShareSetting, ItsPartsComeInAnyOrderAndOnMayBeLeftOut) {
  ShareSetting setting;
  ASSERT_TRUE(ParseShare("off", &setting));
  EXPECT_FALSE(setting.on);
  ASSERT_TRUE(ParseShare("on", &setting));
  EXPECT_TRUE(setting.on);
  EXPECT_FALSE(setting.interactive);
  EXPECT_EQ(setting.weight, 1u);
  EXPECT_TRUE(setting.tells_card);
  ASSERT_TRUE(ParseShare("on,dir=/run/share,priority=interactive,tells=free,weight=100", &setting));
  EXPECT_TRUE(setting.interactive);
  EXPECT_FALSE(setting.tells_card);
  EXPECT_EQ(setting.weight, 100u);
  EXPECT_STREQ(setting.folder, "/run/share");
  ASSERT_TRUE(ParseShare("weight=2,priority=normal", &setting));
  EXPECT_TRUE(setting.on);
  EXPECT_EQ(setting.weight, 2u);
  for (const char* wrong : {"", "yes", "on,on", "weight=", "weight=0", "weight=101", "weight=2x",
                            "on,", "priority=high", "tells=", "dir=", "weight=2,on"}) {
    EXPECT_FALSE(ParseShare(wrong, &setting)) << wrong;
  }
  EXPECT_FALSE(ParseShare("dir=" + std::string(300, 'a'), &setting));
}

TEST(OffloadSetting, ItsPartsComeInAnyOrder) {
  OffloadSetting setting;
  ASSERT_TRUE(ParseOffload("auto", &setting));
  EXPECT_TRUE(setting.automatic);
  EXPECT_FALSE(setting.touches);
  EXPECT_EQ(setting.policy, OffloadChoice::kNextUse);
  ASSERT_TRUE(ParseOffload("explicit,touches,policy=coldest,host=1GiB", &setting));
  EXPECT_TRUE(setting.on);
  EXPECT_FALSE(setting.automatic);
  EXPECT_TRUE(setting.touches);
  EXPECT_EQ(setting.policy, OffloadChoice::kColdest);
  EXPECT_EQ(setting.host_bytes, uint64_t{1} << 30);
  ASSERT_TRUE(ParseOffload("auto,host=2GiB,policy=size", &setting));
  EXPECT_EQ(setting.policy, OffloadChoice::kSize);
  for (const char* wrong :
       {"", "on", "auto,", "auto,host=0", "auto,host=", "auto,policy=warmest", "auto,touch",
        "touches", "off,touches", "auto,touches,", "explicit,,"}) {
    EXPECT_FALSE(ParseOffload(wrong, &setting)) << wrong;
  }
}

TEST_F(OptionsTest, AChoiceIsOneOfItsWordsAndNoPartOfOne) {
  Environment()["VRAMSTOW_BACKING"] = "malloc";
  ASSERT_TRUE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_STREQ(options_.backing, "malloc");
  for (const char* wrong : {"mal", "mallocs", "auto|vmm", "|"}) {
    Environment()["VRAMSTOW_BACKING"] = wrong;
    ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_)) << wrong;
    EXPECT_STREQ(options_.backing, "auto");
    EXPECT_NE(std::string(error_.sentence).find("has to be one of auto|vmm|malloc"),
              std::string::npos);
  }
}

TEST_F(OptionsTest, TimesBytesAndLimitsAreChecked) {
  for (const auto& [variable, wrong] :
       std::map<std::string, std::string>{{"VRAMSTOW_DECAY", "10"},
                                          {"VRAMSTOW_KEEP_FREE", "-1"},
                                          {"VRAMSTOW_LIMIT", "150%"},
                                          {"VRAMSTOW_LARGE_CHUNKS", "many"}}) {
    Environment() = {{variable, wrong}};
    ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_)) << variable;
    EXPECT_EQ(std::string(error_.sentence).find(variable + " is '" + wrong + "'"), 0u);
  }
  Environment() = {{"VRAMSTOW_DECAY", "500ms"},
                   {"VRAMSTOW_KEEP_FREE", "1GiB"},
                   {"VRAMSTOW_LIMIT", "50%"},
                   {"VRAMSTOW_LARGE_CHUNKS", "64MiB"}};
  ASSERT_TRUE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_STREQ(options_.limit, "50%");
}

TEST_F(OptionsTest, ATraceSizeIsANumberOfBytesOrAWord) {
  TraceSizeSetting setting;
  ASSERT_TRUE(ReadOptions(Lookup, &options_, &error_));
  ASSERT_TRUE(ParseTraceSize(options_.trace_size, &setting));
  EXPECT_EQ(setting.bytes, uint64_t{256} << 20);
  EXPECT_FALSE(setting.is_asked);
  for (const char* const all : {"unlimited", "0"}) {
    ASSERT_TRUE(ParseTraceSize(all, &setting)) << all;
    EXPECT_EQ(setting.bytes, 0u) << all;
    EXPECT_FALSE(setting.is_asked) << all;
  }
  ASSERT_TRUE(ParseTraceSize("256MiB", &setting));
  EXPECT_EQ(setting.bytes, uint64_t{256} << 20);
  EXPECT_TRUE(setting.is_asked);
  for (const char* const wrong :
       {"all", "-1", "unlimited!", "auto,1MiB", "12 parsecs", "1", "1023KiB"}) {
    Environment()["VRAMSTOW_TRACE_SIZE"] = wrong;
    EXPECT_FALSE(ReadOptions(Lookup, &options_, &error_)) << wrong;
    EXPECT_STREQ(options_.trace_size, "auto");
    EXPECT_NE(std::string(error_.sentence).find("or auto, or unlimited"), std::string::npos);
  }
}

TEST_F(OptionsTest, LaunchesAreOffCountedOrSampled) {
  LaunchesSetting setting;
  EXPECT_TRUE(ParseLaunches("off", &setting));
  EXPECT_FALSE(setting.on);
  EXPECT_TRUE(ParseLaunches("count", &setting));
  EXPECT_TRUE(setting.on);
  EXPECT_EQ(setting.every, 0u);
  EXPECT_TRUE(ParseLaunches("sample=1000000", &setting));
  EXPECT_EQ(setting.every, 1'000'000u);
  for (const char* wrong : {"", "sample", "sample=", "sample=0", "sample=1000001", "sample=1x",
                            "sample=99999999999999999999", "counts"}) {
    EXPECT_FALSE(ParseLaunches(wrong, &setting)) << wrong;
  }
  Environment()["VRAMSTOW_LAUNCHES"] = "each";
  ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_STREQ(options_.launches, "off");
}

TEST_F(OptionsTest, MetricsAreAPortASocketOrAFile) {
  using Kind = MetricsSetting::Kind;
  MetricsSetting setting;
  EXPECT_TRUE(ParseMetrics("", &setting));
  EXPECT_EQ(setting.kind, Kind::kNone);
  EXPECT_TRUE(ParseMetrics("9400", &setting));
  EXPECT_EQ(setting.kind, Kind::kPort);
  EXPECT_EQ(setting.address, "127.0.0.1");
  EXPECT_EQ(setting.port, 9400);
  EXPECT_TRUE(ParseMetrics("0.0.0.0:65535", &setting));
  EXPECT_EQ(setting.address, "0.0.0.0");
  EXPECT_EQ(setting.port, 65535);
  EXPECT_TRUE(ParseMetrics("[::1]:1", &setting));
  EXPECT_EQ(setting.address, "::1");
  EXPECT_TRUE(ParseMetrics("unix:a/b.sock", &setting));
  EXPECT_EQ(setting.kind, Kind::kSocket);
  EXPECT_EQ(setting.path, "a/b.sock");
  EXPECT_TRUE(ParseMetrics("/x/job,1.prom,every=2s", &setting));
  EXPECT_EQ(setting.kind, Kind::kFile);
  EXPECT_EQ(setting.path, "/x/job,1.prom");
  EXPECT_EQ(setting.every_ns, 2'000'000'000u);
  for (const char* wrong :
       {"0", "65536", "99999999999999999999", "x", "unix:", "1.2.3:9400", "host:9400",
        "[1.2.3.4]:5", "::1:5", ":5", "1.2.3.4:", "x.txt", "x.prom,every=", "x.prom,every=999ms",
        "x.prom,every=0", "9400,every=5s"}) {
    EXPECT_FALSE(ParseMetrics(wrong, &setting)) << wrong;
  }
  Environment()["VRAMSTOW_METRICS"] = "each";
  ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_STREQ(options_.metrics, "");
}

TEST(Limit, IsBytesOrAPartOfTheDevice) {
  const auto limit = [](const char* text) {
    uint64_t bytes = 1;
    return ParseLimit(text, 1000000000, &bytes) ? bytes : ~uint64_t{0};
  };
  EXPECT_EQ(limit(""), 0u);
  EXPECT_EQ(limit("2MiB"), uint64_t{2} << 20);
  EXPECT_EQ(limit("50%"), 500000000u);
  EXPECT_EQ(limit("12.5%"), 125000000u);
  EXPECT_EQ(limit("0.25"), 250000000u);
  EXPECT_EQ(limit("1.0"), 1000000000u);
  EXPECT_EQ(limit("100%"), 1000000000u);
  for (const char* wrong : {"0%", "%", "101%", "0.", "0.5.5", "half", "-1", "0.x"}) {
    EXPECT_EQ(limit(wrong), ~uint64_t{0}) << wrong;
  }
}

TEST_F(OptionsTest, OfTwoErrorsTheFirstIsTold) {
  Environment()["VRAMSTOW_TRACE"] = "maybe";
  Environment()["VRAMSTOW_COVERAGE"] = "perhaps";
  ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_NE(std::string(error_.sentence).find("VRAMSTOW_TRACE "), std::string::npos);
}

TEST_F(OptionsTest, AnOverlongValueIsCutNotOverrun) {
  Environment()["VRAMSTOW_TRACE"] = std::string(10000, 'x');
  ASSERT_FALSE(ReadOptions(Lookup, &options_, &error_));
  EXPECT_LT(std::string(error_.sentence).size(), sizeof error_.sentence);
}

TEST(OptionTable, FlagsVariablesAndFieldsAreUnique) {
  std::set<std::string> seen;
  const OptionTable table = AllOptions();
  ASSERT_GT(table.count, 0u);
  for (size_t i = 0; i < table.count; ++i) {
    EXPECT_TRUE(seen.insert(table.rows[i].field).second);
    EXPECT_TRUE(seen.insert(table.rows[i].flag).second);
    EXPECT_TRUE(seen.insert(table.rows[i].environment).second);
    EXPECT_EQ(std::string(table.rows[i].environment).rfind("VRAMSTOW_", 0), 0u);
    EXPECT_NE(table.rows[i].help[0], '\0');
  }
}

}  // namespace
}  // namespace vramstow
