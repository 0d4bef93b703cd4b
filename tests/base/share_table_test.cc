#include "base/share_table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/monotonic_clock.h"

namespace vramstow {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class ShareTableTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/share-table-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
  }
  void TearDown() override { EXPECT_EQ(std::system(("rm -rf " + folder_).c_str()), 0); }

  std::string file() const { return folder_ + "/gpus.share"; }
  bool Open(ShareTable* table) {
    return table->Open(folder_.c_str(), why_, sizeof why_) && table->Join(why_, sizeof why_);
  }
  // Runs `body` in a child process that then waits to be killed. Returns its number once body has
  // returned true, else -1.
  template <typename Body>
  pid_t InChild(Body body) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const char is_good = body() ? 'y' : 'n';
      if (write(ends[1], &is_good, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char said = 'n';
    EXPECT_EQ(read(ends[0], &said, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return said == 'y' ? child : -1;
  }
  // Makes a child process that runs `begin`, and then lives until nobody holds ends[1] any more.
  template <typename Begin>
  static void MakeLastingChild(const int (&ends)[2], Begin begin) {
    if (fork() != 0) return;
    begin();
    close(ends[1]);
    char byte = 0;
    _exit(static_cast<int>(read(ends[0], &byte, 1)));
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  std::string folder_;
  char why_[600] = "";
};

TEST_F(ShareTableTest, EachProcessSeesTheOthersUntilTheyAreKilled) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  const pid_t child = InChild([&] {
    table.Abandon();
    ShareTable own;
    if (!Open(&own) || !own.Lock(kSecond)) return false;
    own.own().member.resident_bytes = 7;
    own.Unlock();
    return own.own_number() == 1;
  });
  ASSERT_GT(child, 0);
  ASSERT_TRUE(table.Lock(kSecond));
  EXPECT_TRUE(table.IsLive(0));
  EXPECT_TRUE(table.IsLive(1));
  EXPECT_EQ(table.At(1).member.resident_bytes, 7u);
  table.Unlock();
  Kill(child);
  EXPECT_FALSE(table.IsLive(1));
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, AProcessThatIsKilledWithTheLockReleasesIt) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  const pid_t child = InChild([&] {
    table.Abandon();
    ShareTable own;
    return Open(&own) && own.Lock(kSecond);
  });
  ASSERT_GT(child, 0);
  EXPECT_FALSE(table.Lock(kSecond / 100));
  Kill(child);
  EXPECT_TRUE(table.Lock(kSecond));
  table.Unlock();
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, AForkedChildDoesNotHoldTheSlotOfItsParent) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  int ends[2];  // the grandchild lives until the test closes the second one
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = InChild([&] {
    table.Abandon();
    static ShareTable own;
    if (!Open(&own)) return false;
    MakeLastingChild(ends, [] { own.Abandon(); });
    return true;
  });
  ASSERT_GT(owner, 0);
  EXPECT_TRUE(table.IsLive(1));
  Kill(owner);
  // The grandchild closes its copy of the descriptor as soon as it runs.
  for (int i = 0; i < 60'000 && table.IsLive(1); ++i) usleep(1000);
  EXPECT_FALSE(table.IsLive(1));
  close(ends[0]);
  close(ends[1]);
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, AChildWithoutTheHandlersOfForkDoesNotKeepItsParentAlive) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  int ends[2];  // the grandchild lives until the test closes the second one
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = InChild([&] {
    table.Abandon();
    static ShareTable own;
    if (!Open(&own) || !own.Lock(kSecond)) return false;
    own.own().process = getpid();
    own.own().member.measured_at_ns = MonotonicTime() - 6 * kSecond;
    own.Unlock();
    MakeLastingChild(ends, [] {});
    return true;
  });
  ASSERT_GT(owner, 0);
  EXPECT_TRUE(table.IsLive(1));
  Kill(owner);
  EXPECT_FALSE(table.IsLive(1));
  close(ends[0]);
  close(ends[1]);
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, ADescriptorThatTheProgramClosedIsNoticedAndReplaced) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  EXPECT_FALSE(table.IsClosedByProgram());
  int descriptor = -1;
  for (int i = 3; i < 4096 && descriptor < 0; ++i) {
    struct stat about = {};
    struct stat wanted = {};
    ASSERT_EQ(stat(file().c_str(), &wanted), 0);
    if (fstat(i, &about) == 0 && about.st_ino == wanted.st_ino && about.st_dev == wanted.st_dev) {
      descriptor = i;
    }
  }
  EXPECT_GE(descriptor, 1000);  // loops that close the small numbers do not meet it
  const int own = open("/dev/null", O_RDONLY);
  ASSERT_EQ(dup2(own, descriptor), descriptor);  // the program closes it and uses its number
  EXPECT_TRUE(table.IsClosedByProgram());
  ASSERT_TRUE(table.Rejoin(why_, sizeof why_)) << why_;
  EXPECT_FALSE(table.IsClosedByProgram());
  EXPECT_TRUE(table.Lock(kSecond));
  table.Unlock();
  EXPECT_EQ(fcntl(descriptor, F_GETFD), 0);  // the program's file is still open
  ASSERT_EQ(unlink(file().c_str()), 0);
  table.Close();
  EXPECT_EQ(fcntl(descriptor, F_GETFD), 0);
  close(descriptor);
  close(own);
}

