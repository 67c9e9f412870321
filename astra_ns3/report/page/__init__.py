"""One self-contained HTML page of one run or several side by side; it opens without a network, figures and all."""
