#include "tracer/capture/symbol_search.h"

#include <link.h>

#include <cstring>

namespace vramstow {
namespace {

// The symbol tables of one library.
struct Tables {
  uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hashes = nullptr;
};

// Returns the hash of a name as the GNU hash table uses it (Bernstein's hash function).
uint32_t NameHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

Tables TablesOf(const dl_phdr_info& library) {
  Tables tables;
  tables.base = library.dlpi_addr;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    }
  }
  if (entry == nullptr) return tables;
  for (; entry->d_tag != DT_NULL; ++entry) {
    // The linker has made these addresses absolute, except in the kernel's own library (the vdso).
    uintptr_t place = entry->d_un.d_ptr;
    if (place < tables.base) place += tables.base;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(place);
    if (entry->d_tag == DT_STRTAB) tables.names = reinterpret_cast<const char*>(place);
    if (entry->d_tag == DT_GNU_HASH) tables.hashes = reinterpret_cast<const uint32_t*>(place);
  }
  return tables;
}

void* Find(const Tables& tables, const char* name) {
  if (tables.symbols == nullptr || tables.names == nullptr || tables.hashes == nullptr) {
    return nullptr;
  }
  const uint32_t bucket_count = tables.hashes[0];
  const uint32_t first_symbol = tables.hashes[1];
  const uint32_t filter_words = tables.hashes[2];  // in machine words
  if (bucket_count == 0) return nullptr;
  const uint32_t* const buckets = tables.hashes + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
  const uint32_t* const chains = buckets + bucket_count;
  const uint32_t hash = NameHash(name);
  for (uint32_t i = buckets[hash % bucket_count]; i >= first_symbol && i != 0; ++i) {
    const uint32_t other = chains[i - first_symbol];
    const ElfW(Sym)& symbol = tables.symbols[i];
    if ((other | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(tables.names + symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(tables.base + symbol.st_value);
    }
    if ((other & 1) != 0) break;
  }
  return nullptr;
}

struct Search {
  const char* const* names;
  void** found;
  size_t count;
};

int SearchOne(dl_phdr_info* library, size_t, void* argument) {
  const Search& search = *static_cast<const Search*>(argument);
  const Tables tables = TablesOf(*library);
  search.found[0] = Find(tables, search.names[0]);
  if (search.found[0] == nullptr) return 0;
  for (size_t i = 1; i < search.count; ++i) search.found[i] = Find(tables, search.names[i]);
  return 1;
}

}  // namespace

bool FindSymbols(const char* const* names, void** found, size_t count) {
  Search search = {names, found, count};
  return dl_iterate_phdr(SearchOne, &search) == 1;
}

LibraryCounts CountLibraries() {
  LibraryCounts counts;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* argument) {
        auto* const to = static_cast<LibraryCounts*>(argument);
        to->loaded = library->dlpi_adds;
        to->unloaded = library->dlpi_subs;
        return 1;
      },
      &counts);
  return counts;
}

}  // namespace vramstow
