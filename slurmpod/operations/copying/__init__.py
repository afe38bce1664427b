"""Copying a user's folder to shared storage: its files, and their transfer."""
