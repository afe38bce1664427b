"""Amazon FSx for Lustre and for OpenZFS, with data repository associations; no files in them."""
