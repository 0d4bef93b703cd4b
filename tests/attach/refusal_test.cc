// Tests the message when the kernel refuses to stop a thread. A test cannot change this machine's
// own setting.
#include <gtest/gtest.h>

#include "tools/attach/remote_process.h"
#include "tools/attach/stopped_thread.h"

namespace vramstow {
namespace {

TEST(RefusalTest, YamaIsNamedWithWhatHelps) {
  EXPECT_EQ(WhoMayEnter(1, false),
            "run vramstow attach as root, or permit it with sysctl "
            "kernel.yama.ptrace_scope=0.");
  EXPECT_EQ(WhoMayEnter(2, false), "run vramstow attach as root (kernel.yama.ptrace_scope is 2).");
  for (const bool is_root : {false, true}) {
    EXPECT_EQ(WhoMayEnter(3, is_root),
              "attaching is disabled until the next reboot (kernel.yama.ptrace_scope is 3).");
  }
}

TEST(RefusalTest, RootIsNotToldToBecomeRoot) {
  for (const int scope : {0, 1, 2}) {
    EXPECT_EQ(
        WhoMayEnter(scope, true),
        "root has no permission to debug here; start the container with --cap-add=SYS_PTRACE.");
  }
  EXPECT_EQ(
      WhoMayEnter(0, false),
      "run vramstow attach as the same user or as root; a container needs --cap-add=SYS_PTRACE.");
}

TEST(RefusalTest, OnlyTheProcessOfAnotherUserIsSaidToBeOne) {
  EXPECT_EQ(WhyNoMaps(7, 1000, 1001),
            "process 7 belongs to another user, so it cannot be inspected. Run vramstow attach as "
            "that user, or as root.");
  EXPECT_EQ(WhyNoMaps(7, 1000, 1000),
            "process 7 cannot be inspected, because its own user has no permission to debug it "
            "here; a container needs --cap-add=SYS_PTRACE.");
  for (const uid_t owner : {0, 1000}) {
    EXPECT_EQ(WhyNoMaps(7, owner, 0),
              "process 7 cannot be inspected, because root has no permission to debug it here; a "
              "container needs --cap-add=SYS_PTRACE.");
  }
}

}  // namespace
}  // namespace vramstow
