print("step")
