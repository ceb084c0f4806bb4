"""Migration of groups between the classic protocol and that of KIP-848."""
