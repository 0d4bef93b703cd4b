// Tests vramstow together with other preloaded libraries and under a sanitizer.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/interpose/support.h"

namespace vramstow {
namespace {

using testing::ElementsAre;

namespace fs = std::filesystem;

class Neighbours : public Interposed {};

TEST_F(Neighbours, RtldNextIsStillJudgedByTheCaller) {
  const std::string one = kPrograms + "/libnext_1.so";
  const std::string ten = kPrograms + "/libnext_10.so";
  const std::string hundred = kPrograms + "/libnext_100.so";
  for (const std::string& preload :
       {one + ":" + ten + ":" + hundred, kShim + ":" + one + ":" + ten + ":" + hundred,
        one + ":" + kShim + ":" + ten + ":" + hundred,
        one + ":" + ten + ":" + hundred + ":" + kShim}) {
    const Outcome outcome = Run({"next_host"}, {}, preload);
    EXPECT_EQ(outcome.status, 0) << preload << outcome.error;
    EXPECT_EQ(outcome.out, "111\n") << preload;
  }
}

TEST_F(Neighbours, JemallocInEitherOrder) {
  if (kIsSanitized) GTEST_SKIP() << "the programs have a sanitizer already";
  const std::string jemalloc = VRAMSTOW_TEST_JEMALLOC;
  if (jemalloc.empty()) GTEST_SKIP() << "libjemalloc.so.2 is not installed";
  for (const std::string& preload : {kShim + ":" + jemalloc, jemalloc + ":" + kShim}) {
    const Outcome outcome = Run({"host", "threads"}, {}, preload);
    EXPECT_EQ(outcome.status, 0) << preload << outcome.error;
    EXPECT_EQ(AllocatedSizes(OnlyTrace()).size(), 4000u);
    fs::remove(folder() + "/" + OnlyTrace().file);
    EXPECT_EQ(Run({"host", "fork-active"}, {}, preload).status, 0);
    for (const ReadTrace& trace : Traces()) fs::remove(folder() + "/" + trace.file);
  }
}

TEST_F(Neighbours, AProgramWithAddressSanitizerLinkedIn) {
  if (kIsSanitized) GTEST_SKIP() << "the programs have a sanitizer already";
  for (const char* scenario : {"dlsym", "proc-address", "threads", "exit-order", "fork-active"}) {
    const Outcome outcome = Run({"host_asan_static", scenario});
    EXPECT_EQ(outcome.status, 0) << scenario << outcome.error;
    EXPECT_FALSE(Traces().empty());
    for (const ReadTrace& trace : Traces()) fs::remove(folder() + "/" + trace.file);
  }
  EXPECT_EQ(Run({"linked_asan_static"}).status, 0);
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000, 5120));
}

TEST_F(Neighbours, AProgramWithAddressSanitizersLibrary) {
  if (kIsSanitized) GTEST_SKIP() << "the programs have a sanitizer already";
  const Outcome outcome =
      Run({"host_asan_shared", "threads"}, {}, std::string(VRAMSTOW_TEST_LIBASAN) + ":" + kShim);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(AllocatedSizes(OnlyTrace()).size(), 4000u);
}

}  // namespace
}  // namespace vramstow
