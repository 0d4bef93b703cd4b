#include "simulator/driver/image.h"

#include <stdio.h>

#include <algorithm>

#include "simulator/driver/cubin.h"
#include "simulator/driver/image_bytes.h"
#include "simulator/driver/ptx.h"

namespace vramstow::simulator {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;    // nvcc registers magic, version, address
constexpr uint32_t kFatBinaryMagic = 0xba55ed50;  // then version, own size, members' size
constexpr size_t kPtxMax = 64u << 20;

struct FatBinaryHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t member_bytes;
};

struct FatBinaryMember {
  uint16_t kind;  // 1: PTX, 2: cubin
  uint16_t version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t other[3];
  uint32_t architecture;  // for example 90
};
constexpr uint16_t kPtxMember = 1;
constexpr uint16_t kCubinMember = 2;
constexpr size_t kLeastMember = 16;  // the fields up to `bytes`

// Checks PTX text. It is either a whole image, or the chosen member of a fat binary without fitting
// machine code.
ImageError JudgePtx(const Image& image, const ImageTarget& target) {
  if (!target.Knows(image.ptx_version)) return ImageError::kUnsupportedPtx;
  return target.Compiles(image.architecture) ? ImageError::kNone : ImageError::kInvalidPtx;
}

ImageError JudgeCubin(const Image& image, const ImageTarget& target) {
  return target.Runs(image.architecture) ? ImageError::kNone : ImageError::kNoBinary;
}

// A fat binary, whose members are the same program for several GPUs.
class FatBinary {
 public:
  FatBinary(const ImageBytes& bytes, const ImageTarget& target) : bytes_(bytes), target_(target) {}

  ImageError Parse(Image* image) {
    FatBinaryHeader header = {};
    if (!bytes_.Read(0, &header) || header.header_bytes < sizeof(header) ||
        header.member_bytes > bytes_.size()) {
      return ImageError::kInvalidImage;
    }
    const uint64_t end = header.header_bytes + header.member_bytes;
    for (uint64_t at = header.header_bytes; at + kLeastMember <= end;) {
      FatBinaryMember member = {};
      if (!bytes_.Read(at, &member, kLeastMember) || member.header_bytes < kLeastMember ||
          member.header_bytes > end - at || member.bytes > end - at - member.header_bytes) {
        return ImageError::kInvalidImage;
      }
      if (member.header_bytes >= sizeof(member) && !bytes_.Read(at, &member)) {
        return ImageError::kInvalidImage;
      }
      Look(member, bytes_.Part(at + member.header_bytes, member.bytes));
      at += member.header_bytes + member.bytes;
    }
    return Choose(image);
  }

 private:
  // Reads a member of the fat binary, and chooses it if it fits the GPU better than the members
  // before it. Which kernels and variables exist follows from all readable members together; the
  // chosen member is used first.
  void Look(const FatBinaryMember& member, const ImageBytes& part) {
    Image read;
    std::string text;
    if (member.kind == kCubinMember) {
      if (IsElf(part)) ParseCubin(part, &read);
      read.is_code = true;
    } else if (member.kind == kPtxMember) {
      if (part.ReadText(0, kPtxMax, &text)) ParsePtx(text, &read);
    } else {
      return;  // code for link-time optimisation and similar members cannot be launched
    }
    ++members_;
    if (member.architecture != 0) read.architecture.number = member.architecture;
    const ImageError error = read.is_code ? JudgeCubin(read, target_) : JudgePtx(read, target_);
    if (read.complete && !read.is_code && ptx_.empty()) ptx_ = std::move(text);
    if (read.complete) readable_.push_back(read);
    if (error == ImageError::kUnsupportedPtx) unsupported_ = true;
    if (error != ImageError::kNone) return;
    if (!has_chosen_ || IsBetter(read, chosen_)) chosen_ = std::move(read);
    has_chosen_ = true;
  }

  // Prefers machine code to PTX, and then the architecture closest to the GPU.
  static bool IsBetter(const Image& a, const Image& b) {
    if (a.is_code != b.is_code) return a.is_code;
    return a.architecture.number > b.architecture.number;
  }

  ImageError Choose(Image* image) {
    if (members_ > 0 && !has_chosen_) {
      return unsupported_ ? ImageError::kUnsupportedPtx : ImageError::kNoBinary;
    }
    *image = std::move(chosen_);
    image->ptx = std::move(ptx_);
    if (image->complete) return ImageError::kNone;
    for (const Image& other : readable_) {
      image->kernels.insert(other.kernels.begin(), other.kernels.end());
      image->variables.insert(other.variables.begin(), other.variables.end());
      image->complete = true;
    }
    return ImageError::kNone;
  }

  const ImageBytes& bytes_;
  const ImageTarget& target_;
  size_t members_ = 0;  // members that some GPU could launch
  bool has_chosen_ = false;
  bool unsupported_ = false;
  Image chosen_;
  std::string ptx_;
  std::vector<Image> readable_;
};

// Returns a limit for a cubin whose size is unknown. The ELF header does not tell its real end,
// because sections or program headers may follow the section headers.
size_t Unbounded(size_t size) { return size == SIZE_MAX ? SIZE_MAX / 2 : size; }

}  // namespace

bool ReadImageFile(const char* path, std::vector<char>* bytes) {
  FILE* file = fopen(path, "re");
  if (file == nullptr) return false;
  char chunk[4096];
  size_t count = 0;
  while ((count = fread(chunk, 1, sizeof(chunk), file)) > 0) {
    bytes->insert(bytes->end(), chunk, chunk + count);
  }
  fclose(file);
  bytes->push_back('\0');
  return true;
}

ImageError ParseImage(const void* start, size_t size, const ImageTarget& target, Image* image) {
  *image = Image();
  ImageBytes bytes(start, Unbounded(size));
  uint32_t magic = 0;
  if (bytes.Read(0, &magic) && magic == kWrapperMagic) {
    uint64_t data = 0;
    if (!bytes.Read(8, &data)) return ImageError::kInvalidImage;
    bytes = ImageBytes(reinterpret_cast<const void*>(static_cast<uintptr_t>(data)),
                       Unbounded(SIZE_MAX));
    magic = 0;
    bytes.Read(0, &magic);
  }
  if (magic == kFatBinaryMagic) return FatBinary(bytes, target).Parse(image);
  if (IsElf(bytes)) {
    const ImageError error = ParseCubin(bytes, image);
    image->is_code = true;
    return error == ImageError::kNone ? JudgeCubin(*image, target) : error;
  }
  // The image is neither a cubin nor a fat binary, so it must be PTX text.
  std::string text;
  if (!bytes.ReadText(0, kPtxMax, &text)) return ImageError::kInvalidImage;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return ImageError::kInvalidImage;
  const bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || (c >= '\t' && c <= '\r');
  });
  const ImageError error = is_text ? ParsePtx(text, image) : ImageError::kInvalidImage;
  if (error != ImageError::kNone) return error;
  image->ptx = std::move(text);
  return JudgePtx(*image, target);
}

}  // namespace vramstow::simulator
