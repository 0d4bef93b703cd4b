#include "tools/launch/package_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
  const std::vector<std::string> command = {"python", "train.py", "--size", "3"};
  const auto folders = [&](const std::string& path) { return PackageFoldersOf(path, command); };
  EXPECT_EQ(folders(project + ":" + packages + "/:" + usual + "::/not/there"), packages);
  EXPECT_EQ(folders(project), "");
  EXPECT_EQ(folders(""), "");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(root);
  EXPECT_EQ(folders("packages"), packages) << "it is an absolute path";
  // Packages that were installed beside the program's own files.
  std::filesystem::current_path(packages);
  EXPECT_EQ(folders(packages), "");
  std::filesystem::current_path(before);
  std::ofstream(root / "packages/train.py") << "print()";
  EXPECT_EQ(PackageFoldersOf(packages, {"python", packages + "/train.py"}), "");
}

}  // namespace
}  // namespace vramstow
