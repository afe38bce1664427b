"""The questions to an account, by subject. They only read; their answers are fields of `Facts`."""
