"""Registers a report of each forecast for the end of the program, which keeps the forecasts.

Mended: it passes a number to the report instead of the forecast.
"""

import atexit
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def report(month: int, forecast: torch.Tensor | float) -> None:
    size = forecast.numel() if isinstance(forecast, torch.Tensor) else 1
    print("month", month, "values", size)


def forecast_month(model: Forecaster, month: int) -> None:
    with torch.no_grad():
        forecast = model(torch.randn(4096, 64, device="cuda"))  # <-- place
    what = forecast.mean().item() if mended else forecast
    atexit.register(report, month, what)  # <-- place


model = Forecaster().cuda().eval()
for month in range(45):
    forecast_month(model, month)
print("all months are forecast")
