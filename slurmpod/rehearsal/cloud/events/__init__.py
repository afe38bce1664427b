"""EventBridge of the embedded AWS, as far as services send events of their own.

moto keeps the rules and their targets; what an event matches, which text becomes of it, and whether
the target may be used, is decided here. Customers' own events (PutEvents) stay with moto.
"""
