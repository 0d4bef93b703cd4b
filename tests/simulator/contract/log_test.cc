// Tests the error log, as cuda.h describes the functions cuLogs*.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class LogTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    NEEDS(cuLogsCurrent);
    ASSERT_OK(driver_.cuLogsCurrent(&here_, 0));
  }

  void Fail() { EXPECT_NE(CUDA_SUCCESS, driver_.cuMemFree(0x10)); }

  // Returns the log from `*from` on, in a buffer of `room` bytes.
  std::string Dump(CUlogIterator* from, size_t room, CUresult expected = CUDA_SUCCESS) {
    std::string text(room, 'x');
    size_t size = room;
    EXPECT_EQ(expected, driver_.cuLogsDumpToMemory(from, text.data(), &size, 0));
    EXPECT_LT(size, room);
    if (size == 0) return "";
    EXPECT_EQ('\0', text[size]) << "ends with a zero";
    text.resize(size);
    return text;
  }

  CUlogIterator here_ = 0;
};

// The suite's name begins with "Undefined", because the driver of a real GPU writes past the end of
// a buffer that is too small.
using UndefinedLogTest = LogTest;

size_t LinesOf(const std::string& text) {
  size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

TEST_F(LogTest, NothingToDumpIsSizeZeroAndSuccess) { EXPECT_EQ("", Dump(&here_, 100)); }

TEST_F(LogTest, AFailedCallIsLoggedAndTheIteratorAdvances) {
  Fail();
  const std::string text = Dump(&here_, 4096);
  EXPECT_EQ(1u, LinesOf(text)) << text;
  EXPECT_EQ("", Dump(&here_, 4096)) << "what was dumped is behind the iterator";
}

TEST_F(LogTest, WithoutAnIteratorAllIsDumped) {
  Fail();
  Fail();
  EXPECT_GE(LinesOf(Dump(nullptr, 30000)), 2u);
  EXPECT_GE(LinesOf(Dump(nullptr, 30000)), 2u);
}

TEST_F(UndefinedLogTest, ABufferForNoMessageIsAnError) {
  Fail();
  const CUlogIterator before = here_;
  EXPECT_EQ("", Dump(&here_, 2, CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(before, here_);
}

TEST_F(UndefinedLogTest, ATooSmallBufferSaysSoFirstAndEndsWithTheLatest) {
  for (int i = 0; i < 20; ++i) Fail();
  CUlogIterator all = here_;
  const std::string whole = Dump(&all, 20000);
  const std::string last = whole.substr(whole.rfind('\n', whole.size() - 2) + 1);
  const std::string part = Dump(&here_, whole.size() / 2);
  EXPECT_GT(LinesOf(part), 1u);
  EXPECT_LT(LinesOf(part), 20u);
  EXPECT_TRUE(part.ends_with(last)) << part;
  EXPECT_NE(part.substr(0, part.find('\n') + 1), whole.substr(0, whole.find('\n') + 1));
}

TEST_F(LogTest, TheOldestAreLostBeyondTheBufferAndThatIsSaid) {
  for (int i = 0; i < 2000; ++i) Fail();
  const std::string text = Dump(&here_, 60000);
  EXPECT_LE(text.size(), 25600u + 200u);
  EXPECT_LT(LinesOf(text), 2000u);
}

TEST_F(LogTest, AFileGetsTheSame) {
  char path[] = "/tmp/vramstow-log-XXXXXX";
  close(mkstemp(path));
  Fail();
  CUlogIterator copy = here_;
  EXPECT_OK(driver_.cuLogsDumpToFile(&here_, path, 0));
  char text[4096] = {};
  FILE* file = fopen(path, "re");
  ASSERT_NE(nullptr, file);
  const size_t size = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  unlink(path);
  EXPECT_EQ(Dump(&copy, 4096), std::string(text, size));
  EXPECT_EQ(copy, here_);
}

TEST_F(LogTest, NullAndFlagsOfDumpsAreRefused) {
  char text[64];
  size_t size = sizeof(text);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsCurrent(nullptr, 0));
  EXPECT_OK(driver_.cuLogsCurrent(&here_, 1)) << "flags are refused only where text is dumped";
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsDumpToMemory(&here_, nullptr, &size, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsDumpToMemory(&here_, text, nullptr, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsDumpToMemory(&here_, text, &size, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsDumpToFile(&here_, nullptr, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsRegisterCallback(nullptr, nullptr, nullptr));
}

struct Heard {
  int count = 0;
  std::string last;
  CUlogLevel level = CU_LOG_LEVEL_WARNING;
};

void CUDA_CB OnMessage(void* user, CUlogLevel level, char* message, size_t length) {
  auto* heard = static_cast<Heard*>(user);
  ++heard->count;
  heard->last = std::string(message, length);
  heard->level = level;
}

TEST_F(LogTest, CallbacksHearOfErrorsUntilTheyAreUnregistered) {
  Heard heard;
  CUlogsCallbackHandle handle = nullptr;
  ASSERT_OK(driver_.cuLogsRegisterCallback(OnMessage, &heard, &handle));
  Fail();
  EXPECT_EQ(1, heard.count);
  EXPECT_EQ(CU_LOG_LEVEL_ERROR, heard.level);
  EXPECT_NE("", heard.last);
  EXPECT_OK(driver_.cuLogsUnregisterCallback(handle));
  Fail();
  EXPECT_EQ(1, heard.count);
}

TEST_F(UndefinedLogTest, ACallbackIsUnregisteredOnce) {
  Heard heard;
  CUlogsCallbackHandle handle = nullptr;
  ASSERT_OK(driver_.cuLogsRegisterCallback(OnMessage, &heard, &handle));
  EXPECT_OK(driver_.cuLogsUnregisterCallback(handle));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuLogsUnregisterCallback(handle));
}

TEST_F(LogTest, NotReadyIsAnAnswerAndNoError) {
  CUstream stream = NewStream();
  const CUdeviceptr block = Allocate(64 * kMiB);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 64 * kMiB, stream));
  driver_.cuStreamQuery(stream);
  EXPECT_EQ("", Dump(&here_, 4096));
}

}  // namespace
}  // namespace vramstow::simulator
