// Tests images: PTX, cubins and fat binaries, valid and broken.
#include "simulator/driver/image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>

#include <random>

namespace vramstow::simulator {
namespace {

// A GPU of compute capability 9.0, with the newest driver.
const ImageTarget kCard(90, 13020);

constexpr char kPtx[] = R"(
// This PTX was written by hand.
.version 8.0
.target sm_70
.address_size 64
.visible .global .align 8 .b8 table[4000];
.const .align 4 .u32 small[10] = {1, 2, 3};
.global .f64 one;
.extern .func helper(.param .b32 x);
.visible .entry first(
  .param .u64 .ptr .global .align 4 first_param_0, .param .u32 first_param_1,
  .param .align 8 .b8 first_param_2[32], .param .u8 first_param_3
)
.maxntid 128, 1, 1
{
  .reg .b32 %r<3>;
  .shared .align 4 .b8 sh[256];
  { add.s32 %r1, %r2, 1; /* } */ }
  ret;
}
.entry second() { ret; }
)";

TEST(ImageTest, PtxNamesItsKernelsParametersAndVariables) {
  Image image;
  ASSERT_EQ(ImageError::kNone, ParseImage(kPtx, SIZE_MAX, kCard, &image));
  EXPECT_TRUE(image.complete);
  ASSERT_EQ(2u, image.kernels.size());
  const KernelImage& first = image.kernels["first"];
  ASSERT_EQ(4u, first.parameters.size());
  const uint32_t expected[4][2] = {{0, 8}, {8, 4}, {16, 32}, {48, 1}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(expected[i][0], first.parameters[i].offset);
    EXPECT_EQ(expected[i][1], first.parameters[i].bytes);
  }
  EXPECT_EQ(128u, first.max_threads);
  EXPECT_EQ(256u, first.shared_bytes);
  EXPECT_TRUE(image.kernels["second"].parameters_known);
  const std::map<std::string, uint64_t> variables = {{"table", 4000}, {"small", 40}, {"one", 8}};
  EXPECT_EQ(variables, image.variables);
}

// Builds a cubin with one kernel "k" of two parameters and a variable "v" of 100 bytes.
class CubinBuilder {
 public:
  // `flags` is the value of e_flags; 90 means sm_90.
  explicit CubinBuilder(uint32_t flags = 90, unsigned char abi = 7) : flags_(flags), abi_(abi) {
    AddSection("", SHT_NULL, {});
    AddSection(".strtab", SHT_STRTAB, std::string("\0k\0v\0", 5));
    AddSection(".text.k", SHT_PROGBITS, std::string(128, '\0'));
    AddSection(".nv.global", SHT_NOBITS, {});
    AddSection(".nv.info.k", SHT_LOPROC, Records());
    AddSection(".symtab", SHT_SYMTAB, Symbols());
    sections_.back().sh_link = 1;
    sections_.back().sh_entsize = sizeof(Elf64_Sym);
  }

  std::string Bytes() {
    AddSection(".shstrtab", SHT_STRTAB, {});
    const uint64_t names_at = sizeof(Elf64_Ehdr) + body_.size();
    sections_.back().sh_offset = names_at;
    sections_.back().sh_size = names_.size();
    Elf64_Ehdr header = {};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_ABIVERSION] = abi_;
    header.e_flags = flags_;
    header.e_machine = 190;
    header.e_shoff = names_at + names_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections_.size() - 1);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes += body_ + names_;
    bytes.append(reinterpret_cast<const char*>(sections_.data()),
                 sections_.size() * sizeof(Elf64_Shdr));
    return bytes;
  }

 private:
  void AddSection(const std::string& name, uint32_t type, const std::string& content) {
    Elf64_Shdr section = {};
    section.sh_name = static_cast<Elf64_Word>(names_.size());
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + body_.size();
    section.sh_size = content.size();
    names_ += name + '\0';
    body_ += content;
    sections_.push_back(section);
  }

  static std::string Words(std::initializer_list<uint32_t> words) {
    std::string bytes;
    for (const uint32_t word : words) {
      bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
    }
    return bytes;
  }

  // Returns records of a kernel with at most 256 × 2 × 1 threads, and with parameters of 8 bytes at
  // offset 0 and 12 bytes at offset 8.
  static std::string Records() {
    return Words({0x000c0504, 256, 2, 1, 0x000c1704, 0, 0x00080001, 12u << 18 | 0xf000, 0x000c1704,
                  0, 0x00000000, 8u << 18 | 0xf000, 0x00141903});
  }

  static std::string Symbols() {
    Elf64_Sym symbols[3] = {};
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_other = 16;
    symbols[1].st_shndx = 2;
    symbols[2].st_name = 3;
    symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbols[2].st_shndx = 3;
    symbols[2].st_size = 100;
    return {reinterpret_cast<const char*>(symbols), sizeof(symbols)};
  }

  uint32_t flags_;
  unsigned char abi_;
  std::string names_;
  std::string body_;
  std::vector<Elf64_Shdr> sections_;
};

