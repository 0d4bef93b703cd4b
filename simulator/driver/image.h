// What the driver can know of a module's image without running it: its kernels, their parameters
// and limits, the sizes of its variables.
//
// Three forms are understood: PTX text, a cubin (an ELF file of NVIDIA's machine), and a fat binary
// that holds either, for several cards. Of these that one counts which the card would choose: the
// machine code for the compute capability next to its own, or else the PTX for the highest. What
// cannot run on the card is refused (image_target.h). Headers, symbols and the attribute records of
// sections named .nv.info are read; instructions are not, but PTX is kept (simulator/kernels/ptx).
// A compressed member of a fat binary is not opened, but its header says for which card it is: of
// such an image nothing else is known, every kernel name exists in it and variables have the size
// that the caller of the runtime declared, or 4 KiB.
//
// Images come as an address without a size, so everything is read through a copy that fails where
// no memory is, and within the sizes that the image's own headers claim.
//
// Sources: the ELF specification; the flags of an ELF file for CUDA as LLVM's headers name them;
// the PTX ISA; the layout of fat binaries and of .nv.info as public tools that list them
// (cuobjdump's output, open-source readers) show it.
//
// Ownership: Image owns its tables. Threads: a parsed Image is immutable. Errors: ImageError.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IMAGE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/driver/image_target.h"

namespace vramstow::simulator {

struct KernelParameter {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct KernelImage {
  std::vector<KernelParameter> parameters;
  bool parameters_known = false;
  uint32_t max_threads = 0;   // per block; 0: not said
  uint32_t shared_bytes = 0;  // static
  uint32_t registers = 0;     // 0: not said
  uint32_t local_bytes = 0;   // of each thread
  uint32_t const_bytes = 0;   // constants of the program
};

struct Image {
  bool complete = false;  // kernels and variables are all there are
  std::map<std::string, KernelImage> kernels;
  std::map<std::string, uint64_t> variables;  // bytes
  std::string ptx;                            // the program as PTX, if the image has it
  bool is_code = false;                       // what was chosen is machine code, not PTX
  Architecture architecture;                  // for which it is
  uint32_t ptx_version = 0;                   // of PTX: the newest of its texts, 80
};

enum class ImageError : uint8_t {
  kNone,
  kInvalidImage,
  kInvalidPtx,
  kNoBinary,        // nothing in it is for this card
  kUnsupportedPtx,  // newer than the driver
};

// The bytes of a file and a zero behind them, because PTX in a file has no end of its own. False:
// there is no such file.
bool ReadImageFile(const char* path, std::vector<char>* bytes);

// `size` SIZE_MAX: not known.
ImageError ParseImage(const void* bytes, size_t size, const ImageTarget& target, Image* image);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IMAGE_H_
