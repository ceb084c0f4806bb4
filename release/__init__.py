"""What a release is made with: wheels."""