void ExpectKernelAndVariable(Image image) {
  EXPECT_TRUE(image.complete);
  ASSERT_TRUE(image.kernels.contains("k"));
  const KernelImage& kernel = image.kernels["k"];
  EXPECT_EQ(512u, kernel.max_threads);
  ASSERT_EQ(2u, kernel.parameters.size());
  EXPECT_EQ(8u, kernel.parameters[1].offset);
  EXPECT_EQ(12u, kernel.parameters[1].bytes);
  EXPECT_EQ(100u, image.variables["v"]);
}

TEST(ImageTest, ACubinsSymbolsAndAttributesAreRead) {
  const std::string bytes = CubinBuilder().Bytes();
  Image image;
  ASSERT_EQ(ImageError::kNone, ParseImage(bytes.data(), bytes.size(), kCard, &image));
  ExpectKernelAndVariable(image);
}

constexpr uint16_t kPtxKind = 1;
constexpr uint16_t kCubinKind = 2;

// Stands for compressed data, which the simulator cannot read.
const std::string kPacked(104, '\x5a');

std::string Member(uint16_t kind, uint32_t architecture, std::string content) {
  content.resize((content.size() + 7) / 8 * 8, '\0');
  struct {
    uint16_t kind = 0;
    uint16_t version = 0x101;
    uint32_t header_bytes = 64;
    uint64_t bytes = 0;
    uint32_t other[3] = {};
    uint32_t architecture = 0;
    char rest[32] = {};
  } header;
  header.kind = kind;
  header.bytes = content.size();
  header.architecture = architecture;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + content;
}

std::string FatBinaryOf(const std::string& members) {
  struct {
    uint32_t magic = 0xba55ed50;
    uint16_t version = 1;
    uint16_t header_bytes = 16;
    uint64_t bytes = 0;
  } header;
  header.bytes = members.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + members;
}

std::string FatBinary(uint16_t kind, const std::string& content) {
  return FatBinaryOf(Member(kind, 0, content));
}

// Returns a fat binary with compressed code for the given architectures, and compressed PTX for one
// architecture.
std::string CompressedFor(std::initializer_list<uint32_t> codes, uint32_t ptx = 0) {
  std::string members;
  for (const uint32_t code : codes) members += Member(kCubinKind, code, kPacked);
  if (ptx != 0) members += Member(kPtxKind, ptx, kPacked);
  return FatBinaryOf(members);
}

struct Chosen {
  ImageError error;
  uint32_t number;
  bool is_code;
  bool operator==(const Chosen&) const = default;
};

Chosen ChosenOn(uint32_t capability, const std::string& bytes, int cuda_version = 13020) {
  Image image;
  const ImageError error =
      ParseImage(bytes.data(), bytes.size(), ImageTarget(capability, cuda_version), &image);
  if (error != ImageError::kNone) return {error, 0, false};
  return {error, image.architecture.number, image.is_code};
}

std::string PtxFor(const std::string& target, const std::string& version = "7.0") {
  return ".version " + version + "\n.target " + target +
         "\n.address_size 64\n.visible .entry k(.param .u32 a)\n{ ret; }\n" + '\0';
}

TEST(ImageTest, ACardChoosesTheCodeThatIsNextToItself) {
  // PyTorch's wheels contain code for these architectures.
  const std::string wheel = CompressedFor({75, 80, 86, 90, 100, 120});
  EXPECT_EQ((Chosen{ImageError::kNone, 75, true}), ChosenOn(75, wheel));
  EXPECT_EQ((Chosen{ImageError::kNone, 80, true}), ChosenOn(80, wheel));
  EXPECT_EQ((Chosen{ImageError::kNone, 86, true}), ChosenOn(89, wheel));
  EXPECT_EQ((Chosen{ImageError::kNone, 90, true}), ChosenOn(90, wheel));
  EXPECT_EQ((Chosen{ImageError::kNone, 100, true}), ChosenOn(103, wheel));
  EXPECT_EQ((Chosen{ImageError::kNone, 120, true}), ChosenOn(121, wheel));
  for (const uint32_t without : {70u, 110u}) {
    EXPECT_EQ((Chosen{ImageError::kNoBinary, 0, false}), ChosenOn(without, wheel)) << without;
  }
}

