"""Selection of the columns that a budget buys, by costs, pursuit and stability."""
