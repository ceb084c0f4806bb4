"""Groups on their way from the classic protocol to that of KIP-848, or back."""
