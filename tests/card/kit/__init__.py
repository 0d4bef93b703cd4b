"""The steps of the acceptance kit, and how it says what came out."""
