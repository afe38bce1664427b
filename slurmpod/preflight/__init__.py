"""What only the account knows: facts gathered without changing it, and judgements of them."""
