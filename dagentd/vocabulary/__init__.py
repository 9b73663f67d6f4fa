"""The vocabulary that tokens are counted with, shipped so that counting never needs the network."""
