"""What stands in one record: lines, response items, events."""
