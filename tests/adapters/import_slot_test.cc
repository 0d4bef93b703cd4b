#include "adapters/torch/observer/import_slot.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace vramstow::torch_observer {
namespace {

int Code() { return 0; }
const void* OwnCode() { return reinterpret_cast<const void*>(&Code); }

pid_t FakeParent() { return -7; }

TEST(ImportSlotTest, OnlyTheNamedLibraryCallsTheOtherFunction) {
  const pid_t parent = getppid();
  ASSERT_TRUE(ReplaceImport(OwnCode(), "getppid", reinterpret_cast<const void*>(&FakeParent)));
  EXPECT_EQ(getppid(), -7);
  // What others find under that name has not changed.
  const auto real = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_DEFAULT, "getppid"));
  EXPECT_EQ(real(), parent);
  ASSERT_TRUE(ReplaceImport(OwnCode(), "getppid", reinterpret_cast<const void*>(real)));
  EXPECT_EQ(getppid(), parent);
}

TEST(ImportSlotTest, AFunctionThatIsNotImportedIsNotFound) {
  EXPECT_FALSE(ReplaceImport(OwnCode(), "no_such_function", OwnCode()));
  EXPECT_FALSE(ReplaceImport(nullptr, "getppid", OwnCode()));
}

}  // namespace
}  // namespace vramstow::torch_observer
