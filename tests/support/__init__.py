"""Code that several tests share: requests as bytes, a blocking raw client, the cluster in virtual time."""