TEST(ImageTest, WithoutCodeForACardItsPtxIsCompiled) {
  const std::string image = CompressedFor({80, 90}, 86);
  EXPECT_EQ((Chosen{ImageError::kNone, 80, true}), ChosenOn(89, image));
  EXPECT_EQ((Chosen{ImageError::kNone, 86, false}), ChosenOn(120, image));
  EXPECT_EQ((Chosen{ImageError::kNoBinary, 0, false}), ChosenOn(75, image));
  EXPECT_EQ((Chosen{ImageError::kNoBinary, 0, false}), ChosenOn(70, CompressedFor({}, 75)));
}

TEST(ImageTest, PtxForAnotherCardIsRefused) {
  EXPECT_EQ((Chosen{ImageError::kNone, 70, false}), ChosenOn(70, PtxFor("sm_70")));
  EXPECT_EQ((Chosen{ImageError::kNone, 70, false}), ChosenOn(120, PtxFor("sm_70, debug")));
  EXPECT_EQ(ImageError::kInvalidPtx, ChosenOn(89, PtxFor("sm_90")).error);
  EXPECT_EQ(ImageError::kInvalidPtx, ChosenOn(100, PtxFor("sm_90a")).error);
  EXPECT_EQ(ImageError::kNone, ChosenOn(90, PtxFor("sm_90a")).error);
  EXPECT_EQ(ImageError::kNone, ChosenOn(103, PtxFor("sm_100f")).error);
  EXPECT_EQ(ImageError::kInvalidPtx, ChosenOn(120, PtxFor("sm_100f")).error);
}

TEST(ImageTest, PtxThatIsNewerThanTheDriverIsRefused) {
  EXPECT_EQ(ImageError::kNone, ChosenOn(90, PtxFor("sm_80", "8.4"), 12040).error);
  EXPECT_EQ(ImageError::kUnsupportedPtx, ChosenOn(90, PtxFor("sm_80", "8.5"), 12040).error);
  // CUDA 12.6 has the same PTX version as CUDA 12.5.
  EXPECT_EQ(ImageError::kNone, ChosenOn(90, PtxFor("sm_80", "8.5"), 12060).error);
  EXPECT_EQ(ImageError::kUnsupportedPtx, ChosenOn(90, PtxFor("sm_80", "8.6"), 12060).error);
  EXPECT_EQ(ImageError::kNone, ChosenOn(90, PtxFor("sm_80", "99.0"), 14000).error);
  const std::string fat = FatBinaryOf(Member(kPtxKind, 80, PtxFor("sm_80", "9.0")));
  EXPECT_EQ(ImageError::kUnsupportedPtx, ChosenOn(90, fat, 12090).error);
  EXPECT_EQ(ImageError::kNone, ChosenOn(90, fat, 13000).error);
}

TEST(ImageTest, ACubinSaysForWhichCardItIsInTwoWays) {
  const auto on = [](uint32_t card, uint32_t flags, unsigned char abi) {
    return ChosenOn(card, CubinBuilder(flags, abi).Bytes());
  };
  EXPECT_EQ((Chosen{ImageError::kNone, 86, true}), on(89, 0x00560556, 7));
  EXPECT_EQ((Chosen{ImageError::kNone, 90, true}), on(90, 0x06005a04, 8));
  EXPECT_EQ((Chosen{ImageError::kNone, 120, true}), on(121, 0x06007802, 8));
  EXPECT_EQ(ImageError::kNoBinary, on(80, 0x00560556, 7).error);
  EXPECT_EQ(ImageError::kNoBinary, on(120, 0x06006402, 8).error);
}

