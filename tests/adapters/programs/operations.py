"""Common operations on small tensors, to compare the values of simulated runs with the CPU.

Each is a function of a device. It makes its inputs on the host from a fixed seed, moves them, and
returns tensors, numbers or lists of them. Its result must contain nothing random.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CASES: dict[str, Callable[[str], object]] = {}


def case(function: Callable[[str], object]) -> Callable[[str], object]:
    """Adds one operation under the function's name."""
    CASES[function.__name__] = function
    return function


def made(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Returns numbers of a normal distribution, the same on every machine."""
    generator = torch.Generator().manual_seed(1000 + seed + sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype)


def whole(*shape: int, below: int = 10, seed: int = 0, dtype: torch.dtype = torch.int64) -> Tensor:
    """Returns whole numbers from 0 on."""
    generator = torch.Generator().manual_seed(2000 + seed + sum(shape))
    return torch.randint(0, below, shape, generator=generator).to(dtype)


def with_gradients(function: Callable[..., Tensor], *inputs: Tensor, device: str) -> list[object]:
    """Returns the result of a function, and the gradient of each of its inputs."""
    leaves = [
        value.detach().to(device).requires_grad_(value.is_floating_point()) for value in inputs
    ]
    result = function(*leaves)
    first = result[0] if isinstance(result, (tuple, list)) else result
    weights = made(*first.shape).to(device=device, dtype=first.dtype) if first.dim() else 1.0
    (first * weights).sum().backward()
    return [result, [leaf.grad for leaf in leaves]]


def _add(name: str, function: Callable[[str], object]) -> None:
    assert name not in CASES, name
    CASES[name] = function


# --- One argument, each in several types and with its gradient ------------------------------------
_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "neg": torch.neg,
    "exp": torch.exp,
    "log": lambda x: torch.log(x.abs() + 0.5),
    "log1p": lambda x: torch.log1p(x.abs()),
    "sqrt": lambda x: torch.sqrt(x.abs() + 0.1),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.5),
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
    "elu": F.elu,
    "leaky_relu": F.leaky_relu,
    "hardswish": F.hardswish,
    "erf": torch.erf,
    "square": torch.square,
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 1),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "pow": lambda x: x.abs().add(0.1).pow(1.5),
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "sum_dim": lambda x: x.sum(1),
    "mean_dim": lambda x: x.mean(0),
    "prod_dim": lambda x: x.prod(1),
    "amax": lambda x: x.amax(1),
    "norm": lambda x: x.norm(dim=1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "cumsum": lambda x: torch.cumsum(x, 1),
    "cumprod": lambda x: torch.cumprod(x, 1),
    "flip": lambda x: torch.flip(x, [0, 1]),
    "roll": lambda x: torch.roll(x, 2, 1),
    "tril": torch.tril,
    "triu": lambda x: torch.triu(x, 1),
    "transpose": lambda x: x.t().contiguous(),
    "repeat": lambda x: x.repeat(2, 3),
    "expand_add": lambda x: x[:, :1].expand(-1, 4) + 1,
    "strided": lambda x: x[:, ::2] * 2,
    "cat_self": lambda x: torch.cat([x, x * 2], 1),
    "pad": lambda x: F.pad(x, (1, 2)),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "glu": lambda x: F.glu(x, -1),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(0),
}
for _name, _function in _UNARY.items():
    _add(
        f"{_name}_float32",
        lambda device, f=_function: with_gradients(f, made(4, 6), device=device),
    )
for _name in ("abs", "exp", "tanh", "gelu", "silu", "softmax", "sum_dim", "layer_norm", "cumsum"):
    for _dtype in (torch.bfloat16, torch.float16):
        _add(
            f"{_name}_{str(_dtype)[6:]}",
            lambda device, f=_UNARY[_name], t=_dtype: with_gradients(
                f, made(4, 6, dtype=t), device=device
            ),
        )
for _name in ("abs", "neg", "sum_dim", "prod_dim", "cumsum", "flip", "square", "amax", "tril"):
    _add(f"{_name}_int64", lambda device, f=_UNARY[_name]: f(whole(4, 6).to(device)))

# --- Two arguments --------------------------------------------------------------------------------
_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": lambda x, y: x / (y.abs() + 1),
    "add_alpha": lambda x, y: torch.add(x, y, alpha=0.5),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": lambda x, y: torch.where(x > y, x, y),
    "broadcast": lambda x, y: x[:, None, :] * y[None, :, :],
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.1),
    "atan2": torch.atan2,
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "huber": F.huber_loss,
    "smooth_l1": F.smooth_l1_loss,
    "cosine_similarity": lambda x, y: F.cosine_similarity(x, y, dim=1),
    "cdist": lambda x, y: torch.cdist(x, y),
    "mm": lambda x, y: x @ y.t(),
    "outer": lambda x, y: torch.outer(x[0], y[1]),
    "stack": lambda x, y: torch.stack([x, y], 1),
    "bce_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),
    "kl_div": lambda x, y: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean"),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
    "copysign": torch.copysign,
}
for _name, _function in _BINARY.items():
    _add(
        f"{_name}_two",
        lambda device, f=_function: with_gradients(
            f, made(4, 6), made(4, 6, seed=1), device=device
        ),
    )
for _name in ("add", "mul", "mm", "mse", "where"):
    for _dtype in (torch.bfloat16, torch.float16):
        _add(
            f"{_name}_two_{str(_dtype)[6:]}",
            lambda device, f=_BINARY[_name], t=_dtype: with_gradients(
                f, made(4, 6, dtype=t), made(4, 6, seed=1, dtype=t), device=device
            ),
        )


# --- Comparisons, logic, selection, sorting -------------------------------------------------------
def _on_values(name: str, function: Callable[[Tensor], object]) -> None:
    _add(name, lambda device: function(made(5, 7).to(device)))


def _on_whole(name: str, function: Callable[[Tensor], object]) -> None:
    _add(name, lambda device: function(whole(5, 7).to(device)))


for _name, _function in {
    "greater": lambda x: x > 0,
    "less_equal": lambda x: x <= 0.5,
    "equal_elements": lambda x: x == x.clone(),
    "isnan": lambda x: torch.isnan(x / torch.zeros_like(x)),
    "isinf": lambda x: torch.isinf(x / torch.zeros_like(x)),
    "isfinite_all": lambda x: torch.isfinite(x).all().item(),
    "any_dim": lambda x: (x > 1).any(1),
    "all_dim": lambda x: (x > -3).all(0),
    "logical_and": lambda x: (x > 0) & (x < 1),
    "logical_not": lambda x: ~(x > 0),
    "nonzero": lambda x: (x > 0).nonzero(),
    "nonzero_tuple": lambda x: (x > 0).nonzero(as_tuple=True),
    "mask_select": lambda x: x[x > 0],
    "masked_select": lambda x: torch.masked_select(x, x > 0.3),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1.0),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, torch.arange(35.0, device=x.device)),
    "mask_assign": lambda x: x.clone().index_put_((x > 0,), torch.tensor(9.0, device=x.device)),
    "where_one": lambda x: torch.where(x > 0),
    "sort": lambda x: torch.sort(x, 1),
    "sort_descending": lambda x: torch.sort(x, 0, descending=True),
    "argsort": lambda x: x.argsort(1),
    "topk": lambda x: torch.topk(x, 3, 1),
    "kthvalue": lambda x: torch.kthvalue(x, 3, 1),
    "median": lambda x: torch.median(x, 1),
    "median_all": lambda x: torch.median(x),
    "mode": lambda x: torch.mode((x * 2).round(), 1)[0],
    "argmax": lambda x: x.argmax(1),
    "argmin_all": lambda x: x.argmin(),
    "max_dim": lambda x: x.max(1),
    "min_all": lambda x: x.min(),
    "aminmax": lambda x: torch.aminmax(x),
    "cummax": lambda x: torch.cummax(x, 1),
    "logcumsumexp": lambda x: torch.logcumsumexp(x, 1),
    "histc": lambda x: torch.histc(x, 8, -2, 2),
    "bucketize": lambda x: torch.bucketize(x, torch.linspace(-2, 2, 5, device=x.device)),
    "searchsorted": lambda x: torch.searchsorted(x.sort(1)[0], x),
    "quantile": lambda x: torch.quantile(x, 0.3, dim=1),
    "diff": lambda x: torch.diff(x, dim=1),
    "trace": lambda x: torch.trace(x),
    "diag": lambda x: torch.diag(x[0]),
    "rot90": lambda x: torch.rot90(x, 1, [0, 1]),
    "take_along": lambda x: torch.take_along_dim(x, x.argsort(1), 1),
    "isin": lambda x: torch.isin((x * 2).round(), torch.tensor([0.0, 1.0], device=x.device)),
    "count_nonzero": lambda x: torch.count_nonzero(x > 0, 1),
    "tolist": lambda x: x.round().tolist(),
    "item": lambda x: x[1, 2].item(),
    "bool_value": lambda x: bool((x.sum() > 1000).item()),
    "print": lambda x: repr(x.round()).replace(", device='cuda:0'", ""),
    "equal": lambda x: torch.equal(x, x.clone()),
    "allclose": lambda x: torch.allclose(x, x + 1e-9),
    "to_int": lambda x: (x * 3).to(torch.int32),
    "to_bool": lambda x: x.to(torch.bool),
    "to_double": lambda x: x.double() * 2,
    "nan_to_num": lambda x: torch.nan_to_num(x / torch.zeros_like(x)),
    "fmod": lambda x: torch.fmod(x, 0.7),
    "remainder": lambda x: torch.remainder(x, 0.7),
    "floor_divide": lambda x: torch.floor_divide(x, 0.7),
    "in_place": lambda x: x.clone().add_(1).mul_(2).sub_(0.5).div_(3).clamp_(-1, 1),
    "in_place_view": lambda x: (y := x.clone(), y[1].fill_(7), y[:, 2].zero_(), y)[-1],
    "in_place_strided": lambda x: (y := x.clone(), y[:, ::2].mul_(3), y.t()[0].add_(1), y)[-1],
    "addmm_in_place": lambda x: x[:, :5].clone().addmm_(x, x.t(), beta=0.5),
    "fill_diagonal": lambda x: x.clone().fill_diagonal_(0),
    "index_row": lambda x: x[torch.tensor([0, 3], device=x.device)],
    "index_two": lambda x: x[
        torch.tensor([0, 3], device=x.device), torch.tensor([1, 2], device=x.device)
    ],
    "index_copy": lambda x: x.index_copy(
        0, torch.tensor([0, 2], device=x.device), torch.ones(2, 7, device=x.device)
    ),
    "index_fill": lambda x: x.index_fill(1, torch.tensor([0, 2], device=x.device), 4.0),
    "svd_values": lambda x: torch.linalg.svdvals(x),
    "svd_values_by_driver": lambda x: torch.linalg.svdvals(
        x, driver="gesvdj" if x.is_cuda else None
    ),
    "inverse": lambda x: torch.linalg.inv(x @ x.t() + torch.eye(5, device=x.device)),
    "solve": lambda x: torch.linalg.solve(x @ x.t() + torch.eye(5, device=x.device), x),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.t() + torch.eye(5, device=x.device)),
    "determinant": lambda x: torch.linalg.det(x @ x.t() + torch.eye(5, device=x.device)),
    "svd": lambda x: torch.linalg.svd(x, full_matrices=False)[0].abs(),
    "svd_by_driver": lambda x: torch.linalg.svd(
        x, full_matrices=False, driver="gesvd" if x.is_cuda else None
    )[0].abs(),
    "svd_batch": lambda x: torch.linalg.svd(torch.stack([x, x * 2]))[1],
    "svd_complex": lambda x: torch.linalg.svdvals(torch.complex(x, x * 2)),
    "pseudo_inverse": lambda x: torch.linalg.pinv(x),
    "matrix_rank": lambda x: torch.linalg.matrix_rank(x),
    "qr": lambda x: torch.linalg.qr(x)[1].abs(),
    "qr_complete": lambda x: torch.linalg.qr(x, mode="complete")[0].abs(),
    "least_squares": lambda x: torch.linalg.lstsq(x.t(), x.t()[:, :2])[0],
    "eigh": lambda x: torch.linalg.eigvalsh(x @ x.t()),
    "eigh_vectors": lambda x: torch.linalg.eigh(x @ x.t())[1].abs(),
    "eigenvalues": lambda x: torch.linalg.eigvals(x[:, :5]).abs().sort()[0],
    "ldl": lambda x: torch.linalg.ldl_factor(x @ x.t())[0],
    "fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "rfft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x), n=7),
    "complex": lambda x: torch.view_as_real(torch.complex(x, x * 2) * (1 + 2j)),
    "complex_conj": lambda x: torch.view_as_real(torch.complex(x, x * 2).conj().resolve_conj()),
    "vander": lambda x: torch.vander(x[0]),
    "cross": lambda x: torch.linalg.cross(x[:, :3], x[:, 3:6]),
    "kron": lambda x: torch.kron(x[:2, :2], x[2:4, 2:4]),
    "matrix_power": lambda x: torch.matrix_power(x[:, :5], 3),
}.items():
    _on_values(_name, _function)
for _name, _function in {
    "unique": lambda x: torch.unique(x),
    "unique_counts": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.flatten().sort()[0]),
    "unique_rows": lambda x: torch.unique(x % 2, dim=0),
    "bincount": lambda x: torch.bincount(x.flatten()),
    "bincount_weights": lambda x: torch.bincount(x.flatten(), x.flatten().float()),
    "one_hot": lambda x: F.one_hot(x, 10),
    "one_hot_sized": lambda x: F.one_hot(x),
    "embedding": lambda x: F.embedding(x, made(10, 4).to(x.device)),
    "gather": lambda x: torch.gather(made(5, 10).to(x.device), 1, x),
    "scatter": lambda x: torch.zeros(5, 10, device=x.device).scatter(1, x[:, :1], 2.0),
    "scatter_add": lambda x: torch.zeros(5, 10, device=x.device).scatter_add(1, x, x.float()),
    "scatter_reduce": lambda x: torch.zeros(5, 10, device=x.device).scatter_reduce(
        1, x, x.float(), "amax"
    ),
    "index_add": lambda x: torch.zeros(10, 7, device=x.device).index_add(0, x[:, 0], x.float()),
    "index_select": lambda x: made(10, 3).to(x.device).index_select(0, x[0]),
    "repeat_interleave": lambda x: torch.repeat_interleave(x[0], x[1] % 3),
    "repeat_interleave_all": lambda x: x.repeat_interleave(2, 1),
    "bitwise": lambda x: (x & 3) | (x ^ 1),
    "shift": lambda x: (x << 2) >> 1,
    "floor_division": lambda x: x // 3,
    "modulo": lambda x: x % 4,
    "arange_like": lambda x: torch.arange(3, 20, 4, device=x.device),
    "linspace": lambda x: torch.linspace(0, 1, 7, device=x.device),
    "eye": lambda x: torch.eye(4, device=x.device),
    "full": lambda x: torch.full((3, 2), 7, device=x.device),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="ij"),
    "tril_indices": lambda x: torch.tril_indices(4, 4, device=x.device),
    "combinations": lambda x: torch.combinations(x[0]),
    "cartesian": lambda x: torch.cartesian_prod(x[0][:3], x[1][:2]),
    "split_sizes": lambda x: [part.sum() for part in x.split([2, 3], 0)],
    "max_item": lambda x: x.max().item(),
    "int_mean": lambda x: x.float().mean(),
    "tensor_split": lambda x: torch.tensor_split(x, 3, 1)[1],
    "nested_index": lambda x: x[x[0] % 5][:, x[1] % 7],
}.items():
    _on_whole(_name, _function)


# --- Layers, with gradients -----------------------------------------------------------------------
def _layer(name: str, make: Callable[[], nn.Module], *shape: int, train: bool = True) -> None:
    def run(device: str) -> list[object]:
        torch.manual_seed(3)
        layer = make().to(device).train(train)
        x = made(*shape).to(device).requires_grad_()
        result = layer(x)
        if isinstance(result, tuple):
            result = result[0]
        (result * made(*result.shape).to(device)).sum().backward()
        return [result, x.grad, [p.grad for p in layer.parameters()], list(layer.buffers())]

    _add(name, run)


_layer("linear", lambda: nn.Linear(6, 5), 4, 6)
_layer("linear_three", lambda: nn.Linear(6, 5), 2, 4, 6)
_layer("bilinear", lambda: nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 2)), 4, 6)
_layer("conv1d", lambda: nn.Conv1d(3, 4, 3, padding=1), 2, 3, 9)
_layer("conv2d", lambda: nn.Conv2d(3, 4, 3, padding=1), 2, 3, 8, 8)
_layer("conv2d_stride", lambda: nn.Conv2d(3, 4, 3, stride=2, bias=False), 2, 3, 9, 9)
_layer("conv2d_groups", lambda: nn.Conv2d(4, 4, 3, groups=4), 2, 4, 6, 6)
_layer("conv2d_dilated", lambda: nn.Conv2d(3, 4, 3, dilation=2), 2, 3, 9, 9)
_layer("conv3d", lambda: nn.Conv3d(2, 3, 2), 1, 2, 4, 4, 4)
_layer("conv_transpose2d", lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), 2, 3, 4, 4)
_layer("batch_norm1d", lambda: nn.BatchNorm1d(6), 5, 6)
_layer("batch_norm2d", lambda: nn.BatchNorm2d(3), 4, 3, 5, 5)
_layer("batch_norm_eval", lambda: nn.BatchNorm2d(3), 4, 3, 5, 5, train=False)
_layer("group_norm", lambda: nn.GroupNorm(2, 6), 3, 6, 4, 4)
_layer("instance_norm", lambda: nn.InstanceNorm2d(3, affine=True), 2, 3, 5, 5)
_layer("layer_norm_module", lambda: nn.LayerNorm(6), 4, 6)
_layer("max_pool2d", lambda: nn.MaxPool2d(2), 2, 3, 6, 6)
_layer("avg_pool2d", lambda: nn.AvgPool2d(2), 2, 3, 6, 6)
_layer("max_pool1d", lambda: nn.MaxPool1d(2), 2, 3, 6)
_layer("adaptive_avg_pool", lambda: nn.AdaptiveAvgPool2d(2), 2, 3, 5, 5)
_layer("adaptive_max_pool", lambda: nn.AdaptiveMaxPool2d(2), 2, 3, 5, 5)
_layer("upsample_nearest", lambda: nn.Upsample(scale_factor=2), 1, 2, 3, 3)
_layer("upsample_bilinear", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), 1, 2, 3, 3)
_layer("upsample_bicubic", lambda: nn.Upsample(scale_factor=2, mode="bicubic"), 1, 2, 3, 3)
_layer("pixel_shuffle", lambda: nn.PixelShuffle(2), 1, 4, 3, 3)
_layer("reflection_pad", lambda: nn.ReflectionPad2d(1), 1, 2, 4, 4)
_layer("replication_pad", lambda: nn.ReplicationPad2d(1), 1, 2, 4, 4)
_layer("prelu", lambda: nn.PReLU(), 4, 6)
_layer("softmax_module", lambda: nn.Softmax(-1), 4, 6)
_layer("lstm", lambda: nn.LSTM(6, 5, batch_first=True), 2, 4, 6)
_layer("lstm_two", lambda: nn.LSTM(6, 5, num_layers=2, bidirectional=True), 4, 2, 6)
_layer("gru", lambda: nn.GRU(6, 5), 4, 2, 6)
_layer("rnn", lambda: nn.RNN(6, 5), 4, 2, 6)
_layer("lstm_cell", lambda: nn.LSTMCell(6, 5), 3, 6)
_layer("gru_cell", lambda: nn.GRUCell(6, 5), 3, 6)
_layer("unfold", lambda: nn.Unfold(2), 1, 2, 4, 4)
_layer("fold", lambda: nn.Fold((4, 4), 2), 1, 8, 9)
_layer(
    "transformer_layer",
    lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
    2,
    5,
    8,
)
_layer(
    "transformer_layer_eval",
    lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
    2,
    5,
    8,
    train=False,
)
if hasattr(nn, "RMSNorm"):
    _layer("rms_norm", lambda: nn.RMSNorm(6), 4, 6)


# --- Attention, in each of its forms --------------------------------------------------------------
def _attention(dtype: torch.dtype, **options: object) -> Callable[[str], object]:
    def run(device: str) -> list[object]:
        values = [made(2, 2, 8, 16, dtype=dtype, seed=i) for i in range(3)]
        return with_gradients(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options),
            *values,
            device=device,
        )

    return run


for _dtype in (torch.float32, torch.bfloat16, torch.float16):
    _add(f"attention_{str(_dtype)[6:]}", _attention(_dtype))
    _add(f"attention_causal_{str(_dtype)[6:]}", _attention(_dtype, is_causal=True))


@case
def attention_mask(device: str) -> object:
    mask = (made(8, 8) > -0.5).to(device)
    mask[:, 0] = True
    values = [made(2, 2, 8, 16, seed=i) for i in range(3)]
    return with_gradients(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        *values,
        device=device,
    )


@case
def multihead_attention(device: str) -> object:
    torch.manual_seed(1)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).to(device)
    x = made(2, 5, 8).to(device).requires_grad_()
    result, weights = layer(x, x, x)
    result.sum().backward()
    return [result, weights, x.grad]


# --- Losses with targets --------------------------------------------------------------------------
@case
def cross_entropy(device: str) -> object:
    target = whole(4, below=6).to(device)
    return with_gradients(lambda x: F.cross_entropy(x, target), made(4, 6), device=device)


@case
def cross_entropy_ignored(device: str) -> object:
    target = whole(4, below=6).to(device)
    target[1] = -100
    return with_gradients(
        lambda x: F.cross_entropy(x, target, label_smoothing=0.1), made(4, 6), device=device
    )


@case
def cross_entropy_bfloat16(device: str) -> object:
    target = whole(4, below=6).to(device)
    return with_gradients(
        lambda x: F.cross_entropy(x, target), made(4, 6, dtype=torch.bfloat16), device=device
    )


@case
def nll_loss_2d(device: str) -> object:
    target = whole(2, 3, 3, below=4).to(device)
    return with_gradients(
        lambda x: F.nll_loss(F.log_softmax(x, 1), target), made(2, 4, 3, 3), device=device
    )


@case
def ctc_loss(device: str) -> object:
    targets = (whole(2, 4, below=5) + 1).to(device)
    lengths = torch.tensor([8, 8])
    target_lengths = torch.tensor([4, 3])
    return F.ctc_loss(F.log_softmax(made(8, 2, 6).to(device), 2), targets, lengths, target_lengths)


@case
def triplet_loss(device: str) -> object:
    return F.triplet_margin_loss(*(made(4, 6, seed=i).to(device) for i in range(3)))


@case
def embedding_bag(device: str) -> object:
    layer = nn.EmbeddingBag(10, 4, mode="mean").to(device)
    with torch.no_grad():
        layer.weight.copy_(made(10, 4))
    layer(whole(3, 5).to(device)).sum().backward()
    return [layer(whole(3, 5).to(device)), layer.weight.grad]


@case
def embedding_gradient(device: str) -> object:
    weight = made(10, 4).to(device).requires_grad_()
    F.embedding(whole(3, 5).to(device), weight).pow(2).sum().backward()
    return weight.grad


@case
def grid_sample(device: str) -> object:
    grid = made(1, 3, 3, 2).to(device)
    return with_gradients(
        lambda x: F.grid_sample(x, grid, align_corners=False), made(1, 2, 4, 4), device=device
    )


@case
def out_argument(device: str) -> object:
    place = torch.empty(0, device=device)
    torch.add(made(3, 4).to(device), 1, out=place)
    torch.cat([place, place], out=(bigger := torch.empty(0, device=device)))
    return [place, bigger]


@case
def clip_gradients(device: str) -> object:
    p = [made(4, 6, seed=i).to(device).requires_grad_() for i in range(3)]
    sum((x * x).sum() for x in p).backward()
    total = nn.utils.clip_grad_norm_(p, 1.0)
    return [total, [x.grad for x in p]]


def _optimizer(name: str, make: Callable[..., torch.optim.Optimizer]) -> None:
    def run(device: str) -> object:
        p = [nn.Parameter(made(4, 6, seed=i).to(device)) for i in range(3)]
        optimizer = make(p)
        for _ in range(3):
            optimizer.zero_grad()
            sum((x**2).sum() for x in p).backward()
            optimizer.step()
        return p

    _add(f"optimizer_{name}", run)


_optimizer("sgd", lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01))
_optimizer("adam", lambda p: torch.optim.Adam(p, 0.1))
_optimizer("adamw", lambda p: torch.optim.AdamW(p, 0.1))
_optimizer("adamw_loop", lambda p: torch.optim.AdamW(p, 0.1, foreach=False))
_optimizer("adamw_fused", lambda p: torch.optim.AdamW(p, 0.1, fused=True))
_optimizer("rmsprop", lambda p: torch.optim.RMSprop(p, 0.1))
_optimizer("adagrad", lambda p: torch.optim.Adagrad(p, 0.1))
_optimizer("adadelta", lambda p: torch.optim.Adadelta(p))
_optimizer("nadam", lambda p: torch.optim.NAdam(p, 0.1))


@case
def grad_scaler(device: str) -> object:
    p = nn.Parameter(made(4, 6).to(device))
    optimizer = torch.optim.SGD([p], 0.1)
    scaler = torch.amp.GradScaler(device) if hasattr(torch.amp, "GradScaler") else None
    if scaler is None:
        return [p]
    scaler.scale((p * p).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return [p, scaler.get_scale()]


@case
def autocast(device: str) -> object:
    layer = nn.Linear(6, 5)
    with torch.no_grad():
        layer.weight.copy_(made(5, 6))
        layer.bias.zero_()
    layer = layer.to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        result = layer(made(4, 6).to(device))
    result.float().sum().backward()
    return [result, layer.weight.grad]


@case
def routing(device: str) -> object:
    """Routes tokens to experts, as in a mixture of experts."""
    tokens = made(12, 6).to(device)
    gates = torch.softmax(tokens @ made(6, 4).to(device), -1)
    weights, experts = gates.topk(2, -1)
    result = torch.zeros_like(tokens)
    for expert in range(4):
        rows, slot = torch.where(experts == expert)
        if rows.numel():
            result.index_add_(0, rows, tokens[rows] * weights[rows, slot, None] * (expert + 1))
    return [result, torch.bincount(experts.flatten(), minlength=4).tolist()]


@case
def early_stop(device: str) -> object:
    x = torch.tensor(100.0, device=device)
    steps = 0
    while x.item() > 1:
        x = x * 0.5
        steps += 1
    return steps


@case
def checkpointed(device: str) -> object:
    from torch.utils.checkpoint import checkpoint

    layer = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6))
    with torch.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(made(*p.shape, seed=i))
    layer = layer.to(device)
    x = made(4, 6).to(device).requires_grad_()
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    return [x.grad, [p.grad for p in layer.parameters()]]


@case
def vmapped(device: str) -> object:
    return torch.func.vmap(lambda row: (row * 2).cumsum(0))(made(4, 6).to(device))


@case
def jacobian(device: str) -> object:
    return torch.autograd.functional.jacobian(lambda x: (x**3).sum(0), made(3, 2).to(device))


@case
def stream_order(device: str) -> object:
    x = made(4, 6).to(device)
    if device == "cpu":
        return (x * 2 + 1).sum(0)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
    return (y + 1).sum(0)


@case
def in_threads(device: str) -> object:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda i: (made(4, 6, seed=i).to(device) * i).sum(), range(8)))


@case
def pinned_copy(device: str) -> object:
    x = made(4, 6)
    if device != "cpu":
        x = x.pin_memory().to(device, non_blocking=True)
    return (x + 1).to("cpu", non_blocking=False)


def flatten(value: object) -> list[object]:
    """Returns the tensors and plain values of a result, in order, on the host."""
    if isinstance(value, Tensor):
        return [value.detach().cpu()]
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flatten(part)]
    return [value]


def differs(ours: object, theirs: object) -> str:
    """Returns how two results differ; empty if they are equal."""
    a, b = flatten(ours), flatten(theirs)
    if len(a) != len(b):
        return f"{len(a)} parts, {len(b)} on the CPU"
    for index, (x, y) in enumerate(zip(a, b)):
        if isinstance(x, Tensor) != isinstance(y, Tensor):
            return f"part {index} is of another kind"
        if not isinstance(x, Tensor):
            same = math.isclose(x, y, rel_tol=1e-3) if isinstance(x, float) else x == y
            if not same:
                return f"part {index}: {x!r}, on the CPU {y!r}"
            continue
        if x.shape != y.shape or x.dtype != y.dtype:
            return (
                f"part {index}: {tuple(x.shape)} {x.dtype}, on the CPU {tuple(y.shape)} {y.dtype}"
            )
        loose = x.dtype in (torch.float16, torch.bfloat16)
        if x.is_floating_point() and not torch.allclose(
            x.float(),
            y.float(),
            rtol=0.03 if loose else 1e-3,
            atol=0.03 if loose else 1e-4,
            equal_nan=True,
        ):
            return f"part {index}: off by {(x.float() - y.float()).abs().max().item():.3g}"
        if not x.is_floating_point() and not torch.equal(x, y):
            return f"part {index}: other values"
    return ""
