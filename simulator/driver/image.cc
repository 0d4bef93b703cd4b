#include "simulator/driver/image.h"

#include <stdio.h>

#include <algorithm>

#include "simulator/driver/cubin.h"
#include "simulator/driver/image_bytes.h"
#include "simulator/driver/ptx.h"

namespace vramstow::simulator {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;    // what nvcc registers: magic, version, address
constexpr uint32_t kFatBinaryMagic = 0xba55ed50;  // magic, version, bytes of this, bytes of members
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
};
constexpr uint16_t kPtxMember = 1;
constexpr uint16_t kCubinMember = 2;

// What is common to all images in one: kernels and variables of each.
void Merge(const Image& from, Image* to) {
  to->kernels.insert(from.kernels.begin(), from.kernels.end());
  to->variables.insert(from.variables.begin(), from.variables.end());
}

// The members are the same program for several cards: one that can be read says what there is in
// all. Without one (they are compressed) nothing is known.
ImageError ParseFatBinary(const ImageBytes& bytes, Image* image) {
  FatBinaryHeader header = {};
  if (!bytes.Read(0, &header) || header.header_bytes < sizeof(header) ||
      header.member_bytes > bytes.size()) {
    return ImageError::kInvalidImage;
  }
  const uint64_t end = header.header_bytes + header.member_bytes;
  for (uint64_t at = header.header_bytes; at + sizeof(FatBinaryMember) <= end;) {
    FatBinaryMember member = {};
    if (!bytes.Read(at, &member) || member.header_bytes < sizeof(member) ||
        member.header_bytes > end - at || member.bytes > end - at - member.header_bytes) {
      return ImageError::kInvalidImage;
    }
    const ImageBytes part = bytes.Part(at + member.header_bytes, member.bytes);
    Image parsed;
    std::string text;
    const bool cubin = member.kind == kCubinMember && IsElf(part) &&
                       ParseCubin(part, &parsed) == ImageError::kNone;
    const bool ptx = member.kind == kPtxMember && part.ReadText(0, kPtxMax, &text) &&
                     ParsePtx(text, &parsed) == ImageError::kNone;
    if (cubin || ptx) {
      Merge(parsed, image);
      image->complete = true;
    }
    if (ptx && image->ptx.empty()) image->ptx = std::move(text);
    at += member.header_bytes + member.bytes;
  }
  return ImageError::kNone;
}

// The end of a cubin whose size nobody said: its section headers come last or are followed by
// sections, and its program headers may follow.
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

ImageError ParseImage(const void* start, size_t size, Image* image) {
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
  if (magic == kFatBinaryMagic) return ParseFatBinary(bytes, image);
  if (IsElf(bytes)) return ParseCubin(bytes, image);
  // Text, if anything.
  std::string text;
  if (!bytes.ReadText(0, kPtxMax, &text)) return ImageError::kInvalidImage;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return ImageError::kInvalidImage;
  const bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || (c >= '\t' && c <= '\r');
  });
  const ImageError error = is_text ? ParsePtx(text, image) : ImageError::kInvalidImage;
  if (error == ImageError::kNone) image->ptx = std::move(text);
  return error;
}

}  // namespace vramstow::simulator
