// Tests that the names of native frames are stored in the trace, or the trace stays unchanged.
#include "tools/symbols/kept_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tracer/format/crc32c.h"
#include "tracer/format/layout.h"
#include "tracer/format/reader.h"
#include "tracer/format/sealed_chunk.h"
#include "tracer/format/varint.h"

namespace vramstow {

// The function whose name is written into the trace.
extern "C" __attribute__((noinline, visibility("default"))) void HoldsABlock() { asm volatile(""); }

namespace {

constexpr uint16_t kLibrary = 1;
constexpr uint64_t kTraceId = 77;
constexpr std::chrono::seconds kPatience{60};

std::string Number(uint64_t value) {
  uint8_t bytes[kMaxVarintBytes + 8];
  return std::string(reinterpret_cast<char*>(bytes),
                     static_cast<size_t>(WriteVarint(bytes, value) - bytes));
}

std::string Record(RecordType type, const std::string& body) {
  return std::string(1, static_cast<char>(type)) + Number(body.size()) + body;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class KeptFunctionsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "kept-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder + "/trace.stow";
    Dl_info here;
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&HoldsABlock), &here), 0);
    offset_ =
        reinterpret_cast<uintptr_t>(&HoldsABlock) - reinterpret_cast<uintptr_t>(here.dli_fbase) + 1;
    Write(TraceState::kClosed);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Writes a trace whose only stack has one native frame, in this program.
  void Write(TraceState state) {
    char program[4096] = {};
    ASSERT_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    const std::string tables =
        Record(RecordType::kLibrary, Number(kLibrary) + Number(0x1000) + Number(0) + program) +
        Record(RecordType::kStack, Number(1) + Number(0) + std::string(1, char{1}) +
                                       Number(kLibrary) + Number(offset_));
    ChunkHeader chunk_header = {};
    chunk_header.trace_id = kTraceId;
    chunk_header.number = 1;
    chunk_header.kind = static_cast<uint8_t>(ChunkKind::kTables);
    const std::vector<uint8_t> chunk =
        SealedChunk(chunk_header, std::vector<uint8_t>(tables.begin(), tables.end()));
    FileHeader header = {};
    std::memcpy(header.magic, kFileMagic, sizeof kFileMagic);
    header.major = kFormatMajor;
    header.header_bytes = kFileHeaderBytes;
    header.slot_bytes = kSlotBytes;
    header.trace_id = kTraceId;
    header.checksum = Crc32c(&header, offsetof(FileHeader, checksum));
    header.state = static_cast<uint32_t>(state);
    header.file_bytes = kFileHeaderBytes + chunk.size();
    std::string front(kFileHeaderBytes, '\0');
    std::memcpy(front.data(), &header, sizeof header);
    std::ofstream file(path_, std::ios::binary);
    file << front << std::string(chunk.begin(), chunk.end());
  }

  std::string folder_;
  std::string path_;
  uint64_t offset_ = 0;
};

TEST_F(KeptFunctionsTest, AFrameHasItsNameWithoutItsLibrary) {
  ASSERT_TRUE(KeepFunctions(path_, kPatience).ok());
  TraceReader reader;
  ASSERT_EQ(reader.Open(path_.c_str()), ReadError::kOk);
  const std::vector<TraceFunction>& functions = reader.Functions(kLibrary, offset_);
  ASSERT_FALSE(functions.empty());
  EXPECT_NE(functions.back().name.find("HoldsABlock"), std::string::npos);
  EXPECT_TRUE(reader.report().closed);
  EXPECT_EQ(reader.report().damaged_chunks, 0U);
  FileHeader header;
  const std::string bytes = Contents(path_);
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header.file_bytes, bytes.size());
}

TEST_F(KeptFunctionsTest, ASecondTimeChangesNothing) {
  ASSERT_TRUE(KeepFunctions(path_, kPatience).ok());
  const std::string bytes = Contents(path_);
  ASSERT_TRUE(KeepFunctions(path_, kPatience).ok());
  EXPECT_EQ(Contents(path_), bytes);
}

TEST_F(KeptFunctionsTest, ATraceThatIsStillWrittenStaysAsItIs) {
  Write(TraceState::kRunning);
  const std::string bytes = Contents(path_);
  EXPECT_TRUE(KeepFunctions(path_, kPatience).ok());
  EXPECT_EQ(Contents(path_), bytes);
}

TEST_F(KeptFunctionsTest, WhereThereIsNoRoomTheTraceStaysAsItIs) {
  const std::string bytes = Contents(path_);
  const auto before = signal(SIGXFSZ, SIG_IGN);
  rlimit usual;
  getrlimit(RLIMIT_FSIZE, &usual);
  for (const rlim_t more : {0, 1, 40, 100}) {
    rlimit tight = usual;
    tight.rlim_cur = bytes.size() + more;
    setrlimit(RLIMIT_FSIZE, &tight);
    const absl::Status status = KeepFunctions(path_, kPatience);
    setrlimit(RLIMIT_FSIZE, &usual);
    EXPECT_NE(std::string(status.message()).find(path_), std::string::npos) << more;
    EXPECT_EQ(Contents(path_), bytes) << more;
  }
  signal(SIGXFSZ, before);
}

TEST_F(KeptFunctionsTest, ATraceIsReadWhereverItIsCut) {
  ASSERT_TRUE(KeepFunctions(path_, kPatience).ok());
  const std::string bytes = Contents(path_);
  for (size_t size = kFileHeaderBytes; size < bytes.size(); ++size) {
    TraceReader reader;
    ASSERT_EQ(reader.OpenBytes(std::string_view(bytes).substr(0, size)), ReadError::kOk);
    if (!reader.HasFunctions()) continue;
    ASSERT_FALSE(reader.Functions(kLibrary, offset_).empty());
    EXPECT_NE(reader.Functions(kLibrary, offset_)[0].name.find("HoldsABlock"), std::string::npos);
  }
}

}  // namespace
}  // namespace vramstow
