#include "simulator/driver/cubin.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <string_view>

namespace vramstow::simulator {
namespace {

constexpr uint16_t kMachineCuda = 190;      // EM_CUDA of the ELF registry
constexpr unsigned char kKernelEntry = 16;  // in st_other: a function that can be launched
constexpr size_t kSectionsMax = 1u << 20;

// e_flags has the architecture in its low byte if the file has version 7 or less of the ABI (up to
// sm_90), and in its second byte if it has version 8 or more.
constexpr unsigned char kNewerAbi = 8;
constexpr uint32_t kArchitectureMask = 0xff;
constexpr unsigned kNewerShift = 8;
constexpr uint32_t kOldestArchitecture = 20;

// Attributes in .nv.info.KERNEL that are read here.
constexpr uint8_t kMaxThreads = 0x05;
constexpr uint8_t kRequiredThreads = 0x10;
constexpr uint8_t kParameterInfo = 0x17;
// Records in .nv.info that hold a symbol's number, and its register count or the bytes of each
// thread's stack frame.
constexpr uint8_t kRegisterCount = 0x2f;
constexpr uint8_t kFrameSize = 0x11;
// Bytes at the beginning of a block's shared memory that the system reserves from compute
// capability 9.0 on.
constexpr uint32_t kReservedShared = 1024;

class Cubin {
 public:
  explicit Cubin(const ImageBytes& bytes) : bytes_(bytes) {}

  bool Parse(Image* image) {
    Elf64_Ehdr header = {};
    if (!bytes_.Read(0, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachineCuda ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
        header.e_shnum > kSectionsMax || header.e_shstrndx >= header.e_shnum) {
      return false;
    }
    image->architecture.number = ArchitectureOf(header);
    sections_.resize(header.e_shnum);
    if (!bytes_.Read(header.e_shoff, sections_.data(), sections_.size() * sizeof(Elf64_Shdr)) ||
        !ReadSection(sections_[header.e_shstrndx], &names_)) {
      return false;
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_SYMTAB && !ReadSymbols(section, image)) return false;
    }
    const bool reserves = std::any_of(sections_.begin(), sections_.end(), [&](const auto& section) {
      return NameOf(section).starts_with(".nv.shared.reserved");
    });
    for (const Elf64_Shdr& section : sections_) ReadKernelSection(section, reserves, image);
    for (const Elf64_Shdr& section : sections_) {
      if (NameOf(section) != ".nv.constant3") continue;  // the program's own constants
      for (auto& [name, kernel] : image->kernels) {
        kernel.const_bytes = static_cast<uint32_t>(std::min<uint64_t>(section.sh_size, 65536));
      }
    }
    image->complete = true;
    return true;
  }

 private:
  // Some files of the newer ABI have the older layout of e_flags. So the byte is used that holds a
  // plausible architecture number.
  static uint32_t ArchitectureOf(const Elf64_Ehdr& header) {
    const uint32_t low = header.e_flags & kArchitectureMask;
    const uint32_t high = header.e_flags >> kNewerShift & kArchitectureMask;
    const bool newer = header.e_ident[EI_ABIVERSION] >= kNewerAbi;
    const uint32_t number = newer || low < kOldestArchitecture ? high : low;
    return number < kOldestArchitecture ? 0 : number;
  }

  bool ReadSection(const Elf64_Shdr& section, std::vector<char>* to) const {
    if (section.sh_type == SHT_NOBITS) return false;
    return bytes_.Read(section.sh_offset, section.sh_size, to);
  }

  // Returns the zero-terminated text at `offset` of a table, or an empty text if it does not end
  // within the table.
  static std::string_view TextAt(const std::vector<char>& table, uint64_t offset) {
    if (offset >= table.size()) return {};
    const char* text = table.data() + offset;
    const void* end = memchr(text, '\0', table.size() - offset);
    return end == nullptr ? std::string_view() : std::string_view(text);
  }
  std::string_view NameOf(const Elf64_Shdr& section) const {
    return TextAt(names_, section.sh_name);
  }

