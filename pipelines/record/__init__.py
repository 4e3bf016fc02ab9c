"""Records of runs, the ledger of looks, and what is compared and reproduced from them."""
