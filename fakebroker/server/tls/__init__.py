"""TLS: the certificates of a cluster, and the connections that use them."""
