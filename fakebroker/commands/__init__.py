"""The commands of `fakebroker`, one file each: a function that declares its options and one that runs it."""
