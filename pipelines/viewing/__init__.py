"""What a person sees: progress, the terminal view, the drawn graph."""
