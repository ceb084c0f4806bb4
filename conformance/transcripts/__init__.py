"""What a cluster answered to a case: as bytes, in words, in files, and compared with what another one answered."""
