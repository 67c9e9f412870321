"""What tests of pages, pictures and reports share: the pages' text, their makers and a browser."""
