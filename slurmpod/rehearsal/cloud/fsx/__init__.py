"""Amazon FSx for Lustre: file systems as the API shows them. Other kinds are refused."""
