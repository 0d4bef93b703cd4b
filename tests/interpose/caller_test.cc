// Tests the search for the library that contains an address.
#include "tracer/capture/caller.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace vramstow {
namespace {

CallerTable table;

TEST(Caller, TheProgramItselfIsNamedByItsFile) {
  const CallerObject* object = table.Find(reinterpret_cast<const void*>(&table));
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(std::string(object->path), std::filesystem::canonical("/proc/self/exe"));
  EXPECT_EQ(object->role, CallerRole::kApplication);
}

TEST(Caller, ALibraryHasItsPathBaseAndBuildId) {
  void* address = dlsym(RTLD_DEFAULT, "getenv");
  Dl_info info;
  ASSERT_NE(dladdr(address, &info), 0);
  const CallerObject* object = table.Find(address);
  ASSERT_NE(object, nullptr);
  EXPECT_STREQ(object->path, info.dli_fname);
  EXPECT_EQ(object->base, reinterpret_cast<uintptr_t>(info.dli_fbase));
  EXPECT_EQ(std::strlen(object->build_id), 40u) << "Debian's libraries have a build id";
  EXPECT_EQ(std::strspn(object->build_id, "0123456789abcdef"), 40u);
}

TEST(Caller, EachLibraryIsWrittenDownOnce) {
  const CallerObject* first = table.Find(dlsym(RTLD_DEFAULT, "getenv"));
  const size_t count = table.size();
  EXPECT_EQ(table.Find(dlsym(RTLD_DEFAULT, "putenv")), first);
  EXPECT_EQ(table.size(), count);
  EXPECT_EQ(table.at(first->index), first);
}

// If a plugin is unloaded, the next one may be loaded in its place, with its name in the memory of
// the first one's name. Here the name is changed in its memory.
TEST(Caller, ALibraryInThePlaceOfAnotherHasItsOwnName) {
  static CallerTable fresh;
  void* const address = dlsym(RTLD_DEFAULT, "getenv");
  Dl_info info;
  link_map* object = nullptr;
  ASSERT_NE(dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP), 0);
  const CallerObject* const first = fresh.Find(address);
  ASSERT_NE(first, nullptr);
  char& last = object->l_name[std::strlen(object->l_name) - 1];
  const char before = last;
  last = 'x';
  const CallerObject* const second = fresh.Find(address);
  const std::string name = object->l_name;
  EXPECT_EQ(fresh.Find(address), second);
  last = before;
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->path, name);
  EXPECT_EQ(fresh.Find(address), first);
  EXPECT_EQ(first->path, std::string(object->l_name));
  EXPECT_EQ(fresh.size(), 2u);
}

TEST(Caller, AddressesOutsideOfLibrariesHaveNone) {
  int on_the_stack = 0;
  EXPECT_EQ(table.Find(&on_the_stack), nullptr);
  EXPECT_EQ(table.Find(nullptr), nullptr);
  EXPECT_EQ(table.FindCaller(nullptr), nullptr);
}

TEST(Caller, ManyThreadsGetTheSameAnswer) {
  static CallerTable fresh;
  std::vector<std::thread> threads;
  std::vector<const CallerObject*> answers(8);
  for (const CallerObject*& answer : answers) {
    threads.emplace_back([&answer] { answer = fresh.Find(dlsym(RTLD_DEFAULT, "getenv")); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const CallerObject* answer : answers) {
    ASSERT_NE(answer, nullptr);
    EXPECT_STREQ(answer->path, answers[0]->path);
  }
}

}  // namespace
}  // namespace vramstow
