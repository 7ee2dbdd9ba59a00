"""Exact inference on junction trees, and the orders of elimination behind them."""
