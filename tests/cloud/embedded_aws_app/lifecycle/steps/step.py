STEP = "a file in a folder"
