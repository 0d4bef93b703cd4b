#include "tools/commands/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tools/jobs/settings.h"

namespace vramstow {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::StartsWith;

TEST(RunArguments, TheCommandBeginsAfterTheDashes) {
  const RunArguments split =
      SplitRunArguments({"--no-trace", "--simulate", "h200", "--", "python", "--", "-x"});
  EXPECT_THAT(split.flags, ElementsAre("--no-trace", "--simulate", "h200"));
  EXPECT_THAT(split.command, ElementsAre("python", "--", "-x"));
}

TEST(RunArguments, OrAtTheFirstThatIsNoFlag) {
  const RunArguments split = SplitRunArguments({"--simulate=h200", "python", "--no-trace"});
  EXPECT_THAT(split.flags, ElementsAre("--simulate=h200"));
  EXPECT_THAT(split.command, ElementsAre("python", "--no-trace"));
}

TEST(RunArguments, AMissingValueDoesNotTakeTheDashes) {
  const RunArguments split = SplitRunArguments({"--trace-dir", "--", "python"});
  EXPECT_THAT(split.flags, ElementsAre("--trace-dir"));
  EXPECT_THAT(split.command, ElementsAre("python"));
  EXPECT_THAT(SplitRunArguments({}).command, IsEmpty());
}

TEST(RunArguments, PoolAndOffloadAloneMeanOnAndAuto) {
  const RunArguments split = SplitRunArguments({"--pool", "--offload", "--share", "--", "python"});
  EXPECT_THAT(split.flags, ElementsAre("--pool=on", "--offload=auto", "--share=on"));
  EXPECT_THAT(split.command, ElementsAre("python"));
  EXPECT_THAT(SplitRunArguments({"--pool"}).flags, ElementsAre("--pool=on"));
  EXPECT_THAT(SplitRunArguments({"--pool", "python"}).command, ElementsAre("python"));
  const RunArguments said =
      SplitRunArguments({"--pool", "off", "--offload", "explicit,host=1GiB", "python"});
  EXPECT_THAT(said.flags, ElementsAre("--pool", "off", "--offload", "explicit,host=1GiB"));
  EXPECT_THAT(said.command, ElementsAre("python"));
}

TEST(ImpliedPool, IsSwitchedOnByWhatNeedsItUnlessSomebodySaidOtherwise) {
  for (const auto& [variable, value] :
       FlagValues{{"VRAMSTOW_OFFLOAD", "auto"}, {"VRAMSTOW_NVTX_MEMORY", "1"}}) {
    FlagValues flags = {{variable, value}};
    ImplyPool(&flags);
    EXPECT_EQ(flags["VRAMSTOW_POOL"], "on") << variable;
    flags = {{variable, value}, {"VRAMSTOW_POOL", "off"}};
    ImplyPool(&flags);
    EXPECT_EQ(flags["VRAMSTOW_POOL"], "off") << variable;
    setenv("VRAMSTOW_POOL", "off", 1);
    flags = {{variable, value}};
    ImplyPool(&flags);
    unsetenv("VRAMSTOW_POOL");
    EXPECT_FALSE(flags.contains("VRAMSTOW_POOL")) << variable;
  }
  FlagValues flags = {
      {"VRAMSTOW_OFFLOAD", "off"}, {"VRAMSTOW_SHARE", "off"}, {"VRAMSTOW_STACKS", "sites"}};
  ImplyPool(&flags);
  EXPECT_FALSE(flags.contains("VRAMSTOW_POOL"));
}

// Returns the rows of the option table whose help says that the flag switches the pool on.
std::vector<std::string> PoolVariables() {
  std::vector<std::string> variables;
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    const std::string_view help = table.rows[i].help;
    if (help.ends_with("The flag switches the pool on.")) {
      variables.emplace_back(table.rows[i].environment);
    }
  }
  return variables;
}

TEST(ImpliedPool, IsSwitchedOnByEachFlagWhoseHelpSaysSo) {
  const std::vector<std::string> variables = PoolVariables();
  EXPECT_THAT(variables, IsSupersetOf({"VRAMSTOW_LIMIT", "VRAMSTOW_KEEP_FREE", "VRAMSTOW_DECAY"}));
  const OptionTable table = AllOptions();
  for (size_t i = 0; i < table.count; ++i) {
    const std::string variable = table.rows[i].environment;
    if (variable == "VRAMSTOW_POOL") continue;
    const bool is_share = variable == "VRAMSTOW_SHARE";
    const std::string value = variable == "VRAMSTOW_OFFLOAD" ? "auto" : is_share ? "on" : "1";
    FlagValues flags = {{variable, value}};
    ImplyPool(&flags);
    EXPECT_EQ(flags.contains("VRAMSTOW_POOL"), testing::Value(variables, Contains(variable)))
        << variable;
  }
}

