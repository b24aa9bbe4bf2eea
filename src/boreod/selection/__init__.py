"""Which columns a budget buys: costs, pursuit, stability."""
