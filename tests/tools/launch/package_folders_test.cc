#include "tools/launch/package_folders.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace vramstow {
namespace {

TEST(PackageFolders, AreThoseIntoWhichPipInstalled) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "package-folders";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "packages/timm-1.0.dist-info");
  std::filesystem::create_directories(root / "project/src");
  std::filesystem::create_directories(root / "v/site-packages/timm-1.0.dist-info");
  const std::string packages = root / "packages";
  const std::string project = root / "project";
  const std::string usual = root / "v/site-packages";
  EXPECT_EQ(PackageFoldersOf(project + ":" + packages + "/:" + usual + "::/not/there"), packages);
  EXPECT_EQ(PackageFoldersOf(project), "");
  EXPECT_EQ(PackageFoldersOf(""), "");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(root);
  EXPECT_EQ(PackageFoldersOf("packages"), packages) << "it is an absolute path";
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace vramstow
