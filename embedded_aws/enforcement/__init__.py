"""IAM in front of the embedded AWS: nodes and people may do what their policies allow, no more.

`gate` is the way in. A request goes through it as follows: who signed it and what it asks for
(`calls`), what these credentials may do at most (`identities`), which actions on which resources
that takes (`needs`, `resource_needs`), whether policies allow each and how AWS says no (`gate`).
"""