TEST(ImageTest, OfWhatWasChosenTheKernelsAreThoseThatCanBeRead) {
  // The parameters come from the cubin, which describes the kernel in more detail. The instructions
  // come from the PTX.
  const std::string bytes = FatBinaryOf(Member(kCubinKind, 90, CubinBuilder().Bytes()) +
                                        Member(kPtxKind, 80, PtxFor("sm_80")));
  Image image;
  ASSERT_EQ(ImageError::kNone, ParseImage(bytes.data(), bytes.size(), kCard, &image));
  ExpectKernelAndVariable(image);
  EXPECT_EQ(PtxFor("sm_80").c_str(), image.ptx);
  // A GPU of another compute capability can use only the PTX.
  ASSERT_EQ(ImageError::kNone,
            ParseImage(bytes.data(), bytes.size(), ImageTarget(86, 13020), &image));
  EXPECT_EQ(1u, image.kernels["k"].parameters.size());
  EXPECT_FALSE(image.is_code);
}

TEST(ImageTest, MembersOfAFatBinaryAreRead) {
  const std::string bytes = FatBinary(2, CubinBuilder().Bytes());
  Image image;
  ASSERT_EQ(ImageError::kNone, ParseImage(bytes.data(), SIZE_MAX, kCard, &image));
  ExpectKernelAndVariable(image);
}

TEST(ImageTest, OfACompressedMemberNothingIsKnown) {
  const std::string bytes = FatBinary(2, std::string(100, '\x5a'));
  Image image;
  ASSERT_EQ(ImageError::kNone, ParseImage(bytes.data(), bytes.size(), kCard, &image));
  EXPECT_FALSE(image.complete);
}

TEST(ImageTest, WhatIsNoImageIsRefused) {
  Image image;
  EXPECT_EQ(ImageError::kInvalidImage, ParseImage("hello", SIZE_MAX, kCard, &image));
  EXPECT_EQ(ImageError::kInvalidPtx,
            ParseImage(".version 8.0\n.entry f(.param", SIZE_MAX, kCard, &image));
  EXPECT_EQ(ImageError::kInvalidImage, ParseImage("", SIZE_MAX, kCard, &image));
  EXPECT_EQ(ImageError::kInvalidImage, ParseImage("\x01\x02\x03", SIZE_MAX, kCard, &image));
  EXPECT_EQ(ImageError::kInvalidImage,
            ParseImage(reinterpret_cast<const void*>(uintptr_t{16}), SIZE_MAX, kCard, &image));
}

// A copy of an image at the end of mapped memory.
class AtTheEndOfMemory {
 public:
  explicit AtTheEndOfMemory(const std::string& bytes) {
    pages_ = (bytes.size() + 4095) / 4096 * 4096;
    base_ = static_cast<char*>(
        mmap(nullptr, pages_ + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(base_ + pages_, 4096);
    start_ = base_ + pages_ - bytes.size();
    memcpy(start_, bytes.data(), bytes.size());
  }
  ~AtTheEndOfMemory() { munmap(base_, pages_); }
  AtTheEndOfMemory(const AtTheEndOfMemory&) = delete;
  AtTheEndOfMemory& operator=(const AtTheEndOfMemory&) = delete;
  const void* start() const { return start_; }

 private:
  size_t pages_ = 0;
  char* base_ = nullptr;
  char* start_ = nullptr;
};

TEST(ImageTest, TruncatedImagesAreRefusedOrReadAsFarAsTheyGo) {
  for (const std::string& whole : {CubinBuilder().Bytes(), FatBinary(2, CubinBuilder().Bytes()),
                                   std::string(kPtx, sizeof(kPtx))}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      const AtTheEndOfMemory cut(whole.substr(0, size));
      Image image;
      ParseImage(cut.start(), SIZE_MAX, kCard, &image);
      ParseImage(cut.start(), size, kCard, &image);
    }
  }
}

TEST(ImageTest, FlippedBitsDoNoHarm) {
  std::mt19937_64 random(1);
  for (const std::string& whole :
       {CubinBuilder().Bytes(), FatBinary(2, CubinBuilder().Bytes()),
        FatBinary(1, std::string(kPtx, sizeof(kPtx))), std::string(kPtx, sizeof(kPtx))}) {
    for (int i = 0; i < 5000; ++i) {
      std::string bytes = whole;
      for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
        const uint64_t bit = random() % (8 * bytes.size());
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      }
      const AtTheEndOfMemory copy(bytes);
      Image image;
      ParseImage(copy.start(), SIZE_MAX, kCard, &image);
    }
  }
}

}  // namespace
}  // namespace vramstow::simulator
