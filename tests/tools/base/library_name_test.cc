#include "tools/base/library_name.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

TEST(LibraryName, IsTheFilesNameButForTheAdapter) {
  EXPECT_EQ(LibraryName("/usr/lib/libcublas.so.13"), "libcublas.so.13");
  EXPECT_EQ(LibraryName("libcublas.so.13"), "libcublas.so.13");
  EXPECT_EQ(LibraryName("/home/a/.cache/vramstow/torch-2.15.0-48f990327a8111-f565963459e5684.so"),
            "PyTorch's tensors");
  EXPECT_EQ(LibraryName("torch-2.15.0-dev-2-48f990327a8111fe-f565963459e56841.so"),
            "PyTorch's tensors");
  EXPECT_EQ(LibraryName("torch-observer-2.15.0-abi1-48f990327a8111fe-f565963459e56841.so"),
            "PyTorch's tensors");
  for (const char* other : {"torch-2.15.0-48f990327a8111.so", "torch-2.15.0.so", "libtorch.so",
                            "torch-2.15.0-cuda-extension.so", "", "torch---.so"}) {
    EXPECT_EQ(LibraryName(other), other);
  }
}

}  // namespace
}  // namespace vramstow
