#include "interpose/shim/objects.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/shim/text.h"

// The dynamic linker's list of libraries. The symbol is weak, so that the shim gets no DT_NEEDED
// entry for the dynamic linker, which is in every process anyway.
#pragma weak _r_debug

namespace vramstow {
namespace {

const link_map* FirstObject() { return &_r_debug == nullptr ? nullptr : _r_debug.r_map; }

// The parts of a library's dynamic section that a look-up needs.
struct SymbolTable {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* old_hash = nullptr;
};

// Returns the absolute address for an entry of a library's dynamic section. glibc makes these
// addresses absolute. But it cannot write to the section of the vdso, whose addresses therefore
// stay relative.
template <typename T>
const T* Absolute(const link_map* object, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < object->l_addr ? value + object->l_addr : value);
}

SymbolTable ReadDynamicSection(const link_map* object) {
  SymbolTable table;
  if (object->l_ld == nullptr) return table;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        table.symbols = Absolute<ElfW(Sym)>(object, entry->d_un.d_ptr);
        break;
      case DT_STRTAB:
        table.names = Absolute<char>(object, entry->d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        table.gnu_hash = Absolute<uint32_t>(object, entry->d_un.d_ptr);
        break;
      case DT_HASH:
        table.old_hash = Absolute<uint32_t>(object, entry->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  return table;
}

bool IsDefinition(const SymbolTable& table, const ElfW(Sym) & symbol, const char* name) {
  return symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 0xf) == STT_FUNC &&
         EqualText(table.names + symbol.st_name, name);
}

// Searches the GNU hash section, as the dynamic linker does. The section consists of four words
// (buckets, first symbol, words of the filter, shift), the filter, the buckets and the chains.
const ElfW(Sym) * FindByGnuHash(const SymbolTable& table, const char* name) {
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const uint32_t bucket_count = table.gnu_hash[0];
  const uint32_t first_symbol = table.gnu_hash[1];
  const uint32_t filter_words = table.gnu_hash[2];
  if (bucket_count == 0) return nullptr;
  const uint32_t* buckets = table.gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
  const uint32_t* chains = buckets + bucket_count;
  uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const uint32_t chain = chains[index - first_symbol];
    if ((chain | 1) == (hash | 1) && IsDefinition(table, table.symbols[index], name)) {
      return &table.symbols[index];
    }
    if ((chain & 1) != 0) return nullptr;
  }
}

// Searches the hash section of the System V ABI. Libraries linked with --hash-style=sysv have such
// a section.
const ElfW(Sym) * FindByOldHash(const SymbolTable& table, const char* name) {
  uint32_t hash = 0;
  for (const char* c = name; *c != '\0'; ++c) {
    hash = (hash << 4) + static_cast<unsigned char>(*c);
    const uint32_t top = hash & 0xf0000000u;
    hash = (hash ^ (top >> 24)) & ~top;
  }
  const uint32_t bucket_count = table.old_hash[0];
  if (bucket_count == 0) return nullptr;
  const uint32_t* buckets = table.old_hash + 2;
  const uint32_t* chains = buckets + bucket_count;
  for (uint32_t index = buckets[hash % bucket_count]; index != STN_UNDEF; index = chains[index]) {
    if (IsDefinition(table, table.symbols[index], name)) return &table.symbols[index];
  }
  return nullptr;
}

void* DefinitionIn(const link_map* object, const char* name) {
  const SymbolTable table = ReadDynamicSection(object);
  if (table.symbols == nullptr || table.names == nullptr) return nullptr;
  const ElfW(Sym)* symbol = nullptr;
  if (table.gnu_hash != nullptr) {
    symbol = FindByGnuHash(table, name);
  } else if (table.old_hash != nullptr) {
    symbol = FindByOldHash(table, name);
  }
  if (symbol == nullptr) return nullptr;
  return reinterpret_cast<void*>(object->l_addr + symbol->st_value);
}

}  // namespace

// The linker defines this symbol in every library, at the address where the library's file begins
// in memory.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

void* NextDefinition(const char* name) {
  const ElfW(Addr) own_base = reinterpret_cast<ElfW(Addr)>(&__ehdr_start);
  bool passed_own = false;
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    if (!passed_own) {
      passed_own = object->l_addr == own_base;
      continue;
    }
    if (void* definition = DefinitionIn(object, name)) return definition;
  }
  return nullptr;
}

void* LibcDefinition(const char* name) {
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    const char* file = BaseName(object->l_name);
    if (!StartsWith(file, "libc.so.") && !StartsWith(file, "libdl.so.")) continue;
    if (void* definition = DefinitionIn(object, name)) return definition;
  }
  return nullptr;
}

const char* FindPreloaded(const char* file, const char* symbol) {
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    const char* name = BaseName(object->l_name);
    if (StartsWith(name, "libc.so.")) return nullptr;
    if (EqualText(name, file) && DefinitionIn(object, symbol) != nullptr) return object->l_name;
  }
  return nullptr;
}

namespace {

// A callback for dl_iterate_phdr, which takes the dynamic linker's lock. Returns 1, which ends the
// iteration, if the object needs the file.
int NeedsFile(dl_phdr_info* object, size_t, void* file) {
  link_map map = {};  // only the fields that ReadDynamicSection reads
  map.l_addr = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    map.l_ld = reinterpret_cast<ElfW(Dyn)*>(object->dlpi_addr + header.p_vaddr);
  }
  const char* names = ReadDynamicSection(&map).names;
  if (names == nullptr) return 0;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    if (EqualText(names + entry->d_un.d_val, static_cast<const char*>(file))) return 1;
  }
  return 0;
}

}  // namespace

bool IsNeeded(const char* file) { return dl_iterate_phdr(NeedsFile, const_cast<char*>(file)) != 0; }

bool IsDriverPath(const char* path) {
  const char* file = BaseName(path);
  if (!StartsWith(file, "libcuda.so")) return false;
  return file[10] == '\0' || file[10] == '.';
}

bool IsDriverLoadedAnywhere() {
  if (&_r_debug == nullptr) return false;
  // The object is larger than its declaration says. So the pointer is volatile, which hides the
  // declaration from the compiler's bounds checks.
  const r_debug* volatile space = &_r_debug;
  while (space != nullptr) {
    for (const link_map* object = space->r_map; object != nullptr; object = object->l_next) {
      if (IsDriverPath(object->l_name)) return true;
    }
#if __GLIBC_PREREQ(2, 35)
    if (space->r_version < 2) return false;
    const auto* next = reinterpret_cast<const r_debug_extended*>(space)->r_next;
    space = next == nullptr ? nullptr : &next->base;
#else
    return false;
#endif
  }
  return false;
}

}  // namespace vramstow
