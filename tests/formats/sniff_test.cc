// Tests how the format of a file is detected, and the message for a file of no known format.
#include "tools/formats/sniff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zip.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "tests/formats/pickles.h"
#include "tools/formats/input.h"
#include "tools/formats/minimalloc.h"
#include "tools/formats/snapshot_reader.h"

namespace vramstow {
namespace {

// Only the suffix for string literals ("..."s) is used.
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

std::string Gzip(const std::string& plain) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string Zip(const Entries& entries) {
  const std::string path = testing::TempDir() + "vramstow_sniff_test.zip";
  std::filesystem::remove(path);
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const auto& [name, content] : entries) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    EXPECT_GE(zip_file_add(archive, name.c_str(), source, 0), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return bytes;
}

absl::StatusOr<Snapshot> ReadSniffed(const std::string& bytes, const UnpackLimits& limits = {}) {
  const absl::StatusOr<Input> input = Input::OfBytes("file", bytes, limits);
  if (!input.ok()) return input.status();
  return ReadSnapshot(*input);
}

std::string SniffSentence(const absl::StatusOr<Snapshot>& result) {
  EXPECT_FALSE(result.ok());
  return std::string(result.status().message());
}

TEST(Sniff, KnowsWhatIsRead) {
  EXPECT_EQ(Sniff("").format, FileFormat::kEmpty);
  EXPECT_EQ(Sniff("\x89STOW\r\n\x1a rest").format, FileFormat::kStow);
  EXPECT_EQ(Sniff("\x80\x04}").format, FileFormat::kPickle);
  EXPECT_EQ(Sniff("(dp0\nS'segments'").format, FileFormat::kPickle);
  EXPECT_EQ(Sniff("}q\x01(X").format, FileFormat::kPickle);
  EXPECT_EQ(Sniff(" \n{\"traceEvents\": []}").format, FileFormat::kProfilerTrace);
  EXPECT_EQ(Sniff("[ {\"ph\": \"X\"}]").format, FileFormat::kProfilerTrace);
  EXPECT_EQ(Sniff("[[-1, 1, 512, 7]").format, FileFormat::kMemoryTimeline);
  EXPECT_EQ(Sniff("Thread,Time,Action,Pointer,Size,Stream\n").format, FileFormat::kRmmLog);
  EXPECT_EQ(Sniff("\xef\xbb\xbfid,lower,upper,size\r\n").format, FileFormat::kMinimalloc);
  EXPECT_EQ(Sniff("\x1f\x8b\x08").format, FileFormat::kGzip);
  EXPECT_EQ(Sniff("PK\x03\x04").format, FileFormat::kZip);
}

TEST(Sniff, NamesStrangers) {
  const std::pair<std::string, const char*> strangers[] = {
      {"\x7f"
       "ELF\x02",
       "a program or library"},
      {"SQLite format 3\0"s, "an SQLite database"},
      {"<!DOCTYPE html>", "an HTML page"},
      {"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"},
      {"memray\n", "a memray capture"},
      {"\x28\xb5\x2f\xfd", "packed with zstd"},
      {"\n\n \n", "nothing but empty lines"},
      {"\n <HTML><body>", "an HTML page"},
      {"Dear diary", "data of an unknown file format"},
      {"\xff\xfe\x00\x01"s, "data of an unknown file format"},
  };
  for (const auto& [bytes, what] : strangers) {
    const std::string sentence = NotReadable("a.file", Sniff(bytes));
    EXPECT_THAT(sentence, HasSubstr(std::string("a.file is ") + what));
    EXPECT_THAT(sentence, HasSubstr("PyTorch memory snapshots"));
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
    EXPECT_THAT(SniffSentence(ReadSniffed(bytes)), HasSubstr("not a PyTorch memory snapshot"));
  }
}

TEST(Input, FoldersPipesAndMissingFilesAreOneSentence) {
  const std::filesystem::path folder = testing::TempDir() + "vramstow_input_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  EXPECT_EQ(std::string(Input::Open(folder).status().message()),
            folder.string() + " is a folder; a file is expected");
  const absl::Status missing = Input::Open(folder / "no").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("cannot be read: No such file"));
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(Input::Open(pipe).status().message()), HasSubstr("not a regular file"));
  const std::string empty = folder / "empty";
  std::ofstream(empty).flush();
  const absl::StatusOr<Input> opened = Input::Open(empty);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->sniffed().format, FileFormat::kEmpty);
  EXPECT_THAT(SniffSentence(ReadSnapshot(empty)), HasSubstr("is empty, not a PyTorch"));
  std::filesystem::remove_all(folder);
}

// Makes a page as PyTorch's _memory_viz.py writes it, including the empty first line.
std::string ViewerPage(const std::string& base64) {
  return "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n"
         "import {add_local_files} from \"https://cdn.jsdelivr.net/MemoryViz.js\"\n"
         "const local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"" +
         base64 +
         "\"}]\nadd_local_files(local_files, \"Active Memory Timeline\")\n</script></body>";
}

TEST(Unpack, TheSnapshotInAPageOfPyTorchsViewerIsFound) {
  const std::string pickle = FullSnapshotPickle();
  // The page's writer pads the pickle to a multiple of three bytes.
  const std::string base64 = absl::Base64Escape(pickle + std::string(3 - pickle.size() % 3, '\0'));
  const std::string page = ViewerPage(base64);
  const absl::StatusOr<Snapshot> snapshot = ReadSniffed(page);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->device.segments.size(), 3U);
  EXPECT_TRUE(snapshot->complete);
  const absl::StatusOr<Snapshot> cut = ReadSniffed(page.substr(0, page.size() - base64.size() / 4));
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(cut->missing.front(), HasSubstr("the page ends in the middle"));
  EXPECT_THAT(SniffSentence(ReadSniffed(ViewerPage("?"))), HasSubstr("not valid base64"));
  EXPECT_THAT(SniffSentence(ReadSniffed(ViewerPage(absl::Base64Escape("hello")))),
              HasSubstr("in the HTML page is data of an unknown file format"));
}

