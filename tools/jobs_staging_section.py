"""The section of docs/jobs.md on `slurmpod job stage`."""

STAGING = """\
## Data on shared storage

    slurmpod job stage environments/examples/guarded-data.yaml \\
      s3://example-corp-patients/released /fsx/data
    slurmpod job stage environments/examples/guarded-data.yaml --evict /fsx/data

The first command copies the objects below an S3 prefix to a folder that all nodes see; the second
removes them again. Both run as a job that is copied, submitted and followed as [any
other](#a-job-on-the-cluster): Ctrl-C leaves it running, and `slurmpod job cancel` ends it. The job
takes up to four nodes (`--nodes`), as many as are free when it starts, and shares them with other
jobs. Each node copies its share of the files, up to eight at a time, and reports its progress every
ten seconds. `--out FOLDER` writes the job without submitting it.

| situation | result |
|---|---|
| run again | copies files that are missing or differ from the source, and continues interrupted ones, even in the middle of a file |
| not enough space | found before the job copies anything |
| a file from another source | accepted if its digest is the source's; otherwise it is kept, and the job fails and names it |
| a file that was deleted at the source | listed, and kept |
| a bucket or prefix that the nodes may not read | refused before anything is copied |

Nodes read S3 with their role, through the VPC's endpoint: list the bucket and its prefix in
`identity.data_buckets`, or mount it (`storage.s3_mounts`). Objects are read with the AWS CLI, which
takes a second for each: pack small files. Each file is compared with the object's ETag, also for
multipart objects. The ETag of an object that KMS encrypts is not a digest: only the sizes of such
files are compared, and the job says so at its end.

In place of a prefix you can give an index, a local file with one line for each file:

    # SHA-256, size in bytes, address (s3://, https:// or http://), and the name below the folder
    2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806 5 s3://BUCKET/KEY train/1.bin

All mistakes in it are reported at once. Addresses that contain a secret are refused, because the
index is copied to shared storage. Files must have the size and the SHA-256 of their line.

`.slurmpod-staged` in the folder lists the staged files: path, size, time, SHA-256. `--evict` asks
for the environment's name and removes the files on that list. Files that have changed since are
listed and kept, and so are all other files in the folder. Tested in a rehearsal, with the embedded
S3.
"""
