"""IAM in front of the embedded AWS: nodes and people may do what their policies allow, no more.

`gate` is the way in. A request goes through it as follows: who signed it (`signature`), what these
credentials may do at most (`identities`), what it asks for (`calls`), which actions on which
resources that takes (`needs`), whether policies allow each (`judge`), how AWS says no (`denials`).
"""
