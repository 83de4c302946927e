"""The plain alternatives, one file each, as policies that run in the same loop. They come with the extra `peers`."""
