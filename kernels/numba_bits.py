"""The two opcodes over a number's exponent as numba text that becomes vectors: bits and exact products, no library call."""

FUNCTIONS = {
    # A float64 holds exponent + 1023 in the bits above 2^52; put under the bits of 2^52 they are a float again. A
    # subnormal number is first scaled by 2^54, which is exact.
    "exponent": '''
@njit(error_model="numpy")
def exponent(a):
    size = abs(a)
    small = size < 2.2250738585072014e-308
    bits = np.float64(size * (18014398509481984.0 if small else 1.0)).view(np.int64)
    power = np.int64((bits >> 52) | 0x4330000000000000).view(np.float64)
    power = power - (4503599627371573.0 if small else 4503599627371519.0)
    return power if (size > 0.0) & (size < np.inf) else (-np.inf if size == 0.0 else size)
''',
    # 2^k in up to three factors, 2^1023 or 2^-969 and the rest: only the last product can round, for what the others make
    # subnormal on the way ends at zero whichever way it was rounded.
    "scale": '''
@njit(error_model="numpy")
def scale(a, k):
    left = k if k == k else 0.0
    left = np.trunc(2200.0 if left > 2200.0 else (-2200.0 if left < -2200.0 else left))
    for _ in range(2):
        high, low = left > 1023.0, left < -1022.0
        a = a * (8.98846567431158e307 if high else (2.004168360008973e-292 if low else 1.0))
        left = left - 1023.0 if high else (left + 969.0 if low else left)
    power = np.int64(np.float64(left + 4503599627371519.0).view(np.int64) << 52).view(np.float64)
    return a * power if k == k else k
''',
}
"""Opcode → source of the function of that name; a program's text begins with those that it calls."""
