#include "tools/symbols/symbolizer.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/demangle.h"

namespace vramstow {
namespace {

// Debug files are searched in the folders where distributions put them, and never on a network.
char g_debug_path[] = "+:.debug:/usr/lib/debug";
char* g_debug_path_pointer = g_debug_path;

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo =
        [](Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base, const char* file,
           const char* link, GElf_Word checksum, char** debug_file) {
          const int fd = dwfl_build_id_find_debuginfo(module, user, name, base, file, link,
                                                      checksum, debug_file);
          if (fd >= 0 || link == nullptr) return fd;
          return dwfl_standard_find_debuginfo(module, user, name, base, file, link, checksum,
                                              debug_file);
        },
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &g_debug_path_pointer,
};

std::string BuildIdOf(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr place = 0;
  const int size = dwfl_module_build_id(module, &bytes, &place);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// Returns the name of a function from its entry in the debug information. The mangled name is
// preferred, because it also contains the parameters.
std::string NameOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned which : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(die, which, &attribute) == nullptr) continue;
    const char* const name = dwarf_formstring(&attribute);
    if (name != nullptr) return Demangled(name);
  }
  const char* const name = dwarf_diename(die);
  return name != nullptr ? name : "";
}

}  // namespace

// The file of one library, with its symbols and its debug information.
class Symbolizer::File {
 public:
  explicit File(const TraceLibrary& library) { Open(library); }
  ~File() {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::vector<SourcePlace>& Resolve(uint64_t offset) {
    const auto known = places_.find(offset);
    if (known != places_.end()) return known->second;
    std::vector<SourcePlace>& places = places_[offset];
    if (module_ != nullptr && offset > 0) LookUp(start_ + offset - 1, &places);
    return places;
  }
  const std::string& failure_reason() const { return failure_reason_; }

 private:
  void Open(const TraceLibrary& library);
  void LookUp(Dwarf_Addr address, std::vector<SourcePlace>* places);
  void AddInlined(Dwarf_Addr address, std::vector<SourcePlace>* places);
  const char* SymbolAt(Dwarf_Addr address);
  void ReadSymbols();

  // A function that the library's symbol table lists.
  struct Function {
    Dwarf_Addr begin;
    Dwarf_Addr end;
    int rank;  // order of names for one address: global, weak, local
    const char* name;
  };
  std::vector<Function> functions_;  // by address, with the preferred name first
  bool symbols_are_read_ = false;
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr start_ = 0;
  std::string failure_reason_;
  std::unordered_map<uint64_t, std::vector<SourcePlace>> places_;
};

void Symbolizer::File::Open(const TraceLibrary& library) {
  // A trace of a stranger may name a pipe, which nobody writes to, or a device, which does
  // something when it is opened.
  struct stat about = {};
  const bool is_there = stat(library.path.c_str(), &about) == 0;
  if (is_there && !S_ISREG(about.st_mode)) {
    failure_reason_ = library.path + " is not a regular file.";
    return;
  }
  const int fd = is_there ? open(library.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  if (fd < 0) {
    failure_reason_ = "cannot read " + library.path + ": " + strerror(errno) + ".";
    return;
  }
  close(fd);
  dwfl_ = dwfl_begin(&kCallbacks);
  dwfl_report_begin(dwfl_);
  Dwfl_Module* const module =
      dwfl_report_offline(dwfl_, library.path.c_str(), library.path.c_str(), -1);
  dwfl_report_end(dwfl_, nullptr, nullptr);
  if (module == nullptr) {
    failure_reason_ = library.path + " is not a library or program.";
    return;
  }
  dwfl_module_info(module, nullptr, &start_, nullptr, nullptr, nullptr, nullptr, nullptr);
  GElf_Addr bias = 0;
  dwfl_module_getelf(module, &bias);  // needed before the build id is known
  if (!library.build_id.empty() && BuildIdOf(module) != library.build_id) {
    failure_reason_ =
        library.path + " is not the file that was traced (its build id is different).";
    return;
  }
  module_ = module;
}

void Symbolizer::File::LookUp(Dwarf_Addr address, std::vector<SourcePlace>* places) {
  AddInlined(address, places);
  const char* const name = SymbolAt(address);
  if (places->empty()) {
    if (name == nullptr) return;
    places->push_back({Demangled(name), "", 0, false});
  } else if (name != nullptr && places->back().function.empty()) {
    places->back().function = Demangled(name);
  }
  Dwfl_Line* const line = dwfl_module_getsrc(module_, address);
  if (line == nullptr) return;
  int number = 0;
  const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  if (file == nullptr) return;
  places->front().file = file;
  places->front().line = number;
}

// Returns the name of the symbol at an address. dwfl_module_addrinfo searches the whole table for
// each answer, and large libraries have hundreds of thousands of symbols. So it is called only if
// no function with a size covers the address.
const char* Symbolizer::File::SymbolAt(Dwarf_Addr address) {
  if (!symbols_are_read_) ReadSymbols();
  symbols_are_read_ = true;
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  if (after != functions_.begin()) {
    const Dwarf_Addr begin = std::prev(after)->begin;
    for (auto it = std::ranges::lower_bound(functions_, begin, {}, &Function::begin); it != after;
         ++it) {
      if (address < it->end) return it->name;
    }
  }
  GElf_Off offset = 0;
  GElf_Sym symbol;
  return dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
}

void Symbolizer::File::ReadSymbols() {
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* const name =
        dwfl_module_getsym_info(module_, i, &symbol, &address, &section, nullptr, nullptr);
    const int type = GELF_ST_TYPE(symbol.st_info);
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (name == nullptr || !is_function || symbol.st_size == 0 || section == SHN_UNDEF) continue;
    const int binding = GELF_ST_BIND(symbol.st_info);
    const int rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    functions_.push_back({address, address + symbol.st_size, rank, name});
  }
  std::ranges::stable_sort(functions_, [](const Function& a, const Function& b) {
    return std::pair(a.begin, a.rank) < std::pair(b.begin, b.rank);
  });
}

// Adds all functions around the address that the debug information has, from the innermost one
// outwards. Each function but the innermost has the source line at which it calls the next inner
// one.
void Symbolizer::File::AddInlined(Dwarf_Addr address, std::vector<SourcePlace>* places) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = dwfl_module_addrdie(module_, address, &bias);
  if (unit == nullptr) return;
  Dwarf_Die* scopes = nullptr;
  int count = dwarf_getscopes(unit, address - bias, &scopes);
  if (count <= 0) return;
  // If the function is inlined, these scopes surround its definition. The scopes that surround the
  // call are needed instead.
  Dwarf_Die innermost = scopes[0];
  free(scopes);
  scopes = nullptr;
  count = dwarf_getscopes_die(&innermost, &scopes);
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  dwarf_getsrcfiles(unit, &files, &file_count);
  std::string file;
  int line = 0;
  for (int i = 0; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    const bool is_inlined = tag == DW_TAG_inlined_subroutine;
    places->push_back({NameOf(&scopes[i]), file, line, is_inlined});
    if (!is_inlined) break;
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    line = 0;
    file.clear();
    if (dwarf_attr(&scopes[i], DW_AT_call_line, &attribute) != nullptr &&
        dwarf_formudata(&attribute, &number) == 0) {
      line = static_cast<int>(number);
    }
    if (dwarf_attr(&scopes[i], DW_AT_call_file, &attribute) != nullptr &&
        dwarf_formudata(&attribute, &number) == 0 && files != nullptr && number < file_count) {
      const char* const name = dwarf_filesrc(files, number, nullptr, nullptr);
      if (name != nullptr) file = name;
    }
  }
  free(scopes);
}

struct Symbolizer::Impl {
  std::map<std::pair<std::string, std::string>, std::unique_ptr<File>> files;
};

Symbolizer::Symbolizer() : impl_(std::make_unique<Impl>()) {}
Symbolizer::~Symbolizer() = default;

Symbolizer::File& Symbolizer::FileOf(const TraceLibrary& library) {
  std::unique_ptr<File>& file = impl_->files[{library.path, library.build_id}];
  if (file == nullptr) file = std::make_unique<File>(library);
  return *file;
}

const std::vector<SourcePlace>& Symbolizer::Resolve(const TraceLibrary& library, uint64_t offset) {
  return FileOf(library).Resolve(offset);
}

std::string_view Symbolizer::FailureReason(const TraceLibrary& library) {
  return FileOf(library).failure_reason();
}

}  // namespace vramstow
