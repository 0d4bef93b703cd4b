#include "adapters/torch/observer/import_slot.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace vramstow::torch_observer {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kSlotOfCall = R_X86_64_JUMP_SLOT;
constexpr uint32_t kSlotOfAddress = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t kSlotOfCall = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kSlotOfAddress = R_AARCH64_GLOB_DAT;
#else
#error "The relocations of this processor are not known."
#endif

// The tables of a loaded library that describe its slots.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  size_t sizes[2] = {};
};

Tables TablesOf(const link_map& library) {
  Tables tables;
  for (const ElfW(Dyn)* row = library.l_ld; row->d_tag != DT_NULL; ++row) {
    // The dynamic linker adds the library's address to these pointers, unless the table cannot be
    // written.
    const uint64_t value = row->d_un.d_ptr;
    const uint64_t address = value < library.l_addr ? value + library.l_addr : value;
    switch (row->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(address);
        break;
      case DT_JMPREL:
        tables.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        tables.sizes[0] = row->d_un.d_val;
        break;
      case DT_RELA:
        tables.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        tables.sizes[1] = row->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return tables;
}

// The part of a library that the dynamic linker made read-only after it had filled the slots.
struct ReadOnlyPart {
  uint64_t library;
  uint64_t begin = 0;
  uint64_t end = 0;
};

int FindReadOnlyPart(dl_phdr_info* library, size_t, void* argument) {
  auto* part = static_cast<ReadOnlyPart*>(argument);
  if (library->dlpi_addr != part->library) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_GNU_RELRO) continue;
    part->begin = library->dlpi_addr + segment.p_vaddr;
    part->end = part->begin + segment.p_memsz;
  }
  return 1;
}

bool Write(uint64_t library, uint64_t slot, const void* value) {
  const auto page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  ReadOnlyPart part{library};
  dl_iterate_phdr(FindReadOnlyPart, &part);
  // The dynamic linker protects whole pages only, so the last page may have stayed writable.
  part.begin &= ~(page_size - 1);
  part.end &= ~(page_size - 1);
  const bool is_read_only = slot >= part.begin && slot < part.end;
  auto* page = reinterpret_cast<void*>(slot & ~(page_size - 1));
  if (is_read_only && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
  reinterpret_cast<std::atomic<const void*>*>(slot)->store(value, std::memory_order_release);
  if (is_read_only) mprotect(page, page_size, PROT_READ);
  return true;
}

}  // namespace

bool ReplaceImport(const void* code, const char* symbol, const void* instead) {
  Dl_info about{};
  link_map* library = nullptr;
  if (dladdr1(code, &about, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0) return false;
  const Tables tables = TablesOf(*library);
  if (tables.symbols == nullptr || tables.names == nullptr) return false;
  bool is_replaced = false;
  for (int table = 0; table < 2; ++table) {
    const size_t count = tables.sizes[table] / sizeof(ElfW(Rela));
    for (size_t i = 0; tables.relocations[table] != nullptr && i < count; ++i) {
      const ElfW(Rela)& row = tables.relocations[table][i];
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(row.r_info));
      if (type != kSlotOfCall && type != kSlotOfAddress) continue;
      const ElfW(Sym)& imported = tables.symbols[ELF64_R_SYM(row.r_info)];
      if (std::strcmp(tables.names + imported.st_name, symbol) != 0) continue;
      if (!Write(library->l_addr, library->l_addr + row.r_offset, instead)) return false;
      is_replaced = true;
    }
  }
  return is_replaced;
}

}  // namespace vramstow::torch_observer
