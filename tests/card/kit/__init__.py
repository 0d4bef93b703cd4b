"""What the acceptance kit does, and how it says what came out."""