TEST(Input, AFileIsReadFromDisk) {
  const std::string path = testing::TempDir() + "vramstow_input_test.pickle";
  std::ofstream(path, std::ios::binary) << FullSnapshotPickle();
  const absl::StatusOr<Snapshot> snapshot = ReadSnapshot(path);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->device.segments.size(), 3U);
  std::filesystem::remove(path);
}

TEST(Unpack, GzipAroundASnapshot) {
  const absl::StatusOr<Snapshot> snapshot = ReadSniffed(Gzip(FullSnapshotPickle()));
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_TRUE(snapshot->complete);
  EXPECT_EQ(snapshot->device.segments.size(), 3U);
}

TEST(Unpack, GzipInSeveralMembers) {
  const std::string whole = FullSnapshotPickle();
  const absl::StatusOr<Snapshot> snapshot =
      ReadSniffed(Gzip(whole.substr(0, 500)) + Gzip(whole.substr(500)) + "\0\0trailing"s);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_TRUE(snapshot->complete);
}

TEST(Unpack, CutGzipGivesWhatWasReadable) {
  const std::string packed = Gzip(FullSnapshotPickle());
  size_t partial = 0;
  for (size_t size = 0; size < packed.size(); ++size) {
    const absl::StatusOr<Snapshot> snapshot = ReadSniffed(packed.substr(0, size));
    if (!snapshot.ok()) continue;
    ++partial;
    EXPECT_FALSE(snapshot->complete) << size;
    EXPECT_THAT(snapshot->missing.front(), HasSubstr("gzip data end early"));
  }
  EXPECT_GT(partial, 0U);
}

TEST(Unpack, ACutProblemIsNotUsed) {
  const std::string packed = Gzip("id,lower,upper,size\n1,0,10,512\n2,5,15,512\n");
  const absl::StatusOr<Input> input = Input::OfBytes("file", packed.substr(0, packed.size() - 9));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->sniffed().format, FileFormat::kMinimalloc);
  EXPECT_EQ(ReadMinimalloc(*input).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Unpack, DamagedGzipIsSaid) {
  std::string packed = Gzip(FullSnapshotPickle());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  const absl::StatusOr<Snapshot> snapshot = ReadSniffed(packed);
  if (snapshot.ok()) {
    EXPECT_FALSE(snapshot->complete);
  } else {
    EXPECT_THAT(SniffSentence(snapshot), HasSubstr("file: "));
  }
  EXPECT_THAT(SniffSentence(ReadSniffed("\x1f\x8b")), HasSubstr("end early"));
  EXPECT_THAT(SniffSentence(ReadSniffed(Gzip("Dear diary"))), HasSubstr("unknown file format"));
  EXPECT_THAT(SniffSentence(ReadSniffed(Gzip(Gzip("x")))),
              HasSubstr("in the gzip file is a gzip file"));
}

TEST(Unpack, AGzipBombIsRefused) {
  const std::string bomb = Gzip("\x80\x04" + std::string(70 << 20, ']'));
  EXPECT_LT(bomb.size(), size_t{1} << 20);
  const absl::StatusOr<Snapshot> snapshot = ReadSniffed(bomb);
  EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(SniffSentence(snapshot), HasSubstr("too much for the packed size"));
}

TEST(Unpack, AZipBombIsRefused) {
  const std::string bomb = Zip({{"archive/data.pkl", "\x80\x04" + std::string(70 << 20, ']')}});
  EXPECT_LT(bomb.size(), size_t{1} << 20);
  const absl::StatusOr<Snapshot> snapshot = ReadSniffed(bomb);
  EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(SniffSentence(snapshot), HasSubstr("zip file unpacks to more than"));
}

TEST(Unpack, TheSnapshotInAZipFileIsFound) {
  const std::string pickle = FullSnapshotPickle();
  for (const Entries& entries :
       {Entries{{"archive/data.pkl", pickle}, {"archive/version", "3\n"}},
        Entries{{"version", "3"}, {"snapshot.pickle", pickle}}, Entries{{"anything", pickle}}}) {
    const absl::StatusOr<Snapshot> snapshot = ReadSniffed(Zip(entries));
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->device.segments.size(), 3U);
  }
  EXPECT_THAT(SniffSentence(ReadSniffed(Zip({{"a.pickle", pickle}, {"b.pickle", pickle}}))),
              HasSubstr("several entries"));
  EXPECT_THAT(SniffSentence(ReadSniffed(Zip({{"data.pkl", "hello"}}))),
              HasSubstr("in the zip file is data of an unknown file format"));
  EXPECT_THAT(SniffSentence(ReadSniffed("PK\x05\x06"s + std::string(18, '\0'))),
              HasSubstr("empty"));
}

TEST(Unpack, DamagedZipFilesAreOneSentence) {
  const std::string packed = Zip({{"archive/data.pkl", FullSnapshotPickle()}});
  for (size_t size = 0; size < packed.size(); size += 7) {
    EXPECT_FALSE(ReadSniffed(packed.substr(0, size)).ok()) << size;
  }
  for (size_t i = 0; i < packed.size(); ++i) {
    std::string flipped = packed;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const absl::StatusOr<Snapshot> snapshot = ReadSniffed(flipped);
    const std::string sentence(snapshot.status().message());
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace vramstow
