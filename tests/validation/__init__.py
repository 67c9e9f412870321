"""What the program is compared with: the rows of docs/validation.md, each with how it is found again."""
