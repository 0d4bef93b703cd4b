"""The steps of the acceptance kit, and the format of their results."""
