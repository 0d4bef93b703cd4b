"""Mathematics of cuFFT, cuSOLVER and cuSPARSE: right values or a clear refusal.

Prints one line for each: "NAME: right", or "NAME: refused (…)". Anything else ends the job.
"""

from collections.abc import Callable

import torch

X = torch.linspace(-1, 1, 60).reshape(5, 12) ** 3
M = torch.tensor([[4.0, 1, 2], [1, 5, 3], [2, 3, 6]])


def compare(name: str, on_device: Callable[[], torch.Tensor], expected: torch.Tensor) -> None:
    found = on_device().cpu()
    assert torch.allclose(found, expected, atol=1e-4), f"{name}: {found}, not {expected}"
    print(f"{name}: right")


def attempt(name: str, call: Callable[[], object]) -> None:
    try:
        call()
        print(f"{name}: done")
    except (RuntimeError, NotImplementedError) as error:
        print(f"{name}: refused ({str(error).splitlines()[0][:60]})")


compare("fft", lambda: torch.fft.fft(X.to("cuda", torch.complex64)), torch.fft.fft(X))
compare("fft of 2 dimensions", lambda: torch.fft.rfft2(X.to("cuda")), torch.fft.rfft2(X))
# With norm="forward" the inverse FFT does not scale its result. The scaling would be a kernel of
# PyTorch's own.
compare(
    "inverse fft",
    lambda: torch.fft.ifft(X.to("cuda", torch.complex64), norm="forward"),
    torch.fft.ifft(X, norm="forward"),
)
attempt("cholesky", lambda: torch.linalg.cholesky(M.to("cuda")).cpu())
attempt("solve", lambda: torch.linalg.solve(M.to("cuda"), M[:, :1].to("cuda")).cpu())
compare("svd", lambda: torch.linalg.svd(M.to("cuda"))[1], torch.linalg.svd(M)[1])
compare("eigenvalues", lambda: torch.linalg.eigvalsh(M.to("cuda")), torch.linalg.eigvalsh(M))
compare("qr", lambda: torch.linalg.qr(M.to("cuda"))[1].abs(), torch.linalg.qr(M)[1].abs())
attempt("sparse product", lambda: torch.sparse.mm(M.to_sparse().to("cuda"), M.to("cuda")))
attempt("product of two sparse", lambda: M.to_sparse().to("cuda") @ M.to_sparse().to("cuda"))
attempt("random", lambda: torch.randn(100, device="cuda").cpu())
torch.cuda.synchronize()
print("all done")
