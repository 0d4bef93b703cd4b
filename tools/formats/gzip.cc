#include <zlib.h>

#include <limits>

#include "tools/formats/text_helpers.h"
#include "tools/formats/unpack.h"

namespace vramstow {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

}  // namespace

struct GzipStream::Inflater {
  explicit Inflater(std::string_view bytes) : packed(bytes) {
    ready = inflateInit2(&stream, kGzipOnly) == Z_OK;
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // zlib counts its input in 32 bits. Longer files are passed to it in pieces.
  void Feed() {
    if (stream.avail_in != 0 || packed.empty()) return;
    const size_t piece = std::min<size_t>(packed.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(piece);
    packed.remove_prefix(piece);
  }
  bool exhausted() const { return stream.avail_in == 0 && packed.empty(); }

  z_stream stream = {};
  std::string_view packed;
  bool ready = false;
  bool at_end = false;
};

GzipStream::GzipStream(std::string_view packed, const UnpackLimits& limits)
    : most_bytes_(limits.MostFor(packed.size())),
      inflater_(std::make_unique<Inflater>(packed)),
      window_(kWindowBytes) {
  if (!inflater_->ready)
    status_ = absl::ResourceExhaustedError("there is no memory to unpack gzip");
}

GzipStream::~GzipStream() = default;

size_t GzipStream::Fill() {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(window_.data());
  stream.avail_out = static_cast<uInt>(window_.size());
  while (stream.avail_out != 0 && !inflater_->at_end) {
    inflater_->Feed();
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inflater_->Feed();
      // A gzip file may have several members, one after the other. Other bytes after the end are
      // ignored, as gzip does.
      if (stream.avail_in < 2 || stream.next_in[0] != 0x1f || stream.next_in[1] != 0x8b) {
        inflater_->at_end = true;
      } else {
        inflateReset(&stream);
      }
    } else if (result != Z_OK || (inflater_->exhausted() && stream.avail_out != 0)) {
      const bool early = inflater_->exhausted() && result != Z_DATA_ERROR;
      status_ = absl::DataLossError(
          Concat("the gzip data ", early ? "end early" : "are damaged", ", after ",
                 unpacked_bytes_ + (window_.size() - stream.avail_out), " unpacked bytes"));
      break;
    }
  }
  return window_.size() - stream.avail_out;
}

GzipStream::int_type GzipStream::underflow() {
  if (!status_.ok() || inflater_->at_end) return traits_type::eof();
  const size_t count = Fill();
  unpacked_bytes_ += count;
  if (unpacked_bytes_ > most_bytes_) {
    status_ = absl::ResourceExhaustedError(Concat("the gzip data unpack to more than ", most_bytes_,
                                                  " bytes, which is too much for the packed size"));
    return traits_type::eof();
  }
  if (count == 0) return traits_type::eof();
  setg(window_.data(), window_.data(), window_.data() + count);
  return traits_type::to_int_type(window_.front());
}

absl::StatusOr<std::string> UnpackGzip(std::string_view packed, const UnpackLimits& limits,
                                       uint64_t at_most, std::string* damage) {
  GzipStream stream(packed, limits);
  std::string bytes;
  char piece[16384];
  while (bytes.size() < at_most) {
    const auto wanted = std::min<uint64_t>(sizeof(piece), at_most - bytes.size());
    const std::streamsize count = stream.sgetn(piece, static_cast<std::streamsize>(wanted));
    if (count <= 0) break;
    bytes.append(piece, static_cast<size_t>(count));
  }
  if (stream.status().code() == absl::StatusCode::kDataLoss && !bytes.empty()) {
    *damage = std::string(stream.status().message());
    return bytes;
  }
  if (!stream.status().ok()) return stream.status();
  return bytes;
}

}  // namespace vramstow
