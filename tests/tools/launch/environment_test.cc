#include "tools/launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/jobs/run_id.h"

namespace vramstow {
namespace {

using testing::ElementsAre;

Installation SomeInstallation() { return InstallationOf("/opt/vramstow/bin/vramstow"); }

TEST(Environment, OtherVariablesStayAsTheyAre) {
  Environment environment({"A=1", "odd", "=C:=x", "B=2", "A=shadowed"});
  environment.Set("B", "3");
  environment.Set("C", "");
  EXPECT_THAT(environment.entries(), ElementsAre("A=1", "odd", "=C:=x", "B=3", "A=shadowed", "C="));
  EXPECT_STREQ(environment.Get("A"), "1");
  EXPECT_STREQ(environment.Get("C"), "");
  EXPECT_EQ(environment.Get("od"), nullptr);
  EXPECT_EQ(environment.Pointers().back(), nullptr);
}

TEST(Environment, ARealRunPreloadsTheShimAfterWhatIsThere) {
  Environment plain(std::vector<std::string>{});
  AddLibraries(SomeInstallation(), false, &plain);
  EXPECT_THAT(plain.entries(), ElementsAre("LD_PRELOAD=/opt/vramstow/lib/libvramstow.so"));
  Environment with_jemalloc({"LD_PRELOAD=libjemalloc.so.2"});
  AddLibraries(SomeInstallation(), false, &with_jemalloc);
  EXPECT_STREQ(with_jemalloc.Get("LD_PRELOAD"),
               "libjemalloc.so.2:/opt/vramstow/lib/libvramstow.so");
}

TEST(Environment, ARehearsalBringsTheSimulator) {
  Environment environment({"LD_LIBRARY_PATH=/usr/local/lib"});
  AddLibraries(SomeInstallation(), true, &environment);
  const std::string folder = "/opt/vramstow/lib/vramstow/simulator";
  std::string expected = "/opt/vramstow/lib/libvramstow.so";
  for (const char* name :
       {"libcudart.so.13", "libcudart.so.12", "libcublasLt.so.13", "libcublasLt.so.12",
        "libcublas.so.13", "libcublas.so.12", "libcudnn.so.9", "libnccl.so.2", "libcupti.so.13",
        "libcupti.so.12", "libcufft.so.12", "libcufft.so.11", "libcurand.so.10",
        "libcusparse.so.12", "libcusolver.so.12", "libcusolver.so.11", "libcusparseLt.so.0"}) {
    expected += ":" + folder + "/" + name;
  }
  EXPECT_EQ(environment.Get("LD_PRELOAD"), expected);
  EXPECT_EQ(environment.Get("LD_LIBRARY_PATH"), folder + ":/usr/local/lib");
  EXPECT_EQ(environment.Get("TRITON_LIBCUDA_PATH"), folder);
}

TEST(Environment, ARunInsideARunEntersNothingTwice) {
  Environment environment(std::vector<std::string>{});
  AddLibraries(SomeInstallation(), true, &environment);
  const std::vector<std::string> once = environment.entries();
  AddLibraries(SomeInstallation(), true, &environment);
  EXPECT_EQ(environment.entries(), once);
}

TEST(Installation, PathsThatTheDynamicLinkerCannotReadAreRefused) {
  for (const char* program : {"/a b/bin/vramstow", "/a:b/bin/vramstow", "/a$b/bin/vramstow"}) {
    const absl::Status status = CheckInstallation(InstallationOf(program), false);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cannot be preloaded"));
  }
  const absl::Status missing = CheckInstallation(InstallationOf("/nowhere/bin/vramstow"), false);
  EXPECT_THAT(std::string(missing.message()), testing::HasSubstr("/nowhere/lib/libvramstow.so"));
}

TEST(RunId, AnOuterRunFindsTheTracesOfAnInnerOne) {
  const std::string outer = NewRunId(nullptr);
  const std::string inner = NewRunId(outer.c_str());
  EXPECT_NE(NewRunId(nullptr), outer);
  EXPECT_TRUE(BelongsToRun(outer, outer));
  EXPECT_TRUE(BelongsToRun(inner, outer));
  EXPECT_FALSE(BelongsToRun(outer, inner));
  EXPECT_FALSE(BelongsToRun(outer + "0", outer));
}

}  // namespace
}  // namespace vramstow
