// Tests that files in a folder of somebody else are used only if they are what they should be.
#include "tools/attach/owned_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace vramstow {
namespace {

class AttachRequestFiles : public testing::Test {
 protected:
  AttachRequestFiles() {
    std::string name = testing::TempDir() + "owned-XXXXXX";
    folder_ = mkdtemp(name.data());
    std::ofstream(At("other")) << "precious";
  }
  ~AttachRequestFiles() override { std::filesystem::remove_all(folder_); }

  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  void ExpectRefused(const std::string& name) const {
    EXPECT_FALSE(WriteOwnedFile(At(name), geteuid(), "new").ok()) << name;
    EXPECT_FALSE(ReadOwnedFile(At(name), geteuid()).ok()) << name;
  }
  std::string Other() const {
    std::ifstream file(At("other"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(AttachRequestFiles, WhatIsWrittenIsReadAgain) {
  ASSERT_TRUE(WriteOwnedFile(At("one"), geteuid(), "a longer text").ok());
  ASSERT_TRUE(WriteOwnedFile(At("one"), geteuid(), "text").ok());
  EXPECT_EQ(ReadOwnedFile(At("one"), geteuid()).value(), "text");
}

TEST_F(AttachRequestFiles, ALinkOrAPipeIsNeitherReadNorWritten) {
  std::filesystem::create_symlink(At("other"), At("link"));
  std::filesystem::create_hard_link(At("other"), At("second name"));
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", At("endless"));
  for (const char* name : {"link", "second name", "pipe", "endless"}) ExpectRefused(name);
  EXPECT_EQ(Other(), "precious");
}

TEST_F(AttachRequestFiles, AFileOfAnotherUserIsNeitherReadNorWritten) {
  EXPECT_FALSE(WriteOwnedFile(At("other"), geteuid() + 1, "new").ok());
  EXPECT_FALSE(ReadOwnedFile(At("other"), geteuid() + 1).ok());
  EXPECT_EQ(Other(), "precious");
}

TEST_F(AttachRequestFiles, AVeryLargeFileIsNotRead) {
  ASSERT_TRUE(WriteOwnedFile(At("large"), geteuid(), "x").ok());
  std::filesystem::resize_file(At("large"), kMaxOwnedFile + 1);
  EXPECT_FALSE(ReadOwnedFile(At("large"), geteuid()).ok());
}

}  // namespace
}  // namespace vramstow