  bool ReadSymbols(const Elf64_Shdr& section, Image* image) {
    std::vector<char> symbols;
    std::vector<char> names;
    if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_link >= sections_.size() ||
        !ReadSection(section, &symbols) || !ReadSection(sections_[section.sh_link], &names)) {
      return false;
    }
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, symbols.data() + at, sizeof(symbol));
      const std::string_view name = TextAt(names, symbol.st_name);
      if (name.empty() || symbol.st_shndx >= sections_.size()) continue;
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      const std::string_view where = NameOf(sections_[symbol.st_shndx]);
      if (type == STT_FUNC && (symbol.st_other & kKernelEntry) != 0) {
        // A kernel without records of parameters has no parameters, so its parameters count as
        // known.
        image->kernels[std::string(name)].parameters_known = true;
        entries_[at / sizeof(Elf64_Sym)] = name;
      } else if (type == STT_OBJECT &&
                 (where.starts_with(".nv.global") || where.starts_with(".nv.constant3"))) {
        image->variables[std::string(name)] = symbol.st_size;
      }
    }
    return true;
  }

  // The sections of a kernel are named after it: .text.KERNEL, .nv.shared.KERNEL, .nv.info.KERNEL.
  void ReadKernelSection(const Elf64_Shdr& section, bool reserves, Image* image) const {
    const std::string_view name = NameOf(section);
    const auto kernel_of = [&](std::string_view prefix) -> KernelImage* {
      if (!name.starts_with(prefix)) return nullptr;
      const auto found = image->kernels.find(std::string(name.substr(prefix.size())));
      return found == image->kernels.end() ? nullptr : &found->second;
    };
    if (KernelImage* shared = kernel_of(".nv.shared.")) {
      const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(section.sh_size, UINT32_MAX));
      const bool subtract = reserves && bytes >= kReservedShared;
      shared->shared_bytes = subtract ? bytes - kReservedShared : bytes;
    } else if (KernelImage* info = kernel_of(".nv.info.")) {
      std::vector<char> records;
      if (ReadSection(section, &records)) ReadRecords(records, info, image);
    } else if (name == ".nv.info") {
      std::vector<char> records;
      if (ReadSection(section, &records)) ReadRecords(records, nullptr, image);
    }
  }

  // A record is a format, an attribute, and a 16-bit value; with format 4 a 16-bit size and that
  // many bytes follow instead of the value.
  void ReadRecords(const std::vector<char>& records, KernelImage* kernel, Image* image) const {
    constexpr uint8_t kSized = 4;
    size_t at = 0;
    while (at + 4 <= records.size()) {
      const auto format = static_cast<uint8_t>(records[at]);
      const auto attribute = static_cast<uint8_t>(records[at + 1]);
      uint16_t value = 0;
      memcpy(&value, &records[at + 2], 2);
      at += 4;
      if (format != kSized) continue;
      if (value > records.size() - at) return;
      const char* bytes = records.data() + at;
      if (kernel != nullptr) ReadRecord(attribute, bytes, value, kernel);
      if (kernel == nullptr) ReadNumbered(attribute, bytes, value, image);
      at += value;
    }
  }

  void ReadNumbered(uint8_t attribute, const char* bytes, size_t size, Image* image) const {
    uint32_t words[2] = {};
    if (size < sizeof(words)) return;
    memcpy(words, bytes, sizeof(words));
    const auto entry = entries_.find(words[0]);
    if (entry == entries_.end()) return;
    KernelImage& kernel = image->kernels[entry->second];
    constexpr uint32_t kLocalMax = 512 * 1024;
    if (attribute == kRegisterCount && words[1] <= 255) kernel.registers = words[1];
    if (attribute == kFrameSize && words[1] <= kLocalMax) kernel.local_bytes = words[1];
  }

  static void ReadRecord(uint8_t attribute, const char* bytes, size_t size, KernelImage* kernel) {
    uint32_t words[3] = {};
    if (size < sizeof(words)) return;
    memcpy(words, bytes, sizeof(words));
    if (attribute == kMaxThreads || attribute == kRequiredThreads) {
      const uint64_t threads = uint64_t{words[0]} * words[1] * words[2];
      if (threads > 0 && threads <= 1024) kernel->max_threads = static_cast<uint32_t>(threads);
    } else if (attribute == kParameterInfo) {
      // A parameter's record holds its index, ordinal and offset, and a word with the size from bit
      // 18 on.
      constexpr uint32_t kParametersMax = 4096;
      const uint32_t ordinal = words[1] & 0xFFFF;
      if (ordinal >= kParametersMax) return;
      if (kernel->parameters.size() <= ordinal) kernel->parameters.resize(ordinal + 1);
      kernel->parameters[ordinal] = {words[1] >> 16, words[2] >> 18};
    }
  }

  const ImageBytes& bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<char> names_;
  std::map<size_t, std::string> entries_;  // kernels by the number of their symbol
};

}  // namespace

bool IsElf(const ImageBytes& bytes) {
  char magic[SELFMAG] = {};
  return bytes.Read(0, magic, sizeof(magic)) && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

ImageError ParseCubin(const ImageBytes& bytes, Image* image) {
  Image parsed;
  if (!Cubin(bytes).Parse(&parsed)) return ImageError::kInvalidImage;
  *image = std::move(parsed);
  return ImageError::kNone;
}

}  // namespace vramstow::simulator
