#!/bin/sh
# Whether vramstow works here: it rehearses a training, explains its trace, and asks the doctor. No card is
# needed. The first step that fails ends it, with its exit status.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/job.py" <<'JOB'
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    loss = model(torch.randn(64, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
JOB
vramstow run --simulate=h200 --trace-dir="$folder" -- python "$folder/job.py"
# The trace has the tensors, not only the segments that PyTorch allocates.
vramstow analyze --full "$folder" >"$folder/analysis.txt"
grep -q "PyTorch's tensors" "$folder/analysis.txt"
vramstow check "$folder" --assert 'peak_allocated >= 1MiB && out_of_memory == 0'
vramstow report "$folder" -o "$folder/report.html"
test -s "$folder/report.html"
vramstow doctor --simulate=h200 --need=pool,tensors
