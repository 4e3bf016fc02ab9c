"""The reference strategy as a CUDA kernel written by hand: what the printed one is compared with.

Same rows, same order of operations, five metrics' tallies with a return a bar; what a change of position costs stands
in a branch.
"""

from typing import Any

import numpy as np

TEXT = r"""
extern "C" __global__ void __launch_bounds__(128)
by_hand(const double* __restrict__ open, const double* __restrict__ close, const double* __restrict__ fast,
        const double* __restrict__ slow, const double* __restrict__ bands, double* __restrict__ result,
        const int fasts, const int band_count, const int slows, const int start, const int stop,
        const double capital, const double multiplier, const double fee, const double rounding) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x, count = fasts * band_count * slows;
    if (lane >= count) return;
    // neighbouring threads share the slow and the fast row
    const int band_place = lane % band_count, fast_place = lane / band_count % fasts, slow_place = lane / (band_count * fasts);
    const double band = bands[band_place];
    const double* f = fast + (size_t)start * fasts + fast_place;
    const double* s = slow + (size_t)start * slows + slow_place;
    double target = 0, position = 0, profit = 0, costs = 0, peak = capital, before = capital, drawdown = -rounding / capital;
    double sum = 0, squares = 0, downside = 0, trades = 0, mark = 0, lowest = capital;
    {
        const double a = __ldg(f), b = __ldg(s);
        target = a > b + band ? 1.0 : a < b - band ? -1.0 : 0.0;
        f += fasts; s += slows;
    }
    #pragma unroll 2
    for (int t = start + 1; t < stop; ++t, f += fasts, s += slows) {
        const double a = __ldg(f), b = __ldg(s), o = __ldg(open + t), c = __ldg(close + t);
        const double desired = lowest > 0 ? target : 0.0;
        profit += (position * (o - mark) + desired * (c - o)) * multiplier;
        if (desired != position) {
            costs += fabs(desired - position) * fee;
            if (position != 0 && position * desired <= 0) trades += 1;
            position = desired;
        }
        mark = c;
        const double equity = capital + (profit - costs);
        if (equity < lowest) lowest = equity;
        if (equity >= peak) peak = equity;
        else {
            const double fall = equity / peak - 1.0;
            if (fall < drawdown) drawdown = fall;
        }
        const double change = equity - before;
        if (fabs(change) > rounding) {
            const double gain = change / before;
            sum += gain;
            squares += gain * gain;
            if (gain < 0) downside += gain * gain;
            before = equity;
        }
        target = a > b + band ? 1.0 : a < b - band ? -1.0 : target;
    }
    const double values[] = {profit, costs, sum, squares, downside, drawdown, trades};
    for (int place = 0; place < 7; ++place)
        result[(size_t)place * count + (fast_place * band_count + band_place) * slows + slow_place] = values[place];
}
"""

TALLIES = ("profit", "costs", "return_sum", "return_squares", "downside_squares", "drawdown", "trades")


def seconds_by_hand(bars: Any, families: tuple[Any, Any], bands: Any, start: int, terms: Any, capital: float) -> Any:
    """(kernel seconds, tallies [7, lanes]) with lanes in the order fast, band, slow; the last one fastest."""
    import cupy

    kernel = cupy.RawModule(code=TEXT, options=("--fmad=false", "--std=c++17")).get_function("by_hand")
    opened, close = (cupy.asarray(bars[name].to_numpy()) for name in ("open", "close"))
    fast, slow = families
    count = fast.shape[1] * len(bands) * slow.shape[1]
    result = cupy.empty((len(TALLIES), count))
    sizes = [np.int32(n) for n in (fast.shape[1], len(bands), slow.shape[1], start, len(bars))]
    money = [np.float64(x) for x in (capital, terms.multiplier, terms.fee_per_contract, terms.rounding)]
    arguments = (opened, close, fast, slow, cupy.asarray(bands), result, *sizes, *money)
    best = float("inf")
    for _ in range(3):
        begun, ended = cupy.cuda.Event(), cupy.cuda.Event()
        begun.record()
        kernel((-(-count // 128),), (128,), arguments)
        ended.record()
        ended.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begun, ended) / 1e3)
    return best, cupy.asnumpy(result)
