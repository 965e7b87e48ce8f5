"""What came of a call, read: made comparable, and whether it says that something has not finished."""
