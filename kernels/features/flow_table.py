"""The 9 order-flow features: one row each, in the order of their matrix."""

from kernels.features.table import Feature

FLOW_FEATURES: tuple[Feature, ...] = (
    Feature("ofi_l1", "sum e_1 / m240 D_1, clip 5", -5, 5, 240, "order_flow"),
    Feature("ofi_ml", "sum over levels of 2^(1-l) (sum e_l / m240 D_l) / sum 2^(1-l), clip 5", -5, 5, 240, "order_flow"),
    Feature("imb_l1", "(qb_1 - qa_1) / (qb_1 + qa_1) at the bar's end", -1, 1, 1, "order_flow"),
    Feature("imb_l10", "(sum qb - sum qa) / (sum qb + sum qa) over the levels at the bar's end", -1, 1, 1, "order_flow"),
    Feature(
        "micro_dev", "(X - M) / (M s60), M mid, X = (Pa qb + Pb qa) / (qb + qa) at the bar's end, clip 5",
        -5, 5, 61, "order_flow",
    ),
    Feature("spread_rel", "ln(S / m240 S), S = time mean of Pa - Pb, clip 3", -3, 3, 240, "order_flow"),
    Feature("trade_imb", "(B - A) / (B + A), volume bought and sold by aggressors; 0 without any", -1, 1, 1, "order_flow"),
    Feature("trade_rate", "ln((1 + n) / (1 + m240 n)), n trades, clip 3", -3, 3, 240, "order_flow"),
    Feature("kyle_60", "corr60(change of M, B - A); the change is 0 at a roll", -1, 1, 61, "order_flow"),
)  # fmt: skip

FLOW_LOOK_BACK = max(feature.warm_up for feature in FLOW_FEATURES)  # bars with a book until a row has order flow
