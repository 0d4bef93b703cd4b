#include <minizip/unzip.h>

#include <cstring>

#include "tools/formats/text_helpers.h"
#include "tools/formats/unpack.h"

namespace vramstow {
namespace {

// The largest number of entries that a zip file may have. A snapshot's zip has only a few; a
// checkpoint, which is not a snapshot, has thousands.
constexpr ZPOS64_T kMaxEntries = 100'000;
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMaxNameBytes = 4096;
constexpr std::string_view kEndOfList = "PK\x05\x06";
constexpr char kEmpty[] = "the zip file is empty";
constexpr uLong kEncrypted = 1;  // bit of an entry's flags

// The bytes of the zip file, which minizip reads like a file.
struct Reading {
  std::string_view bytes;
  uint64_t place = 0;
};

Reading* ReadingOf(voidpf stream) { return static_cast<Reading*>(stream); }

voidpf Open(voidpf opaque, const void* /*name*/, int /*mode*/) { return opaque; }

uLong Read(voidpf /*opaque*/, voidpf stream, void* buffer, uLong size) {
  Reading* reading = ReadingOf(stream);
  const std::string_view rest = reading->bytes.substr(reading->place);
  const size_t count = std::min<size_t>(size, rest.size());
  memcpy(buffer, rest.data(), count);
  reading->place += count;
  return count;
}

ZPOS64_T Tell(voidpf /*opaque*/, voidpf stream) { return ReadingOf(stream)->place; }

long Seek(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  Reading* reading = ReadingOf(stream);
  uint64_t from = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) from = reading->place;
  if (origin == ZLIB_FILEFUNC_SEEK_END) from = reading->bytes.size();
  // An offset comes from the file and may have any value.
  if (offset > reading->bytes.size() - from) return -1;
  reading->place = from + offset;
  return 0;
}

int Close(voidpf /*opaque*/, voidpf /*stream*/) { return 0; }
int Error(voidpf /*opaque*/, voidpf /*stream*/) { return 0; }

struct CloseArchive {
  void operator()(unzFile archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<std::remove_pointer_t<unzFile>, CloseArchive>;

absl::StatusOr<Archive> OpenArchive(Reading* reading) {
  zlib_filefunc64_def functions = {};
  functions.zopen64_file = Open;
  functions.zread_file = Read;
  functions.ztell64_file = Tell;
  functions.zseek64_file = Seek;
  functions.zclose_file = Close;
  functions.zerror_file = Error;
  functions.opaque = reading;
  Archive archive(unzOpen2_64("", &functions));
  if (archive != nullptr) return archive;
  return absl::DataLossError(
      "the zip file cannot be opened: its list of entries is damaged or missing");
}

const char* WhyNot(int code) {
  switch (code) {
    case UNZ_CRCERROR:
      return "the checksum is wrong";
    case Z_MEM_ERROR:
      return "no memory";
    case UNZ_BADZIPFILE:
      return "its parts contradict each other, or its compression method is unknown";
    default:
      return "its bytes cannot be unpacked";
  }
}

// Returns how likely it is that an entry with this name is the pickle. Returns 0 for a folder.
int NameRank(std::string_view name) {
  if (name.ends_with('/')) return 0;
  if (name == "data.pkl" || name.ends_with("/data.pkl")) return 3;
  if (name.ends_with(".pickle") || name.ends_with(".pkl")) return 2;
  return 1;
}

struct Entry {
  unz64_file_pos place;
  bool encrypted = false;
};

// Returns the archive's current entry and its rank; the rank is 0 if the name cannot be read.
int RankCurrent(unzFile archive, Entry* entry) {
  unz_file_info64 about = {};
  std::string name(kMaxNameBytes, '\0');
  if (unzGetCurrentFileInfo64(archive, &about, name.data(), name.size(), nullptr, 0, nullptr, 0) !=
          UNZ_OK ||
      unzGetFilePos64(archive, &entry->place) != UNZ_OK) {
    return 0;
  }
  name.resize(std::min<size_t>(about.size_filename, kMaxNameBytes));
  entry->encrypted = (about.flag & kEncrypted) != 0;
  return NameRank(name);
}

absl::StatusOr<Entry> FindPickle(unzFile archive) {
  unz_global_info64 all = {};
  unzGetGlobalInfo64(archive, &all);
  if (all.number_entry > kMaxEntries) {
    return absl::InvalidArgumentError(
        Concat("the zip file has ", all.number_entry, " entries: it is not a memory snapshot"));
  }
  int best_rank = 0;
  Entry best;
  bool several = false;
  int next = all.number_entry == 0 ? UNZ_END_OF_LIST_OF_FILE : unzGoToFirstFile(archive);
  for (; next == UNZ_OK; next = unzGoToNextFile(archive)) {
    Entry entry;
    const int rank = RankCurrent(archive, &entry);
    if (rank > best_rank) {
      best_rank = rank;
      best = entry;
      several = false;
    } else if (rank == best_rank && rank != 0) {
      several = true;
    }
  }
  if (next != UNZ_END_OF_LIST_OF_FILE) {
    return absl::DataLossError("the zip file cannot be opened: its list of entries is damaged");
  }
  if (best_rank == 0) return absl::InvalidArgumentError(kEmpty);
  if (several) {
    return absl::InvalidArgumentError(
        "the zip file has several entries that could be the snapshot; unpack it and name one");
  }
  if (best.encrypted) {
    return absl::InvalidArgumentError("the zip file is encrypted; unpack it first");
  }
  return best;
}

// Reads an entry until it ends or is too long. The size in the archive's list is not trusted.
absl::StatusOr<std::string> ReadEntry(unzFile archive, uint64_t most) {
  std::string bytes;
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const int count = unzReadCurrentFile(archive, piece.data(), static_cast<unsigned>(kPieceBytes));
    // minizip compares the checksum when an entry is closed after all of it was read.
    const int closed = count == 0 ? unzCloseCurrentFile(archive) : UNZ_OK;
    if (count < 0 || closed != UNZ_OK) {
      return absl::DataLossError(Concat("the zip file is damaged, after ", bytes.size(),
                                        " unpacked bytes: ", WhyNot(count < 0 ? count : closed)));
    }
    if (count == 0) return bytes;
    if (bytes.size() + static_cast<uint64_t>(count) > most) {
      return absl::ResourceExhaustedError(Concat("the zip file unpacks to more than ", most,
                                                 " bytes, which is too much for the packed size"));
    }
    bytes.append(piece.data(), static_cast<size_t>(count));
  }
}

}  // namespace

absl::StatusOr<std::string> UnpackPickleFromZip(std::string_view packed,
                                                const UnpackLimits& limits) {
  // minizip cannot find the list of entries in an archive that consists only of that list.
  if (packed.starts_with(kEndOfList)) return absl::InvalidArgumentError(kEmpty);
  Reading reading{packed};
  absl::StatusOr<Archive> archive = OpenArchive(&reading);
  if (!archive.ok()) return archive.status();
  const absl::StatusOr<Entry> entry = FindPickle(archive->get());
  if (!entry.ok()) return entry.status();
  unz64_file_pos place = entry->place;
  int opened = unzGoToFilePos64(archive->get(), &place);
  if (opened == UNZ_OK) opened = unzOpenCurrentFile(archive->get());
  if (opened != UNZ_OK) {
    return absl::DataLossError(Concat("an entry of the zip file cannot be read: ", WhyNot(opened)));
  }
  return ReadEntry(archive->get(), limits.MostFor(packed.size()));
}

}  // namespace vramstow
