#include <zip.h>

#include <cstring>

#include "tools/formats/text.h"
#include "tools/formats/unpack.h"

namespace vramstow {
namespace {

// A snapshot's zip has a handful of entries; a checkpoint has thousands and is none.
constexpr zip_int64_t kMostEntries = 100'000;
constexpr size_t kPieceBytes = size_t{1} << 20;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

std::string Message(zip_error_t* error) {
  std::string message = zip_error_strerror(error);
  zip_error_fini(error);
  return message;
}

absl::StatusOr<Archive> OpenArchive(std::string_view bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) return absl::ResourceExhaustedError(Message(&error));
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    return absl::DataLossError(Concat("the zip file cannot be opened: ", Message(&error)));
  }
  zip_error_fini(&error);
  return Archive(archive);
}

// How much an entry's name speaks for its being the pickle; 0 for a folder.
int NameRank(std::string_view name) {
  if (name.ends_with('/')) return 0;
  if (name == "data.pkl" || name.ends_with("/data.pkl")) return 3;
  if (name.ends_with(".pickle") || name.ends_with(".pkl")) return 2;
  return 1;
}

absl::StatusOr<zip_uint64_t> FindPickle(zip_t* archive) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count > kMostEntries) {
    return absl::InvalidArgumentError(
        Concat("the zip file has ", count, " entries: it is no memory snapshot"));
  }
  int best_rank = 0;
  zip_int64_t best = -1;
  bool several = false;
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    const int rank = name == nullptr ? 0 : NameRank(name);
    if (rank > best_rank) {
      best_rank = rank;
      best = i;
      several = false;
    } else if (rank == best_rank && rank != 0) {
      several = true;
    }
  }
  if (best < 0) return absl::InvalidArgumentError("the zip file is empty");
  if (several) {
    return absl::InvalidArgumentError(
        "the zip file has several entries that could be the snapshot; unpack it and name one");
  }
  return static_cast<zip_uint64_t>(best);
}

}  // namespace

absl::StatusOr<std::string> UnpackPickleFromZip(std::string_view packed,
                                                const UnpackLimits& limits) {
  absl::StatusOr<Archive> archive = OpenArchive(packed);
  if (!archive.ok()) return archive.status();
  const absl::StatusOr<zip_uint64_t> index = FindPickle(archive->get());
  if (!index.ok()) return index.status();

  const std::unique_ptr<zip_file_t, CloseEntry> entry(
      zip_fopen_index(archive->get(), *index, ZIP_FL_UNCHANGED));
  if (entry == nullptr) {
    return absl::DataLossError(
        Concat("an entry of the zip file cannot be read: ", zip_strerror(archive->get())));
  }
  // The size that the entry claims is not believed: it is read until it ends or is too much.
  const uint64_t most = limits.MostFor(packed.size());
  std::string bytes;
  std::vector<char> piece(kPieceBytes);
  while (true) {
    const zip_int64_t count = zip_fread(entry.get(), piece.data(), piece.size());
    if (count < 0) {
      return absl::DataLossError(Concat("the zip file is damaged, after ", bytes.size(),
                                        " unpacked bytes: ", zip_file_strerror(entry.get())));
    }
    if (count == 0) return bytes;
    if (bytes.size() + static_cast<uint64_t>(count) > most) {
      return absl::ResourceExhaustedError(
          Concat("the zip file unpacks to more than ", most,
                 " bytes, which is out of proportion to what it is packed"));
    }
    bytes.append(piece.data(), static_cast<size_t>(count));
  }
}

}  // namespace vramstow