TEST_F(ShareTableTest, ATableThatWasNeverFinishedIsMadeAnew) {
  const int made = open(file().c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(ftruncate(made, 20'000), 0);
  close(made);
  ShareTable table;
  EXPECT_TRUE(Open(&table)) << why_;
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, AFullFileSystemIsReportedInOneSentence) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr int kCannotMount = 77;
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder_.c_str(), "tmpfs", 0, "size=8k,mode=0700") != 0) {
      _exit(kCannotMount);
    }
    ShareTable table;
    const bool is_open = table.Open(folder_.c_str(), why_, sizeof why_);
    struct stat about = {};
    const bool is_empty = stat(file().c_str(), &about) == 0 && about.st_size == 0;
    const bool is_said = std::string(why_).find("there is no room") == 0;
    _exit(!is_open && is_empty && is_said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this needs mount(2)";
  EXPECT_EQ(status, 0);
}

TEST_F(ShareTableTest, ARelativeFolderIsTheOneOfTheTimeOfOpening) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder_.c_str()) != 0) _exit(2);
    ShareTable table;
    if (!table.Open("own", why_, sizeof why_) || !table.Join(why_, sizeof why_)) _exit(3);
    if (chdir("/") != 0) _exit(2);
    table.Leave();
    table.Close();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(access((folder_ + "/own/gpus.share").c_str(), F_OK), 0);
}

TEST_F(ShareTableTest, TheLastProcessRemovesTheFileAndTheNextMakesItAnew) {
  ShareTable first;
  ShareTable second;
  ASSERT_TRUE(Open(&first)) << why_;
  ASSERT_TRUE(Open(&second)) << why_;
  first.Leave();
  EXPECT_EQ(access(file().c_str(), F_OK), 0);
  ASSERT_TRUE(first.Join(why_, sizeof why_));
  first.Leave();
  second.Leave();
  EXPECT_NE(access(file().c_str(), F_OK), 0);
  // A process that opened the file before it was removed joins a new one.
  ASSERT_TRUE(first.Join(why_, sizeof why_));
  EXPECT_EQ(access(file().c_str(), F_OK), 0);
  first.Leave();
  first.Close();
  second.Close();
}

TEST_F(ShareTableTest, AProcessWhoseFileWasRemovedLeavesTheNextFileAlone) {
  ShareTable lost;
  ASSERT_TRUE(Open(&lost)) << why_;
  EXPECT_FALSE(lost.IsRemoved());
  ASSERT_EQ(unlink(file().c_str()), 0);
  EXPECT_TRUE(lost.IsRemoved());
  ShareTable next;
  ASSERT_TRUE(Open(&next)) << why_;
  lost.Leave();
  EXPECT_FALSE(next.IsRemoved());
  EXPECT_EQ(access(file().c_str(), F_OK), 0);
}

