"""What dagentd touches outside itself: one outside thing in each file."""
