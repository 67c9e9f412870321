"""Many runs side by side: found in a folder, filtered, sorted, as rows of chosen columns."""
