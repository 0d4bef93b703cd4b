"""Computes the same on the simulated GPU and on the CPU, and prints the differences."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as functional

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}
WHOLE = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
NUMBERS = [*FLOATS, *WHOLE]
ALL = [*NUMBERS, torch.bool]

compared = 0
differing: list[str] = []


def compare(name: str, compute: Callable[[str], torch.Tensor], tolerance: float = 0) -> None:
    global compared
    compared += 1
    card = compute("cuda").cpu()
    host = compute("cpu")
    same = card.dtype == host.dtype and card.shape == host.shape
    if tolerance:
        same = same and torch.allclose(
            card.double(), host.double(), rtol=tolerance, atol=tolerance, equal_nan=True
        )
    else:
        same = same and torch.equal(card, host)
    if not same:
        differing.append(f"{name}: {card.flatten()[:4].tolist()} {host.flatten()[:4].tolist()}")


def numbers(device: str, dtype: torch.dtype, count: int = 60) -> torch.Tensor:
    return torch.arange(count, device=device).to(dtype)


def of_every_type() -> None:
    for t in ALL:
        compare(f"full {t}", lambda d, t=t: torch.full((33,), 1, device=d, dtype=t))
        compare(f"ones {t}", lambda d, t=t: torch.ones(1000, device=d, dtype=t))
        compare(f"zeros_like {t}", lambda d, t=t: torch.zeros_like(numbers(d, t)))
        compare(f"clone {t}", lambda d, t=t: numbers(d, t).clone())
        compare(f"slice {t}", lambda d, t=t: numbers(d, t)[::2].contiguous())
        compare(f"transpose {t}", lambda d, t=t: numbers(d, t).view(6, 10).t().contiguous())
        compare(f"equal {t}", lambda d, t=t: numbers(d, t) == numbers(d, t).view(6, 10).flatten())
        compare(f"all {t}", lambda d, t=t: numbers(d, t).all())
        compare(f"any {t}", lambda d, t=t: numbers(d, t).any())
        compare(f"sum {t}", lambda d, t=t: numbers(d, t).sum())
        compare(f"cat {t}", lambda d, t=t: torch.cat([numbers(d, t), numbers(d, t, 7)]))
        compare(
            f"cat strided {t}",
            lambda d, t=t: torch.cat(
                [numbers(d, t).view(6, 10), numbers(d, t).view(6, 10)[:, ::2]], 1
            ),
        )
        compare(
            f"where {t}",
            lambda d, t=t: torch.where(
                numbers(d, torch.int32) > 7, numbers(d, t), torch.ones(60, device=d, dtype=t)
            ),
        )
        for u in ALL:
            compare(f"{t} to {u}", lambda d, t=t, u=u: numbers(d, t).to(u))
            compare(
                f"copy_ {t} to {u}",
                lambda d, t=t, u=u: torch.zeros(6, 10, dtype=u, device=d)[:, 1::2].copy_(
                    numbers(d, t).view(6, 10)[:, ::2]
                ),
            )


def of_every_number() -> None:
    for t in NUMBERS:
        compare(f"arange {t}", lambda d, t=t: torch.arange(3, 40, 5, device=d, dtype=t))
        compare(f"x + 1 {t}", lambda d, t=t: numbers(d, t) + 1)
        compare(f"x + y {t}", lambda d, t=t: numbers(d, t) + numbers(d, t))
        compare(f"alpha {t}", lambda d, t=t: torch.add(numbers(d, t), numbers(d, t), alpha=2))
        compare(f"100 - x {t}", lambda d, t=t: 100 - numbers(d, t))
        compare(f"x * y {t}", lambda d, t=t: numbers(d, t) * numbers(d, t))
        compare(f"x * 3 {t}", lambda d, t=t: numbers(d, t) * 3)
        compare(f"x / 2 {t}", lambda d, t=t: (numbers(d, t) + 1) / 2)
        compare(f"x // 7 {t}", lambda d, t=t: numbers(d, t) // 7)
        compare(f"x % 7 {t}", lambda d, t=t: numbers(d, t) % 7)
        compare(f"broadcast {t}", lambda d, t=t: numbers(d, t).view(6, 10) + numbers(d, t, 10))
        compare(f"mixed {t}", lambda d, t=t: numbers(d, t) + numbers(d, torch.float32))
        compare(f"x > 5 {t}", lambda d, t=t: numbers(d, t) > 5)
        compare(f"clamp {t}", lambda d, t=t: numbers(d, t).clamp(3, 20))
        compare(f"max {t}", lambda d, t=t: numbers(d, t).max())
        compare(f"argmax {t}", lambda d, t=t: numbers(d, t).argmax())
        compare(f"sum of rows {t}", lambda d, t=t: numbers(d, t).view(6, 10).sum(1))
        compare(f"sum of columns {t}", lambda d, t=t: numbers(d, t).view(6, 10).sum(0))


def of_fractions() -> None:
    functions = "exp log1p sqrt rsqrt sin cos tanh erf floor round sigmoid reciprocal neg sign"
    for t, tolerance in FLOATS.items():
        for name in functions.split():
            compare(
                f"{name} {t}",
                lambda d, t=t, name=name: getattr(numbers(d, t) * 0.05 + 0.05, name)(),
                tolerance,
            )
        for function in (functional.relu, functional.silu, functional.gelu, torch.tanh):
            compare(
                f"{function} {t}", lambda d, t=t, f=function: f(numbers(d, t) * 0.1 - 3), tolerance
            )
            compare(f"slope {function} {t}", lambda d, t=t, f=function: slope(d, t, f), tolerance)
        compare(f"mean {t}", lambda d, t=t: numbers(d, t).mean(), tolerance)
        compare(f"norm {t}", lambda d, t=t: numbers(d, t).norm(), tolerance)
        compare(f"std {t}", lambda d, t=t: numbers(d, t).view(6, 10).std(1), tolerance)
        compare(
            f"softmax {t}",
            lambda d, t=t: torch.softmax(numbers(d, t).view(6, 10), 1),
            tolerance,
        )
        compare(
            f"matmul {t}",
            lambda d, t=t: (numbers(d, t) * 0.1).view(6, 10) @ (numbers(d, t) * 0.1).view(10, 6),
            tolerance,
        )
        compare(
            f"linear {t}",
            lambda d, t=t: functional.linear(
                numbers(d, t).view(6, 10) * 0.1, numbers(d, t).view(6, 10) * 0.1, numbers(d, t, 6)
            ),
            tolerance,
        )
        compare(
            f"bmm {t}",
            lambda d, t=t: torch.bmm(
                (numbers(d, t) * 0.1).view(2, 5, 6), (numbers(d, t) * 0.1).view(2, 6, 5)
            ),
            tolerance,
        )


def slope(device: str, dtype: torch.dtype, function: Callable[..., torch.Tensor]) -> torch.Tensor:
    x = (numbers(device, dtype) * 0.1 - 3).requires_grad_()
    function(x).backward(torch.full_like(x, 0.5))
    assert x.grad is not None
    return x.grad


def rows_of(device: str, dtype: torch.dtype, rows: int, columns: int) -> torch.Tensor:
    x = torch.arange(rows * columns, dtype=torch.float32).view(rows, columns)
    return torch.sin(x * 0.7).to(dtype).to(device)


def gradients(
    device: str,
    dtype: torch.dtype,
    shape: tuple[int, int],
    function: Callable[..., torch.Tensor],
    parameters: int = 0,
) -> torch.Tensor:
    """Returns the function's result, and its gradients in x and in parameters of a row, in one
    tensor."""
    x = rows_of(device, dtype, *shape).requires_grad_()
    more = [
        (rows_of(device, dtype, 1, shape[1])[0] + 1 + i).detach().requires_grad_()
        for i in range(parameters)
    ]
    y = function(x, *more)
    y.backward(rows_of(device, dtype, y.numel(), 1).view(y.shape))
    return torch.cat([t.flatten() for t in (y.detach(), x.grad, *(p.grad for p in more))])


def of_layers() -> None:
    for t in (torch.float32, torch.bfloat16, torch.float64):
        tolerance = {torch.float32: 2e-4, torch.bfloat16: 4e-2, torch.float64: 1e-10}[t]
        for shape in ((5, 24), (7, 33), (300, 64), (70, 1000), (1100, 8)):

            def norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return functional.layer_norm(x, x.shape[1:], w, b)

            compare(
                f"layer norm {t} {shape}",
                lambda d, t=t, s=shape, f=norm: gradients(d, t, s, f, 2),
                tolerance * (4 if shape[0] > 100 else 1),
            )
            compare(
                f"plain layer norm {t} {shape}",
                lambda d, t=t, s=shape: gradients(
                    d, t, s, lambda x: functional.layer_norm(x, x.shape[1:])
                ),
                tolerance,
            )
        for shape in ((6, 10), (3, 5000), (2, 1030)):
            for name in ("softmax", "log_softmax"):
                compare(
                    f"{name} {t} {shape}",
                    lambda d, t=t, s=shape, n=name: gradients(
                        d, t, s, lambda x: getattr(functional, n)(x, 1)
                    ),
                    tolerance,
                )
                compare(
                    f"{name} of columns {t} {shape}",
                    lambda d, t=t, s=shape, n=name: gradients(
                        d, t, s, lambda x: getattr(functional, n)(x, 0)
                    ),
                    tolerance,
                )
    for reduction in ("mean", "sum"):
        compare(
            f"cross entropy {reduction}",
            lambda d, r=reduction: gradients(
                d,
                torch.float32,
                (6, 10),
                lambda x: functional.cross_entropy(
                    x,
                    torch.tensor([1, 9, 0, -100, 3, 3]).to(x.device),
                    weight=torch.arange(1.0, 11).to(x.device),
                    reduction=r,
                ),
            ),
            1e-5,
        )


def of_scans() -> None:
    for t in (torch.float32, torch.float64, torch.int32, torch.int64):
        tolerance = 1e-5 if t.is_floating_point else 0
        compare(f"cumsum {t}", lambda d, t=t: numbers(d, t).cumsum(0), tolerance)
        compare(f"cumsum of rows {t}", lambda d, t=t: numbers(d, t).view(6, 10).cumsum(1))
        compare(f"cumsum of columns {t}", lambda d, t=t: numbers(d, t).view(6, 10).cumsum(0))
        compare(f"cumprod {t}", lambda d, t=t: (numbers(d, t, 12) + 1).view(2, 6).cumprod(1))


def of_transforms() -> None:
    x = torch.sin(torch.arange(60.0)).view(5, 12)
    z = torch.complex(x, x.flip(0))
    for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"):
        compare(
            name, lambda d, n=name: torch.view_as_real(getattr(torch.fft, n)(z.to(d)).cpu()), 1e-5
        )
    for name in ("rfft", "rfft2"):
        compare(
            name, lambda d, n=name: torch.view_as_real(getattr(torch.fft, n)(x.to(d)).cpu()), 1e-5
        )
    for name in ("irfft", "irfft2"):
        compare(name, lambda d, n=name: getattr(torch.fft, n)(z.to(d)), 1e-5)
    compare(
        "there and back",
        lambda d: torch.view_as_real(torch.fft.ifft(torch.fft.fft(z.to(d))).cpu()),
        1e-5,
    )
    compare("z * w", lambda d: torch.view_as_real((z.to(d) * z.to(d)).cpu()), 1e-5)


def of_indices() -> None:
    def table(device: str) -> torch.Tensor:
        return numbers(device, torch.float32).view(6, 10)

    def put(device: str) -> torch.Tensor:
        x = table(device)
        x[torch.tensor([3, 1], device=device)] = -numbers(device, torch.float32, 10)
        return x

    compare("x[i]", lambda d: table(d)[torch.tensor([3, -1], device=d)])
    compare(
        "x[i, j]",
        lambda d: table(d)[torch.tensor([3, 1], device=d), torch.tensor([2, 5], device=d)],
    )
    compare("x[i] = y", put)
    chosen = torch.tensor([[3, 4, 5], [1, 2, 0]])
    for t in [torch.float32, torch.float16, torch.int64]:

        def more(device: str, t: torch.dtype = t) -> torch.Tensor:
            return torch.tensor([[1, 2, 3], [4, 5, 6]], device=device).to(t)

        compare(f"gather {t}", lambda d, t=t: numbers(d, t).view(6, 10).gather(1, chosen.to(d)))
        compare(
            f"gather rows {t}", lambda d, t=t: numbers(d, t).view(6, 10).gather(0, chosen.to(d))
        )
        compare(
            f"scatter {t}",
            lambda d, t=t, m=more: numbers(d, t).view(6, 10).scatter(1, chosen.to(d), m(d)),
        )
        compare(
            f"scatter a number {t}",
            lambda d, t=t: numbers(d, t).view(6, 10).scatter(0, chosen.to(d), 7),
        )
        compare(
            f"scatter_add {t}",
            lambda d, t=t, m=more: numbers(d, t).view(6, 10).scatter_add(1, chosen.to(d), m(d)),
        )
    infinite = [float("inf"), 1.0, float("-inf"), float("nan")]
    compare("isneginf", lambda d: torch.tensor(infinite, device=d).isneginf())
    compare("isposinf", lambda d: torch.tensor(infinite, device=d).isposinf())
    compare("embedding", lambda d: functional.embedding(torch.tensor([5, 0], device=d), table(d)))
    compare("index_select", lambda d: table(d).index_select(1, torch.tensor([9, 2], device=d)))
    compare("dot", lambda d: torch.dot(numbers(d, torch.float32), numbers(d, torch.float32)))
    compare("x @ v", lambda d: table(d) @ numbers(d, torch.float32, 10))
    compare("ones.sum()", lambda d: torch.ones(1_000_000, device=d).sum())


def shuffled(device: str, dtype: torch.dtype, count: int) -> torch.Tensor:
    values = torch.randperm(count, generator=torch.Generator().manual_seed(3)) % (count // 2 + 1)
    return (values - count // 4).to(dtype).to(device)


def of_sorts() -> None:
    for t in [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64]:
        for count in (5, 40, 300, 3000, 10000):
            for down in (False, True):
                name = f"sort {t} {count} {down}"

                def values(device: str, t: torch.dtype = t, count: int = count) -> torch.Tensor:
                    return shuffled(device, t, count)

                compare(name, lambda d, v=values, o=down: v(d).sort(descending=o)[0])
                compare(
                    name + " places",
                    lambda d, v=values, o=down: v(d).sort(descending=o, stable=True)[1],
                )
                compare(
                    name + " topk", lambda d, v=values, o=down: v(d).topk(3, largest=o)[0].sort()[0]
                )
        compare(f"sort of lines {t}", lambda d, t=t: shuffled(d, t, 600).view(3, 10, 20).sort(1)[0])
        compare(f"max of lines {t}", lambda d, t=t: numbers(d, t).view(6, 10).max(1)[0])
        compare(f"place of max {t}", lambda d, t=t: numbers(d, t).view(6, 10).max(1)[1])
        compare(f"min of columns {t}", lambda d, t=t: numbers(d, t).view(6, 10).min(0)[0])
        compare(f"place of min {t}", lambda d, t=t: numbers(d, t).view(6, 10).min(0)[1])
        compare(f"aminmax {t}", lambda d, t=t: torch.stack(shuffled(d, t, 500).aminmax()))
        compare(f"tril {t}", lambda d, t=t: numbers(d, t).view(2, 5, 6).tril(1))
        compare(f"triu {t}", lambda d, t=t: numbers(d, t).view(6, 10).triu(-2))


def of_steps() -> None:
    def parameters(device: str) -> list[torch.nn.Parameter]:
        sizes = [10, 70_000, 3, 200_000]
        made = [torch.nn.Parameter(torch.linspace(-1, 1, n, device=device)) for n in sizes]
        for parameter in made:
            parameter.grad = parameter.detach() ** 2 - 0.3
        return made

    def stepped(device: str, kind: str, **options: object) -> torch.Tensor:
        made = parameters(device)
        update = getattr(torch.optim, kind)(made, lr=0.01, **options)
        for _ in range(3):
            update.step()
        return torch.cat([p.detach() for p in made])

    for fused in (False, True):
        for kind, options in [
            ("Adam", {"weight_decay": 0.1}),
            ("Adam", {"amsgrad": True}),
            ("AdamW", {}),
            ("AdamW", {"maximize": True}),
            ("SGD", {}),
            ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        ]:
            compare(
                f"{kind} {options} {fused}",
                lambda d, k=kind, o=options, f=fused: stepped(d, k, fused=f, **o),
                1e-5,
            )

    def clipped(device: str) -> torch.Tensor:
        made = parameters(device)
        norm = torch.nn.utils.clip_grad_norm_(made, 0.5)
        return torch.cat([norm.view(1), *[p.grad for p in made]])

    def embedded(device: str) -> torch.Tensor:
        table = torch.nn.Parameter(numbers(device, torch.float32).view(6, 10))
        chosen = torch.tensor([1, 5, 1, 0, 3], device=device)
        functional.embedding(chosen, table, padding_idx=0).pow(2).sum().backward()
        return table.grad

    compare("clip_grad_norm_", clipped, 1e-4)
    compare("norms of a list", lambda d: torch.stack(torch._foreach_norm(parameters(d))), 1e-4)
    compare("gradient of an embedding", embedded, 1e-6)


of_every_type()
of_every_number()
of_sorts()
of_steps()
of_fractions()
of_layers()
of_scans()
of_transforms()
of_indices()
print("\n".join(differing))
print(f"compared {compared}, differing {len(differing)}")
