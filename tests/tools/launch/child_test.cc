// Tests which signals count as a request to end this process after its command has ended.
#include "tools/launch/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "tools/launch/environment.h"

namespace vramstow {
namespace {

TEST(Child, TheSignalThatEndedTheCommandMayComeTwiceButAnotherIsANewRequest) {
  sigset_t asking;
  sigset_t before;
  sigemptyset(&asking);
  for (int signal : {SIGINT, SIGTERM}) sigaddset(&asking, signal);
  sigprocmask(SIG_BLOCK, &asking, &before);
  kill(getpid(), SIGTERM);  // RunChildren accepts it, and relays it to the command
  std::vector<Environment> environments(1);
  const std::vector<ChildEnd> ends = RunChildren({"/bin/sleep", "60"}, &environments);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].how, ChildEnd::How::kKilled);
  EXPECT_EQ(ends[0].value, SIGTERM);
  EXPECT_FALSE(IsAskedToEnd());
  kill(getpid(), SIGTERM);
  EXPECT_FALSE(IsAskedToEnd());
  kill(getpid(), SIGINT);
  EXPECT_TRUE(IsAskedToEnd());
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace vramstow
