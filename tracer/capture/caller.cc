#include "tracer/capture/caller.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <cstring>

#include "base/rounding.h"
#include "tracer/capture/find_object.h"

namespace vramstow {
namespace {

constexpr int kMaxForeignFrames = 6;
constexpr int kMaxFrames = 16;

// The mapping of a library that the dynamic linker finds for an address.
struct Mapping {
  const link_map* object;
  uintptr_t start;
  uint64_t identity;  // never 0 or 1
};

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

bool FindMapping(const void* address, Mapping* mapping) {
  if (CanFindObjects()) {
    FoundObject found;
    if (!FindObject(address, &found)) return false;
    mapping->object = found.object;
    mapping->start = found.begin;
    uint64_t identity = Mix(mapping->start, found.end);
    identity = Mix(identity, reinterpret_cast<uintptr_t>(found.unwind_table));
    identity = Mix(identity, reinterpret_cast<uintptr_t>(found.object->l_name));
    mapping->identity = identity | 2;
    return true;
  }
  Dl_info info;
  link_map* object = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 ||
      object == nullptr) {
    return false;
  }
  mapping->object = object;
  mapping->start = reinterpret_cast<uintptr_t>(info.dli_fbase);
  uint64_t identity = Mix(mapping->start, reinterpret_cast<uintptr_t>(object->l_ld));
  identity = Mix(identity, reinterpret_cast<uintptr_t>(object->l_name));
  mapping->identity = identity | 2;
  return true;
}

bool StartsWith(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

CallerRole RoleOf(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  if (StartsWith(file, "libvramstow")) return CallerRole::kVramstow;
  if (StartsWith(file, "libcuda.so")) return CallerRole::kDriver;
  if (StartsWith(file, "libcudart.") || StartsWith(file, "libcudart-")) return CallerRole::kRuntime;
  return CallerRole::kApplication;
}

// Reads the GNU build id from the notes of the mapped file.
void ReadBuildId(const Mapping& mapping, char (&text)[kMaxBuildId]) {
  text[0] = '\0';
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(mapping.start);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  // The program headers directly follow the file header in every library that linkers make.
  // Elsewhere they might not be mapped.
  if (header->e_phoff != sizeof(ElfW(Ehdr)) || header->e_phentsize != sizeof(ElfW(Phdr))) return;
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(mapping.start + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const char* note = reinterpret_cast<const char*>(mapping.object->l_addr + segments[i].p_vaddr);
    const char* end = note + segments[i].p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      const auto* head = reinterpret_cast<const ElfW(Nhdr)*>(note);
      const char* name = note + sizeof *head;
      const char* data = name + RoundUp(head->n_namesz, 4);
      if (data + head->n_descsz > end) return;
      if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        size_t length = 0;
        for (size_t byte = 0; byte < head->n_descsz && length + 3 <= kMaxBuildId; ++byte) {
          constexpr char kDigits[] = "0123456789abcdef";
          text[length++] = kDigits[static_cast<unsigned char>(data[byte]) >> 4];
          text[length++] = kDigits[static_cast<unsigned char>(data[byte]) & 15];
        }
        text[length] = '\0';
        return;
      }
      note = data + RoundUp(head->n_descsz, 4);
    }
  }
}

// True if the object describes the mapping. Another library may have been loaded in the place of
// the one that was described, with its name in the same memory.
bool Describes(const CallerObject& object, const Mapping& mapping) {
  const char* const name = mapping.object->l_name;
  if (name == nullptr || name[0] == '\0') return true;
  // strcmp is faster; only a path that was cut needs the other function.
  return std::strcmp(name, object.path) == 0 ||
         std::strncmp(name, object.path, sizeof object.path - 1) == 0;
}

void Describe(const Mapping& mapping, CallerObject* object) {
  const char* name = mapping.object->l_name;
  if (name == nullptr || name[0] == '\0') {
    const ssize_t length = readlink("/proc/self/exe", object->path, sizeof object->path - 1);
    object->path[length < 0 ? 0 : length] = '\0';
    object->role = CallerRole::kApplication;
  } else {
    std::strncpy(object->path, name, sizeof object->path - 1);
    object->path[sizeof object->path - 1] = '\0';
    object->role = RoleOf(object->path);
  }
  object->base = mapping.start;
  ReadBuildId(mapping, object->build_id);
}

// Returns an address inside the call instruction. The return address itself may be the first byte
// of the next function.
const void* CallBefore(uintptr_t return_address) {
  return reinterpret_cast<const void*>(return_address - 1);
}

struct Walk {
  CallerTable* table;
  const CallerObject* last;
  int frames;
  int foreign_frames;
};

_Unwind_Reason_Code VisitFrame(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  const uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || ++walk->frames > kMaxFrames) return _URC_END_OF_STACK;
  const CallerObject* object = walk->table->Find(CallBefore(address));
  if (object == nullptr) return _URC_END_OF_STACK;
  if (object->role == CallerRole::kVramstow) return _URC_NO_REASON;
  walk->last = object;
  if (object->role == CallerRole::kApplication) return _URC_END_OF_STACK;
  return ++walk->foreign_frames < kMaxForeignFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

const CallerObject* CallerTable::Find(const void* address) {
  Mapping mapping;
  if (!FindMapping(address, &mapping)) return nullptr;
  size_t place = mapping.identity % kMaxCallerObjects;
  for (size_t step = 0; step < kMaxCallerObjects; ++step) {
    Slot& slot = slots_[place];
    uint64_t key = slot.key.load(std::memory_order_acquire);
    if (key == mapping.identity && Describes(slot.object, mapping)) return &slot.object;
    if (key == 0 && slot.key.compare_exchange_strong(key, kBusy, std::memory_order_acq_rel)) {
      const uint32_t index = count_.fetch_add(1, std::memory_order_relaxed);
      slot.object.index = index;
      Describe(mapping, &slot.object);
      slot.key.store(mapping.identity, std::memory_order_release);
      order_[index].store(static_cast<uint32_t>(place) + 1, std::memory_order_release);
      return &slot.object;
    }
    // Another thread is writing this slot, perhaps for the same library. This thread does not wait,
    // because the other thread may not exist after a fork. A second entry for one library does no
    // harm.
    place = (place + 1) % kMaxCallerObjects;
  }
  return nullptr;
}

const CallerObject* CallerTable::FindDirect(const void* return_address) {
  return Find(CallBefore(reinterpret_cast<uintptr_t>(return_address)));
}

const CallerObject* CallerTable::FindCaller(const void* return_address) {
  const CallerObject* object = FindDirect(return_address);
  if (object == nullptr || object->role == CallerRole::kApplication) return object;
  Walk walk = {this, object, 0, 0};
  _Unwind_Backtrace(VisitFrame, &walk);
  return walk.last;
}

size_t CallerTable::size() const { return count_.load(std::memory_order_acquire); }

const CallerObject* CallerTable::at(size_t index) const {
  const uint32_t place = order_[index].load(std::memory_order_acquire);
  return place == 0 ? nullptr : &slots_[place - 1].object;
}

}  // namespace vramstow
