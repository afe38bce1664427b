"""What docs/jobs.md says of data on shared storage."""

STAGING = """\
## Data on shared storage

    slurmpod job stage environments/examples/guarded-data.yaml \\
      s3://example-corp-patients/released /fsx/data
    slurmpod job stage environments/examples/guarded-data.yaml --evict /fsx/data

copies what lies below a prefix in S3 to a folder that all nodes see, and removes it again. A job
does both: it is copied, submitted and followed as [any other](#a-job-on-the-cluster), Ctrl-C leaves
it running, and `slurmpod job cancel` ends it. It takes up to four nodes (`--nodes`), as many as are
free when it starts, and not the whole of them. Each copies its share of the files, up to eight at a
time, and says every ten seconds how far it is. `--out FOLDER` writes the job, and submits nothing.

Run again, it copies what is missing, and what differs from the source. What was cut off goes on
where it ended, in the middle of a file, too. Before it begins it sees that there is room. A file
that somebody else put there is taken if its digest is the source's; another one is left as it is,
and the job fails and names it. What is gone from the source is named and stays.

Nodes read S3 with their role, through the endpoint of the VPC: the bucket and its prefix have to
stand under `identity.data_buckets`, or be mounted (`storage.s3_mounts`). Anything else is refused
before something is copied. Objects are read with the AWS CLI, which takes a second for each: pack
small files. An object is held against its ETag, for which those of several parts are computed anew.
That of an object that KMS encrypts is no digest; such files are known by their size alone, which
the job says at its end.

In place of a prefix there may be an index, a file on your machine with a line for each file:

    # SHA-256, size in bytes, address (s3://, https:// or http://), and the name below the folder
    2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806 5 s3://BUCKET/KEY train/1.bin

All mistakes in it are told at once, and addresses that hold a secret are refused: the index is
copied to shared storage. Files have to have the size and the SHA-256 of their line.

`.slurmpod-staged` in the folder holds a list of what was staged: path, size, time, SHA-256.
`--evict` asks for the environment's name, and removes what this list has. Files that were changed
since stay, and are named; so does everything else in the folder. This was run in a rehearsal, with
the embedded S3.
"""
