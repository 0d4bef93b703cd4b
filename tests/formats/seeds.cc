#include "tests/formats/seeds.h"

#include "tests/formats/pickles.h"

namespace vramstow {
namespace {

// A pickle of protocol 0, in the layout of 2023.
constexpr char kTextPickle[] =
    "(dp0\nVsegments\np1\n(lp2\n(dp3\nVaddress\np4\nI4096\nsVtotal_size\np5\nI512\nsVdevice\np6\n"
    "I0\nsVblocks\np7\n(lp8\n(dp9\nVsize\np10\nI512\nsVstate\np11\nVinactive\np12\nsVhistory\n"
    "p13\n(lp14\n(dp15\nVreal_size\np16\nL100L\nsVframes\np17\n(lp18\nsasasas.";

constexpr char kRmmLog[] =
    "Thread,Time,Action,Pointer,Size,Stream\n1,12:00:00:000001,allocate,0x10,512,0x0\n"
    "1,12:00:00:000002,free,0x10,512,0x0\n2,12:00:00.5,allocate failure,(nil),5,0x2\n";

}  // namespace

std::vector<std::string> Seeds() {
  return {FullSnapshotPickle(),
          kTextPickle,
          kRmmLog,
          "id,lower,upper,size,offset\n1,0,10,512,0\n2,5,15,512,512\n3,10,20,512,0\n",
          R"({"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
         {"cat": "cpu_op", "name": "aten::add", "pid": 3, "tid": 7, "ts": 1.2, "dur": 2.5},
         {"cat": "cpu_op", "name": "aten::empty", "pid": 3, "tid": 7, "ts": 1.4, "dur": 0.5},
         {"name": "[memory]", "ts": 1.5, "tid": 7, "args": {"Bytes": 512, "Addr": 4096,
         "Device Type": 1, "Device Id": 0, "Total Allocated": 512, "Total Reserved": 2097152}},
         {"name": "[memory]", "ts": 2.5, "args": {"Bytes": -512, "Addr": 4096, "Device Type": 1}}]})",
          R"([{"name": "a\b\u12\ud800", "x": -inf, "y": nan, "z": "C:\", "q": 1},
         {"name": "[memory]", "ts": 1, "args": {"Bytes": 512, "Addr": 4096, "Device Type": 1,
         "Total Allocated": 1024, "Total Reserved": 2097152}}])",
          "Thread,Time,Action,Pointer,Size,Stream\n1,1760000000.5,allocate,0x10,512,0x0\n"
          "1,1760000001,deallocate,0x10,512,0x0\n",
          "\n<!DOCTYPE html>\n<script>const local_files = [{\"name\": \"snapshot.pickle\", "
          "\"base64\": \"gASVEwAAAAAAAAB9lIwIc2VnbWVudHOUXZRzLg==\"}]</script>",
          "[[-1, 1, 100, 0], [-1, 1, 50, 7], [5, 2, 30, 3], [5, 4, -30, 3], [9, 4, -50, 7]]",
          "[[1, 2], [[0,1,0,0,0,0,0,0,2], [0,9,0,0,0,0,0,0,0]]]"};
}

}  // namespace vramstow
