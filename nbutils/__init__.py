"""What the notebooks of this book import: checks, cases, figures, data, device. Importing it loads none of them."""