TEST_F(ShareTableTest, AWaitEndsWhenAnotherProcessWakes) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  const uint32_t seen = table.sequence();
  const pid_t child = InChild([&] {
    table.Abandon();
    ShareTable own;
    if (!Open(&own)) return false;
    own.Wake();
    return true;
  });
  ASSERT_GT(child, 0);
  table.Wait(seen, 60 * kSecond);
  EXPECT_NE(table.sequence(), seen);
  Kill(child);
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, FilesThatAreNoTableAreRefusedInOneSentence) {
  const auto refused = [&](const char* contents, size_t size) {
    const int made = open(file().c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    EXPECT_EQ(write(made, contents, size), static_cast<ssize_t>(size));
    close(made);
    ShareTable table;
    const bool is_refused = !table.Open(folder_.c_str(), why_, sizeof why_);
    return is_refused && !table.is_open() &&
           std::string(why_).find("gpus.share") != std::string::npos;
  };
  EXPECT_TRUE(refused("no table", 8));
  {
    ShareTable table;
    unlink(file().c_str());
    ASSERT_TRUE(Open(&table)) << why_;
    table.header().version = 99;
    ShareTable other;
    EXPECT_FALSE(other.Open(folder_.c_str(), why_, sizeof why_));
    EXPECT_NE(std::string(why_).find("another version"), std::string::npos) << why_;
    table.Leave();
    table.Close();
  }
  ASSERT_EQ(symlink("/dev/null", file().c_str()), 0);
  ShareTable link;
  EXPECT_FALSE(link.Open(folder_.c_str(), why_, sizeof why_));
}

TEST_F(ShareTableTest, AFolderThatOthersMayWriteToIsRefused) {
  for (const mode_t mode : {0777, 0720}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    ShareTable table;
    EXPECT_FALSE(table.Open(folder_.c_str(), why_, sizeof why_));
    EXPECT_NE(std::string(why_).find("only this user can write to"), std::string::npos) << why_;
  }
}

TEST_F(ShareTableTest, AFileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const int made = open(file().c_str(), O_CREAT | O_WRONLY, 0666);
  ASSERT_EQ(fchown(made, 65534, 65534), 0);
  close(made);
  ShareTable table;
  EXPECT_FALSE(table.Open(folder_.c_str(), why_, sizeof why_));
  EXPECT_NE(std::string(why_).find("not a table of this user"), std::string::npos) << why_;
}

TEST_F(ShareTableTest, AFileOfAnotherVersionThatNobodyUsesIsMadeAnew) {
  ShareTable old;
  ASSERT_TRUE(Open(&old)) << why_;
  old.header().version = 99;
  old.Close();  // as a killed process leaves it
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, AllSlotsCanBeTakenAndNoMore) {
  static ShareTable tables[kMaxSharers + 1];
  for (size_t i = 0; i < kMaxSharers; ++i) ASSERT_TRUE(Open(&tables[i])) << i << why_;
  EXPECT_FALSE(Open(&tables[kMaxSharers]));
  for (ShareTable& table : tables) {
    table.Leave();
    table.Close();
  }
  EXPECT_NE(access(file().c_str(), F_OK), 0);
}

TEST_F(ShareTableTest, TheClockOfEachGpuOnlyAdvances) {
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  EXPECT_EQ(table.ClockOf(7), 0u);
  table.AdvanceClock(7, 30);
  table.AdvanceClock(7, 20);
  EXPECT_EQ(table.ClockOf(7), 30u);
  for (uint64_t card = 10; card < 17; ++card) table.AdvanceClock(card, card);
  table.AdvanceClock(20, 40);  // replaces the clock that is furthest behind
  EXPECT_EQ(table.ClockOf(10), 0u);
  EXPECT_EQ(table.ClockOf(7), 30u);
  EXPECT_EQ(table.ClockOf(20), 40u);
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, WhatKilledProcessesLeftIsForgotten) {
  ShareTable killed;
  ASSERT_TRUE(Open(&killed)) << why_;
  killed.AdvanceClock(7, 30);
  killed.header().holder = 5;
  ShareTable table;
  ASSERT_TRUE(Open(&table)) << why_;
  EXPECT_EQ(table.ClockOf(7), 30u) << "the other one lives";
  killed.Close();
  table.Close();
  ASSERT_TRUE(Open(&table)) << why_;
  EXPECT_EQ(table.ClockOf(7), 0u);
  EXPECT_EQ(table.header().holder, 0u);
  table.Leave();
  table.Close();
}

TEST_F(ShareTableTest, TheFolderIsOfTheUserOrChosen) {
  char path[64];
  ASSERT_TRUE(ShareTable::Directory("", "/run/user/7", 7, path, sizeof path));
  EXPECT_STREQ(path, "/run/user/7/vramstow-share-7");
  ASSERT_TRUE(ShareTable::Directory("", nullptr, 7, path, sizeof path));
  EXPECT_STREQ(path, "/tmp/vramstow-share-7");
  ASSERT_TRUE(ShareTable::Directory("/own", "/run/user/7", 7, path, sizeof path));
  EXPECT_STREQ(path, "/own");
  EXPECT_FALSE(ShareTable::Directory("/a/much/longer/path", nullptr, 7, path, 10));
}

}  // namespace
}  // namespace vramstow
