"""What several readers share beyond the draft: how files are followed, and shapes that some agents have in common."""
