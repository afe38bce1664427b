"""What is done with a rehearsed cluster once it is up."""