TEST(Settings, ALimitOfThePoolIsNotIgnoredWhereThePoolIsOff) {
  const auto refused = ReadSettings({{"VRAMSTOW_LIMIT", "100MiB"}, {"VRAMSTOW_POOL", "off"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(std::string(refused.status().message()),
            "--limit is a setting of the pool, which is off: add --pool=on.");
  setenv("VRAMSTOW_LIMIT", "100MiB", 1);
  EXPECT_THAT(VariablesWithoutPool({}),
              ElementsAre("VRAMSTOW_LIMIT has no effect, because the pool is off: --pool=on "
                          "switches it on."));
  EXPECT_THAT(VariablesWithoutPool({{"VRAMSTOW_POOL", "on"}}), IsEmpty());
  unsetenv("VRAMSTOW_LIMIT");
  EXPECT_THAT(VariablesWithoutPool({}), IsEmpty());
}

TEST(Settings, AFlagWinsOverTheEnvironment) {
  setenv("VRAMSTOW_SIMULATE", "a100", 1);
  EXPECT_EQ(ReadSettings({})->simulate, "a100");
  EXPECT_EQ(ReadSettings({{"VRAMSTOW_SIMULATE", "h200"}})->simulate, "h200");
  unsetenv("VRAMSTOW_SIMULATE");
  EXPECT_EQ(ReadSettings({})->simulate, "");
  EXPECT_TRUE(ReadSettings({})->trace);
  EXPECT_FALSE(ReadSettings({{"VRAMSTOW_TRACE", "0"}})->trace);
}

TEST(Settings, AnErrorNamesWhatTheUserHasWritten) {
  const auto by_flag = ReadSettings({{"VRAMSTOW_TRACE_DIR", "/does/not/exist"}});
  ASSERT_FALSE(by_flag.ok());
  EXPECT_THAT(std::string(by_flag.status().message()), StartsWith("--trace-dir is '/does/not"));
  setenv("VRAMSTOW_TRACE_DIR", "/does/not/exist", 1);
  const auto by_variable = ReadSettings({});
  unsetenv("VRAMSTOW_TRACE_DIR");
  ASSERT_FALSE(by_variable.ok());
  EXPECT_THAT(std::string(by_variable.status().message()), StartsWith("VRAMSTOW_TRACE_DIR is"));
}

TEST(Settings, WhatIsAboutThePoolAsksForThePool) {
  for (const auto& [variable, value] :
       FlagValues{{"VRAMSTOW_OFFLOAD", "auto"}, {"VRAMSTOW_NVTX_MEMORY", "1"}}) {
    const auto without = ReadSettings({{variable, value}});
    ASSERT_FALSE(without.ok()) << variable;
    EXPECT_THAT(std::string(without.status().message()), EndsWith("add --pool=on."));
    EXPECT_TRUE(ReadSettings({{variable, value}, {"VRAMSTOW_POOL", "on"}}).ok()) << variable;
  }
}

TEST(Settings, WhatIsWrittenIntoTheTraceIsRefusedWithoutOne) {
  const FlagValues no_trace = {{"VRAMSTOW_TRACE", "0"}};
  ASSERT_TRUE(ReadSettings(no_trace).ok());
  for (const auto& [variable, value] :
       FlagValues{{"VRAMSTOW_COLLECT", "on"}, {"VRAMSTOW_CENSUS", "on"}, {"VRAMSTOW_NVTX", "1"}}) {
    EXPECT_TRUE(ReadSettings({{variable, value}}).ok()) << variable;
    const auto refused = ReadSettings({{"VRAMSTOW_TRACE", "0"}, {variable, value}});
    ASSERT_FALSE(refused.ok()) << variable;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("leave --no-trace out"));
  }
  EXPECT_TRUE(
      ReadSettings({{"VRAMSTOW_TRACE", "0"}, {"VRAMSTOW_COLLECT", "on"}, {"VRAMSTOW_POOL", "on"}})
          .ok());
}

TEST(Settings, TensorsWithoutThePoolAreObserved) {
  const auto observed = ReadSettings({{"VRAMSTOW_LEVEL", "tensors"}});
  ASSERT_TRUE(observed.ok()) << observed.status();
  EXPECT_TRUE(observed->observed);
  EXPECT_FALSE(observed->tensors);
  const auto pooled = ReadSettings({{"VRAMSTOW_LEVEL", "tensors"}, {"VRAMSTOW_POOL", "on"}});
  ASSERT_TRUE(pooled.ok()) << pooled.status();
  EXPECT_FALSE(pooled->observed);
  EXPECT_TRUE(pooled->tensors);
}

TEST(Flags, AreTypedInTheOrderOfTheTable) {
  EXPECT_THAT(TypedFlags({{"VRAMSTOW_OFFLOAD", "auto"}, {"VRAMSTOW_POOL", "on"}}),
              ElementsAre("--pool=on", "--offload=auto"));
}

TEST(Flags, AreWrittenWithTheirValues) {
  const OptionTable table = AllOptions();
  EXPECT_EQ(FlagWithValue(table.rows[0]), "--no-trace");
  EXPECT_EQ(FlagWithValue(table.rows[1]), "--trace-dir DIR");
}

}  // namespace
}  // namespace vramstow
